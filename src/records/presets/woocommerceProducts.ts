import type { Preset } from './preset.ts'

/**
 * Products of a WooCommerce shop, new goods; what is no longer or not yet published is discontinued. It names neither
 * currency nor link: set options.default_currency and map the link. Parents of variations have no price and are rejected.
 */
export const woocommerceProducts: Preset = {
  name: 'woocommerce-products',
  title: 'WooCommerce product export',
  kind: 'catalog',
  sample: [
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
  ],
  recognize: ['ID', 'SKU', 'Name', 'Regular price', 'In stock?'],
  map: {
    id: { columns: ['SKU'] },
    title: { columns: ['Name'] },
    description: { columns: ['Description', 'Short description'] },
    price: { columns: ['Regular price'] },
    sale_price: { columns: ['Sale price'] },
    // Without offset: read in options.timezone, the shop's own.
    sale_price_effective_date: {
      columns: ['Date sale price starts', 'Date sale price ends'],
      compute: ([starts = '', ends = '']) => (starts === '' || ends === '' ? '' : `${starts}/${ends}`),
    },
    gtin: { columns: ['GTIN, UPC, EAN, or ISBN'] },
    brand: { columns: ['Brands'] },
    product_type: { columns: ['Categories'] },
    inventory: { columns: ['Stock'] },
    availability: {
      columns: ['Published', 'In stock?'],
      compute: ([published = '', stock = '']) => {
        // 1 published, 0 private, -1 draft.
        if (published === '0' || published === '-1') return 'discontinued'
        return stock === '1' ? 'in stock' : stock === '0' ? 'out of stock' : stock === 'backorder' ? 'available for order' : stock
      },
    },
    image_link: { columns: ['Images'], transforms: [{ name: 'split', args: { at: ',', part: 1 } }] },
    additional_image_link: { columns: ['Images'] },
    condition: { columns: [], constant: 'new' },
  },
  ask: { link: { columns: ['ID'], prefix: 'https://shop.example.com/?p=' } },
}
