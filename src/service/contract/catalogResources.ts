/** Resources and values of catalogs (spec 2.2). */
import { field, nullableTexts, texts, type Field, type Resource } from './resource.ts'

const spec22 = 'spec 2.2'
const nullable = { nullable: true } as const

/**
 * Fields of a product in the order of spec 2.2, for reads and writes. The endpoint `products.put` has the rules across fields (brand, gtin,
 * mpn; inventory and availability; sale price).
 */
export const productFields = [
  field('id', 'string', { required: true, maxLength: 100, source: 'spec 2.2; docs/spec-notes.md#catalogs' }),
  field('product_key', 'string', { generated: true, source: 'spec 2.2; optional on write: docs/spec-notes.md#catalogs' }),
  field('title', 'string', { required: true, maxLength: 150, source: spec22 }),
  field('description', 'string', { required: true, maxLength: 5000, format: 'plain-text', source: spec22 }),
  field('availability', 'enum', {
    required: true,
    values: ['in stock', 'available for order', 'preorder', 'out of stock', 'discontinued'],
    source: spec22,
  }),
  field('condition', 'enum', { required: true, values: ['new', 'used', 'refurbished'], source: spec22 }),
  field('price', 'string', { required: true, format: 'price', source: spec22 }),
  field('link', 'string', { required: true, format: 'https-url', source: spec22 }),
  field('image_link', 'string', { required: true, source: 'spec 2.2; spec 8' }),
  field('brand', 'string', { nullable: true, required: 'conditional', source: spec22 }),
  field('gtin', 'string', { nullable: true, required: 'conditional', source: spec22 }),
  field('mpn', 'string', { nullable: true, required: 'conditional', source: spec22 }),
  field('mobile_link', 'string', { nullable: true, format: 'https-url', source: spec22 }),
  field('additional_image_link', 'string', { nullable: true, format: 'url-list', maxItems: 10, source: 'spec 2.2; spec 8' }),
  ...nullableTexts('google_product_category', 'product_type'),
  field('inventory', 'integer', { nullable: true, min: 0, source: spec22 }),
  field('sale_price', 'string', { nullable: true, format: 'price', source: spec22 }),
  field('sale_price_effective_date', 'string', { nullable: true, format: 'date-range', source: spec22 }),
  field('item_group_id', 'string', nullable),
  field('item_group_key', 'string', { nullable: true, generated: true, source: spec22 }),
  field('gender', 'enum', { nullable: true, values: ['female', 'male', 'unisex'], source: spec22 }),
  ...nullableTexts('color', 'size'),
  field('age_group', 'enum', {
    nullable: true,
    values: ['adult', 'all ages', 'teen', 'kids', 'toddler', 'infant', 'newborn'],
    source: spec22,
  }),
  ...nullableTexts('custom_label_0', 'custom_label_1', 'custom_label_2', 'custom_label_3', 'custom_label_4'),
] as const satisfies readonly Field[]

/** Attributes of the filters of product sets. The service accepts others too (docs/spec-notes.md#product-sets). */
export const filterAttributes = [
  'price',
  'product_type',
  'google_product_category',
  'sale_price',
  'inventory',
  'custom_label_0',
  'custom_label_1',
  'custom_label_2',
  'custom_label_3',
  'custom_label_4',
] as const
export const filterOperators = ['GREATER_THAN', 'EQUAL_TO', 'LESS_THAN', 'MATCH', 'NOT_CONTAINS', 'CONTAINS'] as const
/** Results of the write of one product (spec 3.3). */
export const productStatuses = ['CREATE_SUCCESS', 'UPDATE_SUCCESS', 'ERROR', 'NO_CHANGE'] as const

export const catalogResources = {
  productCatalog: { fields: texts('id', 'name'), source: spec22 },
  product: { fields: productFields, source: spec22 },
  productsResponse: { fields: [field('products_response', 'objects')], source: 'spec 4.2' },
  productResult: {
    fields: [
      field('warnings', 'any'),
      field('errors', 'any'),
      field('product_key', 'string', nullable),
      field('id', 'string'),
      field('status', 'enum', { values: productStatuses }),
    ],
    source: 'spec 4.2; spec 3.3',
  },
  deleteProducts: { fields: [field('delete_products', 'objects')], source: 'spec 4.2' },
  deletedProduct: {
    fields: nullableTexts('product_key', 'failed_product_key', 'message'),
    source: 'spec 4.2',
  },
  productSet: {
    fields: [
      ...texts('id', 'name'),
      field('description', 'string', nullable),
      field('type', 'enum', { values: ['MANUAL', 'FILTERED'] }),
      field('filters', 'objects', { maxItems: 30 }),
      field('product_ids', 'strings'),
      field('processing_status', 'enum', { values: ['DONE', 'PROCESSING', 'FAILED'] }),
    ],
    source: spec22,
  },
  productFilter: {
    fields: [
      field('attribute', 'enum', { values: filterAttributes }),
      field('operator', 'enum', { values: filterOperators }),
      field('value', 'string'),
    ],
    source: spec22,
  },
  scheduledFeed: {
    fields: [
      ...texts('id', 'feed_url'),
      ...nullableTexts('feed_format', 'frequency'),
      field('repeat', 'integer', nullable),
      field('start_time', 'timestamp', nullable),
      field('time_zone', 'string', nullable),
    ],
    source: 'docs/spec-notes.md#scheduled-feeds',
  },
} as const satisfies Readonly<Record<string, Resource>>
