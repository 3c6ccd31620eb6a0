import type { Preset } from './preset.ts'

/**
 * Products of a Shopify shop, in the header of today or of before 2025. It names neither currency nor link: set
 * options.default_currency and map the link. Rows of further variants and images leave out what stands in the first row of
 * their product and are rejected: a shop with variants is better read by the feed of its Google channel.
 */
export const shopifyProducts: Preset = {
  name: 'shopify-products',
  title: 'Shopify product export',
  kind: 'catalog',
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
    id: { columns: ['Variant SKU', 'SKU'] },
    title: { columns: ['Title'] },
    description: { columns: ['Body (HTML)', 'Description'] },
    price: { columns: ['Variant Price', 'Price'] },
    image_link: { columns: ['Image Src', 'Product image URL'] },
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
        goesOn = '',
        oldQty = '',
        qty = '',
      ]) => {
        if (['draft', 'archived', 'unlisted'].includes(status.toLowerCase()) || /^false$/i.test(published || online)) return 'discontinued'
        // What the shop does not count is always there; where it sells on, a buyer waits.
        if ((oldTracker || tracker) === '' || Number(oldQty || qty) > 0) return 'in stock'
        return /^(?:continue|true)$/i.test(policy || goesOn) ? 'available for order' : 'out of stock'
      },
    },
    inventory: {
      columns: ['Variant Inventory Tracker', 'Inventory tracker', 'Variant Inventory Qty', 'Inventory quantity'],
      compute: ([oldTracker = '', tracker = '', oldQty = '', qty = '']) => ((oldTracker || tracker) === '' ? '' : oldQty || qty),
    },
    item_group_id: { columns: ['Handle', 'URL handle'] },
  },
  ask: { link: { columns: ['Handle', 'URL handle'], prefix: 'https://shop.example.com/products/' } },
}
