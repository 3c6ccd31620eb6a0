import type { Preset } from './preset.ts'

const same = ['title', 'description', 'condition', 'price', 'brand', 'mpn', 'mobile_link', 'google_product_category', 'product_type', 'sale_price', 'sale_price_effective_date', 'item_group_id', 'gender', 'size', 'age_group', 'custom_label_0', 'custom_label_1', 'custom_label_2', 'custom_label_3', 'custom_label_4']

/** Product data of the shopping feed, RSS, Atom or text, `g:` or not; also merchant exports of the same names. */
export const googleShopping: Preset = {
  name: 'google-shopping',
  title: 'Google Shopping / Merchant feed',
  kind: 'catalog',
  sample: ['id', 'title', 'description', 'link', 'image_link', 'additional_image_link', 'availability', 'price', 'sale_price', 'condition', 'brand', 'gtin', 'mpn', 'google_product_category', 'product_type', 'item_group_id'],
  recognize: ['id', 'title', 'link', 'image_link', 'price'],
  map: {
    ...Object.fromEntries(same.map((field) => [field, { columns: [field] }])),
    id: { columns: ['id'] },
    link: { columns: ['link'] },
    image_link: { columns: ['image_link'] },
    additional_image_link: { columns: ['additional_image_link', 'additional_image_links'] },
    availability: { columns: ['availability'] },
    inventory: { columns: ['inventory'] },
    gtin: { columns: ['gtin'] },
    color: { columns: ['color'] },
  },
}
