/** Product fields, and the words, placeholders and categories in them (spec 2.2; docs/inputs.md). */

/** Fields of a product that a source may fill, in byte order. The keys in a product's JSON have the same order. */
export const mappableFields = [
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
export type ProductField = (typeof mappableFields)[number]
/** Fields that every product must have, in the order in which messages list them. */
export const requiredProductFields: readonly string[] = [
  'id',
  'title',
  'description',
  'availability',
  'condition',
  'price',
  'link',
  'image_link',
] satisfies readonly ProductField[]
/** Fields that only the service sets (docs/inputs.md, case 98). */
export const serviceOnlyFields: ReadonlySet<string> = new Set(['product_key', 'item_group_key'])

/** Words that the service accepts in a field. */
export const acceptedWords: Readonly<Record<'availability' | 'condition' | 'gender' | 'age_group', ReadonlySet<string>>> = {
  availability: new Set(['in stock', 'available for order', 'preorder', 'out of stock', 'discontinued']),
  condition: new Set(['new', 'used', 'refurbished']),
  gender: new Set(['female', 'male', 'unisex']),
  age_group: new Set(['adult', 'all ages', 'teen', 'kids', 'toddler', 'infant', 'newborn']),
}
/**
 * Placeholders in custom labels, in lower case. Fewer than in other fields, because a label may be a word such as `test`.
 * `ProductRow.optionalText` also recognizes `xx`.
 */
export const labelPlaceholders = new Set([
  'n/a',
  'na',
  'none',
  'null',
  'undefined',
  'nil',
  'nan',
  '-',
  '--',
  '—',
  '.',
  '?',
  '#n/a',
  'tbd',
  'tba',
])
/** Placeholders in optional fields except custom labels and the brand, in lower case. */
export const commonPlaceholders = new Set([...labelPlaceholders, 'test', 'todo', 'dummy', 'placeholder', '???', '...'])
/** Placeholders in the brand, in lower case. */
export const brandPlaceholders = new Set([...commonPlaceholders, 'unknown', 'no brand', 'unbranded', 'generic brand', 'does not apply'])
/** Matches texts that a spreadsheet wrote in place of an id or a title: `1.2E+11`, `1-Mar`, `####`, `#REF!` (docs/inputs.md, case 30). */
export const spreadsheetDamage =
  /^(?:\d(?:[.,]\d+)?[eE]\+\d+|#+|#(?:N\/A|REF!|VALUE!|DIV\/0!|NAME\?|NUM!|NULL!)|\d{1,2}-(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))$/
/** First levels of Google's product taxonomy, in English. */
export const topLevelCategories = new Set([
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
