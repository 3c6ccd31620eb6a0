import type { Preset } from './preset.ts'

/** Products of a Shopify shop. It names neither currency, link nor availability: set options.default_currency and map the two. */
export const shopifyProducts: Preset = {
  name: 'shopify-products',
  title: 'Shopify product export',
  kind: 'catalog',
  sample: ['Handle', 'Title', 'Body (HTML)', 'Vendor', 'Product Category', 'Type', 'Tags', 'Published', 'Option1 Name', 'Option1 Value', 'Variant SKU', 'Variant Grams', 'Variant Inventory Qty', 'Variant Price', 'Variant Compare At Price', 'Variant Barcode', 'Image Src', 'Image Position', 'Google Shopping / Condition', 'Google Shopping / Gender', 'Google Shopping / Age Group', 'Google Shopping / MPN', 'Status'],
  recognize: ['Handle', 'Body (HTML)', 'Variant SKU', 'Variant Price'],
  map: {
    id: { columns: ['Variant SKU'] },
    title: { columns: ['Title'] },
    description: { columns: ['Body (HTML)'] },
    price: { columns: ['Variant Price'] },
    image_link: { columns: ['Image Src'] },
    brand: { columns: ['Vendor'] },
    gtin: { columns: ['Variant Barcode'] },
    mpn: { columns: ['Google Shopping / MPN'] },
    condition: { columns: ['Google Shopping / Condition'] },
    gender: { columns: ['Google Shopping / Gender'] },
    age_group: { columns: ['Google Shopping / Age Group'] },
    product_type: { columns: ['Type'] },
    inventory: { columns: ['Variant Inventory Qty'] },
    item_group_id: { columns: ['Handle'] },
  },
}
