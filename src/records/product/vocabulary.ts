/** Words of the product rows: fields, enums, and texts that stand for nothing (spec 2.2, bad-inputs 5). */

/** Fields as they may be written, in the order of their bytes: the order of the keys in a product's JSON. */
export const productFields = [
  'additional_image_link',
  'age_group',
  'availability',
  'brand',
  'color',
  'condition',
  'custom_label_0',
  'custom_label_1',
  'custom_label_2',
  'custom_label_3',
  'custom_label_4',
  'description',
  'gender',
  'google_product_category',
  'gtin',
  'id',
  'image_link',
  'inventory',
  'item_group_id',
  'link',
  'mobile_link',
  'mpn',
  'price',
  'product_type',
  'sale_price',
  'sale_price_effective_date',
  'size',
  'title',
] as const
export type ProductField = (typeof productFields)[number]
export const requiredProductFields: readonly ProductField[] = [
  'id',
  'title',
  'description',
  'availability',
  'condition',
  'price',
  'link',
  'image_link',
]
/** Set by the service (bad-inputs 98). */
export const serviceFields: ReadonlySet<string> = new Set(['product_key', 'item_group_key'])

export const words: Readonly<Record<'availability' | 'condition' | 'gender' | 'age_group', ReadonlySet<string>>> = {
  availability: new Set(['in stock', 'available for order', 'preorder', 'out of stock', 'discontinued']),
  condition: new Set(['new', 'used', 'refurbished']),
  gender: new Set(['female', 'male', 'unisex']),
  age_group: new Set(['adult', 'all ages', 'teen', 'kids', 'toddler', 'infant', 'newborn']),
}
export const absent = new Set(['n/a', 'na', 'none', 'null', 'undefined', 'nil', 'nan', '-', '--', '—', '.', '?', '#n/a'])
export const absentBrand = new Set([...absent, 'unknown', 'no brand', 'unbranded', 'generic brand', 'does not apply'])
/** What a spreadsheet makes of ids and numbers (bad-inputs 30). */
export const spreadsheet =
  /^(?:\d(?:[.,]\d+)?[eE]\+\d+|#+|#(?:N\/A|REF!|VALUE!|DIV\/0!|NAME\?|NUM!|NULL!)|\d{1,2}-(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))$/
/** First levels of the product taxonomy (English). */
export const topCategories = new Set([
  'Animals & Pet Supplies',
  'Apparel & Accessories',
  'Arts & Entertainment',
  'Baby & Toddler',
  'Business & Industrial',
  'Cameras & Optics',
  'Electronics',
  'Food, Beverages & Tobacco',
  'Furniture',
  'Hardware',
  'Health & Beauty',
  'Home & Garden',
  'Luggage & Bags',
  'Mature',
  'Media',
  'Office Supplies',
  'Religious & Ceremonial',
  'Software',
  'Sporting Goods',
  'Toys & Games',
  'Vehicles & Parts',
])
