import { optionCalled } from './options.ts'
import type { Preset } from './preset.ts'

/** Names of the option columns, in the order that `optionCalled` takes. */
const optionColumns = [1, 2, 3].flatMap((n) => [`Option${n} Name`, `Option${n} Value`])

/** Names of the columns of the price and of the compare-at price, each in the header before 2025 and in the present header. */
const priceColumns = ['Variant Price', 'Price', 'Variant Compare At Price', 'Compare-at price']

/**
 * Returns the regular price and the sale price from the texts of `priceColumns`. If the compare-at price is higher than the
 * price, the compare-at price is the regular price, and the price is the sale price. Otherwise, or if one of them is not a plain decimal
 * number, the price is the regular price, and there is no sale price (`''`).
 */
function pricesOf([old = '', present = '', oldCompareAt = '', presentCompareAt = '']: readonly string[]): {
  readonly regular: string
  readonly sale: string
} {
  const [price, compareAt] = [old || present, oldCompareAt || presentCompareAt]
  const plain = /^\d+(?:\.\d+)?$/
  return plain.test(price) && plain.test(compareAt) && Number(compareAt) > Number(price)
    ? { regular: compareAt, sale: price }
    : { regular: price, sale: '' }
}

/**
 * Products of a Shopify shop, with the present header or the header before 2025. The export has no columns for currency and link: set
 * `options.default_currency` and map the link. A row is a variant. The first row of a handle also describes the product. A row with only
 * an image adds the image to its product.
 */
export const shopifyProducts: Preset = {
  name: 'shopify-products',
  title: 'Shopify product export',
  records: 'products',
  sample: [
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
  recognize: ['Handle', 'Body (HTML)', 'Variant SKU', 'Variant Price'],
  recognizeAlso: [['URL handle', 'Title', 'SKU', 'Price', 'Product image URL']],
  map: {
    // The export puts an apostrophe before a SKU that begins with a digit.
    id: { columns: ['Variant SKU', 'SKU'], compute: ([old = '', sku = '']) => (old || sku).replace(/^'(?=\d)/, '') },
    title: { columns: ['Title'] },
    description: { columns: ['Body (HTML)', 'Description'] },
    price: { columns: priceColumns, compute: (texts) => pricesOf(texts).regular },
    sale_price: { columns: priceColumns, compute: (texts) => pricesOf(texts).sale },
    image_link: { columns: ['Variant Image', 'Variant image URL', 'Image Src', 'Product image URL'] },
    additional_image_link: { columns: ['Image Src', 'Product image URL'] },
    color: { columns: optionColumns, compute: optionCalled('color', 'colour') },
    size: { columns: optionColumns, compute: optionCalled('size') },
    brand: { columns: ['Vendor'] },
    gtin: { columns: ['Variant Barcode', 'Barcode'] },
    mpn: { columns: ['Google Shopping / MPN'] },
    condition: { columns: ['Google Shopping / Condition'], default: 'new' },
    gender: { columns: ['Google Shopping / Gender'] },
    age_group: { columns: ['Google Shopping / Age Group'] },
    google_product_category: { columns: ['Google Shopping / Google Product Category'] },
    product_type: { columns: ['Type'] },
    availability: {
      columns: [
        'Status',
        'Published',
        'Published on online store',
        'Variant Inventory Tracker',
        'Inventory tracker',
        'Variant Inventory Policy',
        'Continue selling when out of stock',
        'Variant Inventory Qty',
        'Inventory quantity',
      ],
      compute: ([
        status = '',
        published = '',
        online = '',
        oldTracker = '',
        tracker = '',
        policy = '',
        continueSelling = '',
        oldQty = '',
        qty = '',
      ]) => {
        if (['draft', 'archived', 'unlisted'].includes(status.toLowerCase()) || /^false$/i.test(published || online)) return 'discontinued'
        // A published product without stock tracking is always available. With `continue` or `true`, the shop sells without stock.
        if ((oldTracker || tracker) === '' || Number(oldQty || qty) > 0) return 'in stock'
        return /^(?:continue|true)$/i.test(policy || continueSelling) ? 'available for order' : 'out of stock'
      },
    },
    inventory: {
      columns: ['Variant Inventory Tracker', 'Inventory tracker', 'Variant Inventory Qty', 'Inventory quantity'],
      compute: ([oldTracker = '', tracker = '', oldQty = '', qty = '']) => ((oldTracker || tracker) === '' ? '' : oldQty || qty),
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
