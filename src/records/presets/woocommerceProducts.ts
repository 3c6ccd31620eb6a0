import type { Preset } from './preset.ts'

/** Products of a WooCommerce shop, new goods. It names neither currency nor link: set options.default_currency and map the link. */
export const woocommerceProducts: Preset = {
  name: 'woocommerce-products',
  title: 'WooCommerce product export',
  kind: 'catalog',
  sample: ['ID', 'Type', 'SKU', 'GTIN, UPC, EAN, or ISBN', 'Name', 'Published', 'Is featured?', 'Visibility in catalog', 'Short description', 'Description', 'Date sale price starts', 'Date sale price ends', 'Tax status', 'In stock?', 'Stock', 'Sale price', 'Regular price', 'Categories', 'Tags', 'Images', 'Parent', 'Brands'],
  recognize: ['ID', 'SKU', 'Name', 'Regular price', 'In stock?'],
  map: {
    id: { columns: ['SKU'] },
    title: { columns: ['Name'] },
    description: { columns: ['Description', 'Short description'] },
    price: { columns: ['Regular price'] },
    sale_price: { columns: ['Sale price'] },
    gtin: { columns: ['GTIN, UPC, EAN, or ISBN'] },
    brand: { columns: ['Brands'] },
    product_type: { columns: ['Categories'] },
    inventory: { columns: ['Stock'] },
    availability: { columns: ['In stock?'], transforms: [{ name: 'map', args: { values: { '1': 'in stock', '0': 'out of stock', backorder: 'available for order' } } }] },
    image_link: { columns: ['Images'], transforms: [{ name: 'split', args: { at: ',', part: 1 } }] },
    additional_image_link: { columns: ['Images'] },
    condition: { columns: [], constant: 'new' },
  },
}
