/** Resources of answers: those of authentication, catalogs and audiences (spec 2.1 to 2.3), and a list of all resources. */
import { campaignResources } from './campaignResources.ts'
import { creativeResources } from './creativeResources.ts'
import { outsideResources } from './outsideResources.ts'
import { postResources } from './postResources.ts'
import { type Field, type Resource, field, recordFields } from './resource.ts'
import { webhookResources } from './webhookResources.ts'

const spec22 = 'spec 2.2'
const optional = { nullable: true } as const
const customLabels = [
  field('custom_label_0', 'string', optional),
  field('custom_label_1', 'string', optional),
  field('custom_label_2', 'string', optional),
  field('custom_label_3', 'string', optional),
  field('custom_label_4', 'string', optional),
] as const

/**
 * Fields of a product in the order of spec 2.2, for reads and writes. The endpoint `products.put` has the rules across fields (brand, gtin, mpn;
 * inventory and availability; sale price).
 */
export const productFields = [
  field('id', 'string', { required: true, maxLength: 100, source: 'spec 2.2; docs/spec-notes.md#catalogs Bounds' }),
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
  field('google_product_category', 'string', optional),
  field('product_type', 'string', optional),
  field('inventory', 'integer', { nullable: true, min: 0, source: spec22 }),
  field('sale_price', 'string', { nullable: true, format: 'price', source: spec22 }),
  field('sale_price_effective_date', 'string', { nullable: true, format: 'date-range', source: spec22 }),
  field('item_group_id', 'string', optional),
  field('item_group_key', 'string', { nullable: true, generated: true, source: spec22 }),
  field('gender', 'enum', { nullable: true, values: ['female', 'male', 'unisex'], source: spec22 }),
  field('color', 'string', optional),
  field('size', 'string', optional),
  field('age_group', 'enum', {
    nullable: true,
    values: ['adult', 'all ages', 'teen', 'kids', 'toddler', 'infant', 'newborn'],
    source: spec22,
  }),
  ...customLabels,
] as const satisfies readonly Field[]

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
export const productStatuses = ['CREATE_SUCCESS', 'UPDATE_SUCCESS', 'ERROR', 'NO_CHANGE'] as const

/** Types of identifiers of a user (spec 2.3). Do-not-reach lists accept only those of `doNotReachIdentifiers`. */
export const userIdentifiers = ['email', 'device_id', 'handle', 'service_id', 'phone_number', 'partner_user_id'] as const
export const doNotReachIdentifiers = ['email', 'phone_number'] as const

const ownResources = {
  requestToken: {
    fields: [field('oauth_token', 'string'), field('oauth_token_secret', 'string'), field('oauth_callback_confirmed', 'string')],
    source: 'spec 2.1; form-encoded',
  },
  accessToken: {
    fields: [
      field('oauth_token', 'string'),
      field('oauth_token_secret', 'string'),
      field('user_id', 'string'),
      field('screen_name', 'string'),
    ],
    source: 'spec 2.1; form-encoded',
  },
  invalidatedToken: { fields: [field('access_token', 'string')], source: 'spec 2.1' },
  bearerToken: {
    fields: [field('token_type', 'string'), field('access_token', 'string')],
    source: 'docs/spec-notes.md#tokens oauth2/token',
  },
  page: { fields: [], source: 'spec 4.1: a page for a browser' },
  productCatalog: { fields: [field('id', 'string'), field('name', 'string')], source: spec22 },
  product: { fields: productFields, source: spec22 },
  productsResponse: { fields: [field('products_response', 'objects')], source: 'spec 4.2' },
  productResult: {
    fields: [
      field('warnings', 'any'),
      field('errors', 'any'),
      field('product_key', 'string', optional),
      field('id', 'string'),
      field('status', 'enum', { values: productStatuses }),
    ],
    source: 'spec 4.2; spec 3.3',
  },
  deleteProducts: { fields: [field('delete_products', 'objects')], source: 'spec 4.2' },
  deletedProduct: {
    fields: [
      field('product_key', 'string', optional),
      field('failed_product_key', 'string', optional),
      field('message', 'string', optional),
    ],
    source: 'spec 4.2',
  },
  productSet: {
    fields: [
      field('id', 'string'),
      field('name', 'string'),
      field('description', 'string', optional),
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
      field('id', 'string'),
      field('feed_url', 'string'),
      field('feed_format', 'string', optional),
      field('frequency', 'string', optional),
      field('repeat', 'integer', optional),
      field('start_time', 'timestamp', optional),
      field('time_zone', 'string', optional),
    ],
    source: 'docs/spec-notes.md#catalogs Feeds',
  },
  keywordInsights: {
    fields: [field('related_keywords', 'strings', { maxItems: 30 }), field('tweet_volume', 'integers')],
    source: 'spec 2.3',
  },
  audiencePermission: {
    fields: [
      field('id', 'string'),
      field('tailored_audience_id', 'string'),
      field('custom_audience_id', 'string', {
        optional: true,
        source: 'docs/spec-notes.md#echoes-and-cursors Versions: on the path of custom audiences',
      }),
      field('granted_account_id', 'string'),
      field('permission_level', 'enum', { values: ['READ_ONLY', 'READ_WRITE'] }),
      ...recordFields,
    ],
    source: 'spec 2.3',
  },
  targetedCampaign: {
    fields: [field('campaign_id', 'string'), field('campaign_name', 'string'), field('line_items', 'objects')],
    source: 'spec 2.3',
  },
  targetedLineItem: {
    fields: [field('id', 'string'), field('name', 'string', optional), field('servable', 'boolean')],
    source: 'spec 2.3',
  },
  batchResult: { fields: [field('success_count', 'integer'), field('total_count', 'integer')], source: 'spec 2.3' },
  doNotReachList: {
    fields: [
      field('id', 'string'),
      field('name', 'string'),
      field('description', 'string', optional),
      field('targetable', 'boolean'),
      field('reasons_not_targetable', 'strings'),
      field('list_size', 'integer', optional),
      ...recordFields,
    ],
    source: 'spec 2.3',
  },
  customAudience: {
    fields: [
      field('id', 'string'),
      field('name', 'string'),
      field('description', 'string', optional),
      field('audience_type', 'string'),
      field('audience_size', 'integer', optional),
      field('targetable', 'boolean'),
      field('reasons_not_targetable', 'strings'),
      field('permission_level', 'enum', { values: ['READ_ONLY', 'READ_WRITE'] }),
      field('owner_account_id', 'string'),
      ...recordFields,
    ],
    source: 'docs/spec-notes.md#endpoints custom_audiences',
  },
  audienceEstimate: { fields: [field('audience_size', 'object')], source: 'docs/spec-notes.md#endpoints audience_estimate' },
} as const satisfies Readonly<Record<string, Resource>>

/** All resources, by the name in `Endpoint.answer.resource`. */
export const resources = {
  ...ownResources,
  ...creativeResources,
  ...campaignResources,
  ...postResources,
  ...webhookResources,
  ...outsideResources,
} as const

export type ResourceName = keyof typeof resources
