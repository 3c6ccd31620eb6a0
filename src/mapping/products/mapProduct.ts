/** Maps one row to one product, by the field rules of spec 2.2 and docs/inputs.md. */
import type { Fault, Mapped, SourceRow } from '../../model/record.ts'
import { hintOf } from '../rejectCodes.ts'
import { faultOfTransform, TransformError } from '../transforms.ts'
import { imageOf, linkOf, mobileLinkOf, additionalImagesOf } from './addresses.ts'
import { inventoryOf, priceOf, saleOf } from './offer.ts'
import { idOf, idOfRejected, brandGtinMpnOf } from './productId.ts'
import { ProductRow, RowRejected, type ProductBinding } from './productRow.ts'
import { colorOf, descriptionOf, categoryOf, optionalServiceWordOf, titleOf, serviceWordOf } from './productTexts.ts'
import type { ProductRules } from './rules.ts'
import { labelPlaceholders } from './vocabulary.ts'

/**
 * Maps a row to a record or a reject. A wrong required field rejects the row. A wrong optional field is dropped with a warning. Exception:
 * a placeholder among the additional images is dropped without one. These reject the row too:
 * - a broken text (`isBroken`), unless it is an additional image
 * - a `sale_price` for which the pipeline file sets another currency than the currency column
 * - a stock that contradicts the availability
 * - brand, gtin and mpn, if none is valid
 */
export function mapProduct(row: SourceRow, binding: ProductBinding, rules: ProductRules): Mapped {
  const product = new ProductRow(row, binding, rules)
  let key: Buffer | undefined
  try {
    const id = idOf(product)
    key = Buffer.from(id)
    const json = jsonOf(product, id)
    return { record: { kind: 'product', key, line: row.line, json }, warnings: product.warnings }
  } catch (error) {
    const firstFault = faultOf(error)
    // Without a key, `idOf` failed. If its transform failed, `keyOfProductRow` would fail in the same way.
    if (key === undefined && !(error instanceof TransformError)) key = keyOfProductRow(product)
    const otherFaults = faultsOf(row, binding, rules).filter(({ field }) => field !== firstFault.field)
    return {
      reject: {
        line: row.line,
        ...firstFault,
        ...(otherFaults.length === 0 ? {} : { more: otherFaults }),
        ...(key === undefined ? {} : { key }),
      },
      warnings: product.warnings,
    }
  }
}

/**
 * Readers of the fields that most often reject a row. A rejected row is read again with them, to report more than its first fault. Not
 * found in this way: a conflicting currency of `sale_price`, and a broken text in most optional fields.
 */
const fieldReaders: readonly ((row: ProductRow) => unknown)[] = [
  idOf,
  titleOf,
  descriptionOf,
  (row) => serviceWordOf(row, 'availability'),
  (row) => serviceWordOf(row, 'condition'),
  priceOf,
  linkOf,
  imageOf,
  brandGtinMpnOf,
  (row) => inventoryOf(row, serviceWordOf(row, 'availability')),
]

/** Returns the first fault of each field in `fieldReaders`. */
function faultsOf(row: SourceRow, binding: ProductBinding, rules: ProductRules): readonly Fault[] {
  const product = new ProductRow(row, binding, rules)
  const faults = new Map<string, Fault>()
  for (const read of fieldReaders) {
    try {
      read(product)
    } catch (error) {
      const fault = faultOf(error)
      if (!faults.has(fault.field)) faults.set(fault.field, fault)
    }
  }
  return [...faults.values()]
}

/** Returns the fault of a `RowRejected` or `TransformError`. Rethrows any other error. */
function faultOf(error: unknown): Fault {
  if (error instanceof TransformError) return faultOfTransform(error)
  if (!(error instanceof RowRejected)) throw error
  return { code: error.code, field: error.field, message: `${error.field} ${error.message}`, hint: hintOf(error.code) }
}

/**
 * Returns the key of a rejected row: its id in UTF-8. Undefined if the id cannot be read.
 *
 * @throws {TransformError} if a transform of the id fails
 */
