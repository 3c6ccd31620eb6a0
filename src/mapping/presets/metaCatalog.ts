import { googleShopping } from './googleShopping.ts'
import type { Preset } from './preset.ts'

/** Catalog feed of Meta: a Google Shopping feed, except for the column of the stock. */
export const metaCatalog: Preset = {
  name: 'meta-catalog',
  title: 'Meta catalog feed',
  records: 'products',
  typicalColumns: [
    'id',
    'title',
    'description',
    'availability',
    'condition',
    'price',
    'link',
    'image_link',
    'brand',
    'google_product_category',
    'fb_product_category',
    'quantity_to_sell_on_facebook',
    'sale_price',
    'sale_price_effective_date',
    'item_group_id',
    'gender',
    'color',
    'size',
    'age_group',
    'material',
    'pattern',
    'shipping',
    'shipping_weight',
  ],
  identifyingColumns: ['id', 'title', 'link', 'image_link', 'price', 'quantity_to_sell_on_facebook'],
  map: {
    ...googleShopping.map,
    inventory: { columns: ['quantity_to_sell_on_facebook', 'inventory'] },
  },
}
