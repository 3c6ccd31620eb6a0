/** One row to one product: every field rule of spec 2.2 with the outcomes of bad-inputs 5 and 8.1. */
import type { Mapped, Row } from '../record.ts'
import { mendOf } from '../rejectCodes.ts'
import { imageOf, linkOf, mobileLinkOf, moreImagesOf } from './addresses.ts'
import { inventoryOf, priceOf, salePeriodOf, salePriceOf } from './offer.ts'
import { idOf, identityOf } from './productId.ts'
import { ProductRow, RowRejected, type ProductBinding } from './productRow.ts'
import { colorOf, descriptionOf, levelsOf, optionalWordOf, titleOf, wordOf } from './productTexts.ts'
import type { ProductRules } from './rules.ts'
import type { ProductField } from './vocabulary.ts'

/** Pure. A required field that is wrong rejects the row, an optional one is left out with a warning. */
export function mapProduct(row: Row, binding: ProductBinding, rules: ProductRules): Mapped {
  const work = new ProductRow(row, binding, rules)
  let key: Buffer | undefined
  try {
    const id = idOf(work)
    key = Buffer.from(id)
    const json = jsonOf(work, id)
    return { record: { kind: 'product', key, line: row.line, json }, warnings: work.warnings }
  } catch (error) {
    if (!(error instanceof RowRejected)) throw error
    const { code, field, message } = error
    const reject = { line: row.line, code, field, message: `${field} ${message}`, mend: mendOf(code) }
    return { reject: key === undefined ? reject : { ...reject, key }, warnings: work.warnings }
  }
}

/** The key of a row that is not mapped for another reason; undefined where its id is no id. */
export function productKey(row: Row, binding: ProductBinding, rules: ProductRules): Uint8Array | undefined {
  try {
    return Buffer.from(idOf(new ProductRow(row, binding, rules)))
  } catch (error) {
    if (error instanceof RowRejected) return undefined
    throw error
  }
}

/** Fields are judged in the order a person reads them and written in the order of their bytes. */
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
  add('custom_label_0', row.text('custom_label_0'))
  add('custom_label_1', row.text('custom_label_1'))
  add('custom_label_2', row.text('custom_label_2'))
  add('custom_label_3', row.text('custom_label_3'))
  add('custom_label_4', row.text('custom_label_4'))
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
