/** Maps one row to one product: every field rule of spec 2.2, with the outcomes of docs/inputs.md. */
import type { Fault, Mapped, Row } from '../../model/record.ts'
import { hintOf } from '../rejectCodes.ts'
import { TransformFault } from '../transforms.ts'
import { transformFault } from '../transformFault.ts'
import { imageOf, linkOf, mobileLinkOf, moreImagesOf } from './addresses.ts'
import { inventoryOf, priceOf, salePeriodOf, salePriceOf } from './offer.ts'
import { idOf, identityOf } from './productId.ts'
import { ProductRow, RowRejected, type ProductBinding } from './productRow.ts'
import { colorOf, descriptionOf, levelsOf, optionalWordOf, titleOf, wordOf } from './productTexts.ts'
import type { ProductRules } from './rules.ts'
import { absentLabel, type ProductField } from './vocabulary.ts'

/**
 * Maps a row. Pure. A wrong required field rejects the row. A wrong optional field is dropped with a warning, unless its text is broken
 * (`isBroken`), its currency or stock contradicts another field, or no valid brand, gtin or mpn is left: these reject the row.
 */
export function mapProduct(row: Row, binding: ProductBinding, rules: ProductRules): Mapped {
  const work = new ProductRow(row, binding, rules)
  let key: Buffer | undefined
  try {
    const id = idOf(work)
    key = Buffer.from(id)
    const json = jsonOf(work, id)
    return { record: { kind: 'product', key, line: row.line, json }, warnings: work.warnings }
  } catch (error) {
    const first = faultOf(error)
    const more = faultsOf(row, binding, rules).filter(({ field }) => field !== first.field)
    return {
      reject: { line: row.line, ...first, ...(more.length === 0 ? {} : { more }), ...(key === undefined ? {} : { key }) },
      warnings: work.warnings,
    }
  }
}

/** Readers of the fields that may reject a row for their value. Used only for a rejected row, to report more than its first fault. */
const fieldReaders: readonly ((row: ProductRow) => unknown)[] = [
  idOf,
  titleOf,
  descriptionOf,
  (row) => wordOf(row, 'availability'),
  (row) => wordOf(row, 'condition'),
  priceOf,
  linkOf,
  imageOf,
  identityOf,
  (row) => inventoryOf(row, wordOf(row, 'availability')),
]

/** Returns the first fault of each field that `fieldReaders` read. */
function faultsOf(row: Row, binding: ProductBinding, rules: ProductRules): readonly Fault[] {
  const work = new ProductRow(row, binding, rules)
  const faults = new Map<string, Fault>()
  for (const read of fieldReaders) {
    try {
      read(work)
    } catch (error) {
      const fault = faultOf(error)
      if (!faults.has(fault.field)) faults.set(fault.field, fault)
    }
  }
  return [...faults.values()]
}

/** Returns the fault that was thrown. Rethrows any other error. */
function faultOf(error: unknown): Fault {
  if (error instanceof TransformFault) return transformFault(error)
  if (!(error instanceof RowRejected)) throw error
  return { code: error.code, field: error.field, message: `${error.field} ${error.message}`, hint: hintOf(error.code) }
}

/**
 * Returns only the key, for a row that is rejected before it is mapped; undefined if its id is not valid.
 *
 * @throws {TransformFault} if a transform of the id fails
 */
export function productKey(row: Row, binding: ProductBinding, rules: ProductRules): Uint8Array | undefined {
  try {
    return Buffer.from(idOf(new ProductRow(row, binding, rules)))
  } catch (error) {
    if (error instanceof RowRejected) return undefined
    throw error
  }
}

/**
 * Returns the JSON of the product, with its fields in byte order of their names. Reads the required fields first.
 *
 * @throws {RowRejected | TransformFault} for the first field that rejects the row
 */
function jsonOf(row: ProductRow, id: string): string {
  const title = titleOf(row)
  const description = descriptionOf(row)
  const availability = wordOf(row, 'availability')
  const condition = wordOf(row, 'condition')
  const price = priceOf(row)
  const link = linkOf(row)
  const imageLink = imageOf(row)
  const [brand, gtin, mpn] = identityOf(row)
  const inventory = inventoryOf(row, availability)
  const salePrice = salePriceOf(row, price)
  let json = ''
  const add = (field: ProductField, value: string | undefined) => {
    if (value !== undefined) json += `${json === '' ? '' : ','}"${field}":${JSON.stringify(value)}`
  }
  add('additional_image_link', moreImagesOf(row, imageLink))
  add('age_group', optionalWordOf(row, 'age_group'))
  add('availability', availability)
  add('brand', brand)
  add('color', colorOf(row))
  add('condition', condition)
  add('custom_label_0', row.text('custom_label_0', absentLabel))
  add('custom_label_1', row.text('custom_label_1', absentLabel))
  add('custom_label_2', row.text('custom_label_2', absentLabel))
  add('custom_label_3', row.text('custom_label_3', absentLabel))
  add('custom_label_4', row.text('custom_label_4', absentLabel))
  add('description', description)
  add('gender', optionalWordOf(row, 'gender'))
  add('google_product_category', levelsOf(row, 'google_product_category'))
  add('gtin', gtin)
  add('id', id)
  add('image_link', imageLink)
  if (inventory !== undefined) json += `,"inventory":${inventory}`
  add('item_group_id', row.text('item_group_id'))
  add('link', link)
  add('mobile_link', mobileLinkOf(row))
  add('mpn', mpn)
  add('price', price.text)
  add('product_type', levelsOf(row, 'product_type'))
  add('sale_price', salePrice)
  add('sale_price_effective_date', salePeriodOf(row))
  add('size', row.text('size'))
  add('title', title)
  return `{${json}}`
}
