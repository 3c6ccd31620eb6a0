import { mappableFields } from '../products/vocabulary.ts'
import type { Preset } from './preset.ts'

/** Google Shopping feed as RSS, Atom or text, with or without the prefix `g:`. Also other exports with the same column names. */
export const googleShopping: Preset = {
  name: 'google-shopping',
  title: 'Google Shopping / Merchant feed',
  records: 'products',
  typicalColumns: [
    'id',
    'title',
    'description',
    'link',
    'image_link',
    'additional_image_link',
    'availability',
    'price',
    'sale_price',
    'condition',
    'brand',
    'gtin',
    'mpn',
    'google_product_category',
    'product_type',
    'item_group_id',
  ],
  identifyingColumns: ['id', 'title', 'link', 'image_link', 'price'],
  map: {
    ...Object.fromEntries(mappableFields.map((field) => [field, { columns: [field] }])),
    additional_image_link: { columns: ['additional_image_link', 'additional_image_links'] },
  },
}
