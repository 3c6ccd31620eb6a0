import { optionReader } from './optionReader.ts'
import type { Preset } from './preset.ts'

/** Names of the option columns, in the order that `optionReader` takes. */
const optionColumns = [1, 2, 3].flatMap((n) => [`Attribute ${n} name`, `Attribute ${n} value(s)`])

/** Removes the apostrophe that the export puts before a cell that begins with `=`, `+`, `-` or `@`. */
function withoutApostrophe(text: string): string {
  return text.replace(/^'(?=[=+\-@])/, '')
}

/** Returns the first text that is not empty, without its apostrophe; `''` if all are empty. */
function firstNonEmpty(texts: readonly string[]): string {
  return withoutApostrophe(texts.find((text) => text !== '') ?? '')
}

/** Returns the first description that is not empty. The export escapes a line end as `\n`, and the characters `\n` as `\\n`. */
function descriptionOf(texts: readonly string[]): string {
  return firstNonEmpty(texts).replace(/(\\?)\\n/g, (_, escape: string) => (escape === '' ? '\n' : '\\n'))
}

/**
 * Returns the period of a sale; `''` if it has no dates. A missing start becomes 2000-01-01, a missing end 2099-12-31. Adds the leading
 * zero that the export omits from hours.
 */
function salePeriod([starts = '', ends = '']: readonly string[]): string {
  if (starts === '' && ends === '') return ''
  const [start, end] = [starts || '2000-01-01 00:00:00', ends || '2099-12-31 23:59:59'].map((time) => time.replace(/ (?=\d:)/, ' 0'))
  return `${start}/${end}`
}

/**
 * Returns a function that reads an option of a variation, as `optionReader`. A list of values gives `''`, because the option of one product
 * has one value. Commas or `|` separate the values of a list; a comma inside a value is `\,`.
 */
function singleOptionReader(...names: readonly string[]): (texts: readonly string[]) => string {
  const read = optionReader(...names)
  return (texts) => {
    const value = withoutApostrophe(read(texts))
    const isList = /(?<!\\),|\|/.test(value)
    return isList ? '' : value.replaceAll('\\,', ',')
  }
}

/** Text of the column `In stock?` → availability. */
const availabilities: ReadonlyMap<string, string> = new Map([
  ['1', 'in stock'],
  ['0', 'out of stock'],
  ['backorder', 'available for order'],
])

/**
 * Product export of a WooCommerce shop. It has no columns for currency and link: set `options.default_currency` and map the link. A product
 * with variations cannot be bought, so only its variations become products.
 */
export const woocommerceProducts: Preset = {
  name: 'woocommerce-products',
  title: 'WooCommerce product export',
  records: 'products',
  typicalColumns: [
    'ID',
    'Type',
    'SKU',
    'GTIN, UPC, EAN, or ISBN',
    'Name',
    'Published',
    'Is featured?',
    'Visibility in catalog',
    'Short description',
    'Description',
    'Date sale price starts',
    'Date sale price ends',
    'Tax status',
    'In stock?',
    'Stock',
    'Sale price',
    'Regular price',
    'Categories',
    'Tags',
    'Images',
    'Parent',
    'Brands',
    'Attribute 1 name',
    'Attribute 1 value(s)',
  ],
  identifyingColumns: ['ID', 'SKU', 'Name', 'Regular price', 'In stock?'],
  map: {
    id: { columns: ['SKU'], computeFromTexts: firstNonEmpty },
    title: { columns: ['Name'], computeFromTexts: firstNonEmpty },
    description: { columns: ['Description', 'Short description'], computeFromTexts: descriptionOf },
    price: { columns: ['Regular price'] },
    sale_price: { columns: ['Sale price'] },
    // The dates of the export have no offset, so a sale with dates is sent only with `options.timezone`.
    sale_price_effective_date: { columns: ['Date sale price starts', 'Date sale price ends'], computeFromTexts: salePeriod },
    gtin: { columns: ['GTIN, UPC, EAN, or ISBN'] },
    brand: { columns: ['Brands'], computeFromTexts: firstNonEmpty },
    product_type: { columns: ['Categories'], computeFromTexts: firstNonEmpty },
    // `parent`: all variations share one stock.
    inventory: {
      columns: ['Stock'],
      computeFromTexts: ([stock = '']) => (stock.toLowerCase() === 'parent' ? '' : withoutApostrophe(stock)),
    },
    item_group_id: { columns: ['Parent'], computeFromTexts: firstNonEmpty },
    color: { columns: optionColumns, computeFromTexts: singleOptionReader('color', 'colour') },
    size: { columns: optionColumns, computeFromTexts: singleOptionReader('size') },
    availability: {
      columns: ['Published', 'In stock?'],
      computeFromTexts: ([published = '', stock = '']) => {
        // `Published` is 1 for a published product, 0 for a private one and -1 for a draft.
        if (published === '0' || withoutApostrophe(published) === '-1') return 'discontinued'
        return availabilities.get(stock) ?? stock
      },
    },
    image_link: { columns: ['Images'] },
    additional_image_link: { columns: ['Images'] },
    condition: { columns: [], constant: 'new' },
  },
  rowGroups: {
    kind: 'parent',
    type: 'Type',
    id: 'ID',
    sku: 'SKU',
    parent: 'Parent',
    published: 'Published',
    inherited: ['Name', 'Short description', 'Description', 'Categories', 'Tags', 'Images', 'Brands'],
  },
  suggestedPrefix: { link: { columns: ['ID'], prefix: 'https://shop.example.com/?p=' } },
}