export function keyOfRejectedRow(row: SourceRow, binding: ProductBinding, rules: ProductRules): Uint8Array | undefined {
  return keyOfProductRow(new ProductRow(row, binding, rules))
}

function keyOfProductRow(product: ProductRow): Buffer | undefined {
  const id = idOfRejected(product)
  return id === undefined ? undefined : Buffer.from(id)
}

/**
 * Returns the JSON of the product, with its fields in byte order. Reads the required fields first.
 *
 * @throws {RowRejected | TransformError} for the first field that rejects the row
 */
function jsonOf(row: ProductRow, id: string): string {
  const title = titleOf(row)
  const description = descriptionOf(row)
  const availability = serviceWordOf(row, 'availability')
  const condition = serviceWordOf(row, 'condition')
  const price = priceOf(row)
  const link = linkOf(row)
  const imageLink = imageOf(row)
  const [brand, gtin, mpn] = brandGtinMpnOf(row)
  const inventory = inventoryOf(row, availability)
  const sale = saleOf(row, price)
  const images = additionalImagesOf(row, imageLink)
  const ageGroup = optionalServiceWordOf(row, 'age_group')
  // Prices, numbers, addresses and the service's words need no JSON escapes.
  let json = images === undefined ? '{' : `{"additional_image_link":"${images}",`
  if (ageGroup !== undefined) json += `"age_group":"${ageGroup}",`
  json += `"availability":"${availability}"`
  if (brand !== undefined) json += `,"brand":${brand}`
  const color = row.memoizedJson('color', colorOf)
  if (color !== undefined) json += `,"color":${color}`
  json += `,"condition":"${condition}"`
  for (const label of labels) {
    const text = row.memoizedJson(label.field, label.read)
    if (text !== undefined) json += `,"${label.field}":${text}`
  }
  json += `,"description":${JSON.stringify(description)}`
  const gender = optionalServiceWordOf(row, 'gender')
  if (gender !== undefined) json += `,"gender":"${gender}"`
  const category = row.memoizedJson('google_product_category', googleCategoryOf)
  if (category !== undefined) json += `,"google_product_category":${category}`
  if (gtin !== undefined) json += `,"gtin":"${gtin}"`
  json += `,"id":${JSON.stringify(id)},"image_link":"${imageLink}"`
  if (inventory !== undefined) json += `,"inventory":${inventory}`
  const group = row.memoizedJson('item_group_id', groupOf)
  if (group !== undefined) json += `,"item_group_id":${group}`
  json += `,"link":"${link}"`
  const mobileLink = mobileLinkOf(row)
  if (mobileLink !== undefined) json += `,"mobile_link":"${mobileLink}"`
  if (mpn !== undefined) json += `,"mpn":${JSON.stringify(mpn)}`
  json += `,"price":"${price.text}"`
  const productType = row.memoizedJson('product_type', productTypeOf)
  if (productType !== undefined) json += `,"product_type":${productType}`
  if (sale.price !== undefined) json += `,"sale_price":"${sale.price}"`
  if (sale.period !== undefined) json += `,"sale_price_effective_date":${JSON.stringify(sale.period)}`
  const size = row.memoizedJson('size', sizeOf)
  if (size !== undefined) json += `,"size":${size}`
  return `${json},"title":${JSON.stringify(title)}}`
}

const labels = (['custom_label_0', 'custom_label_1', 'custom_label_2', 'custom_label_3', 'custom_label_4'] as const).map((field) => ({
  field,
  read: (row: ProductRow) => row.cleanText(field, labelPlaceholders),
}))
const googleCategoryOf = (row: ProductRow) => categoryOf(row, 'google_product_category')
const productTypeOf = (row: ProductRow) => categoryOf(row, 'product_type')
const groupOf = (row: ProductRow) => row.cleanText('item_group_id')
const sizeOf = (row: ProductRow) => row.cleanText('size')
