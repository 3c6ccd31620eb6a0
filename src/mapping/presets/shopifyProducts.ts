import { optionReader } from './optionReader.ts'
import type { Preset } from './preset.ts'

/** Names of the option columns, in the order that `optionReader` takes. */
const optionColumns = [1, 2, 3].flatMap((n) => [`Option${n} Name`, `Option${n} Value`])

/** Columns of the price and the compare-at price, each in the old header (before 2025) and the new one. */
const priceColumns = ['Variant Price', 'Price', 'Variant Compare At Price', 'Compare-at price']

/**
 * Returns the regular price and the sale price from the texts of `priceColumns`. A compare-at price above the price is the regular price,
 * and the price is the sale price, if both are plain decimals. Otherwise the sale price is `''`.
 */
function pricesOf([oldHeaderPrice = '', newHeaderPrice = '', oldHeaderCompareAt = '', newHeaderCompareAt = '']: readonly string[]): {
  readonly regular: string
  readonly sale: string
} {
  const price = oldHeaderPrice || newHeaderPrice
  const compareAt = oldHeaderCompareAt || newHeaderCompareAt
  const isReduced = plainDecimal.test(price) && plainDecimal.test(compareAt) && Number(compareAt) > Number(price)
  return isReduced ? { regular: compareAt, sale: price } : { regular: price, sale: '' }
}

const plainDecimal = /^\d+(?:\.\d+)?$/

const availabilityColumns = [
  'Status',
  'Published',
  'Published on online store',
  'Variant Inventory Tracker',
  'Inventory tracker',
  'Variant Inventory Policy',
  'Continue selling when out of stock',
  'Variant Inventory Qty',
  'Inventory quantity',
]

function availabilityOf([
  status = '',
  oldHeaderPublished = '',
  newHeaderPublished = '',
  oldHeaderTracker = '',
  newHeaderTracker = '',
  oldHeaderPolicy = '',
  newHeaderPolicy = '',
  oldHeaderQuantity = '',
  newHeaderQuantity = '',
]: readonly string[]): string {
  const isHidden =
    ['draft', 'archived', 'unlisted'].includes(status.toLowerCase()) || /^false$/i.test(oldHeaderPublished || newHeaderPublished)
  if (isHidden) return 'discontinued'
  // Without a stock tracker, the shop sells without a limit.
  const isTracked = (oldHeaderTracker || newHeaderTracker) !== ''
  if (!isTracked || Number(oldHeaderQuantity || newHeaderQuantity) > 0) return 'in stock'
  // `continue` in the old header, `true` in the new one.
  const sellsWithoutStock = /^(?:continue|true)$/i.test(oldHeaderPolicy || newHeaderPolicy)
  return sellsWithoutStock ? 'available for order' : 'out of stock'
}

/**
 * Products of a Shopify shop, with the old header (before 2025) or the new one. It has no columns for currency and link: set
 * `options.default_currency` and map the link. A row is a variant, or has only a further image of the product.
 */
export const shopifyProducts: Preset = {
  name: 'shopify-products',
  title: 'Shopify product export',
  records: 'products',
  typicalColumns: [
    'Handle',
    'Title',
    'Body (HTML)',
    'Vendor',
    'Product Category',
    'Type',
    'Tags',
    'Published',
    'Option1 Name',
    'Option1 Value',
    'Option2 Name',
    'Option2 Value',
    'Variant SKU',
    'Variant Grams',
    'Variant Inventory Tracker',
    'Variant Inventory Qty',
    'Variant Inventory Policy',
    'Variant Price',
    'Variant Compare At Price',
    'Variant Barcode',
    'Image Src',
    'Image Position',
    'Variant Image',
    'Google Shopping / Google Product Category',
    'Google Shopping / Condition',
    'Google Shopping / Gender',
    'Google Shopping / Age Group',
    'Google Shopping / MPN',
    'Status',
  ],
  identifyingColumns: ['Handle', 'Body (HTML)', 'Variant SKU', 'Variant Price'],
  otherIdentifyingSets: [['URL handle', 'Title', 'SKU', 'Price', 'Product image URL']],
  map: {
    // The export puts an apostrophe before a SKU that begins with a digit.
    id: {
      columns: ['Variant SKU', 'SKU'],
      computeFromTexts: ([oldHeaderSku = '', newHeaderSku = '']) => (oldHeaderSku || newHeaderSku).replace(/^'(?=\d)/, ''),
    },
    title: { columns: ['Title'] },
    description: { columns: ['Body (HTML)', 'Description'] },
    price: { columns: priceColumns, computeFromTexts: (texts) => pricesOf(texts).regular },
    sale_price: { columns: priceColumns, computeFromTexts: (texts) => pricesOf(texts).sale },
    image_link: { columns: ['Variant Image', 'Variant image URL', 'Image Src', 'Product image URL'] },
    additional_image_link: { columns: ['Image Src', 'Product image URL'] },
    color: { columns: optionColumns, computeFromTexts: optionReader('color', 'colour') },
    size: { columns: optionColumns, computeFromTexts: optionReader('size') },
    brand: { columns: ['Vendor'] },
    gtin: { columns: ['Variant Barcode', 'Barcode'] },
    mpn: { columns: ['Google Shopping / MPN'] },
    condition: { columns: ['Google Shopping / Condition'], default: 'new' },
    gender: { columns: ['Google Shopping / Gender'] },
    age_group: { columns: ['Google Shopping / Age Group'] },
    google_product_category: { columns: ['Google Shopping / Google Product Category'] },
    product_type: { columns: ['Type'] },
    availability: { columns: availabilityColumns, computeFromTexts: availabilityOf },
    inventory: {
      columns: ['Variant Inventory Tracker', 'Inventory tracker', 'Variant Inventory Qty', 'Inventory quantity'],
      // Without a stock tracker, the shop does not maintain the quantity.
      computeFromTexts: ([oldHeaderTracker = '', newHeaderTracker = '', oldHeaderQuantity = '', newHeaderQuantity = '']) =>
        (oldHeaderTracker || newHeaderTracker) === '' ? '' : oldHeaderQuantity || newHeaderQuantity,
    },
    item_group_id: { columns: ['Handle', 'URL handle'] },
  },
  rowGroups: {
    kind: 'handle',
    handle: ['Handle', 'URL handle'],
    title: ['Title'],
    image: ['Image Src', 'Product image URL'],
    offer: ['Variant SKU', 'SKU', 'Variant Price', 'Price', 'Option1 Value', 'Variant Barcode', 'Barcode'],
    inherited: [
      'Title',
      'Body (HTML)',
      'Description',
      'Vendor',
      'Product Category',
      'Type',
      'Tags',
      'Published',
      'Published on online store',
      'Status',
      'Option1 Name',
      'Option2 Name',
      'Option3 Name',
      'SEO Title',
      'SEO Description',
      'Google Shopping / Google Product Category',
      'Google Shopping / Gender',
      'Google Shopping / Age Group',
      'Google Shopping / Condition',
      'Google Shopping / Custom Label 0',
      'Google Shopping / Custom Label 1',
      'Google Shopping / Custom Label 2',
      'Google Shopping / Custom Label 3',
      'Google Shopping / Custom Label 4',
    ],
    inheritedLike: /\(product\.metafields\./i,
  },
  suggestedPrefix: { link: { columns: ['Handle', 'URL handle'], prefix: 'https://shop.example.com/products/' } },
}
