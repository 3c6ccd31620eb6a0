/** Endpoints of product catalogs, products, product sets and scheduled feeds (spec 4.2, 2.2; docs/spec-notes.md#catalogs). */
import { deleteRequest, readRequest, updateRequest, type Endpoint } from './endpoint.ts'
import { batchLimits } from './limits.ts'
import { body, count200, cursor, path, query } from './parameter.ts'
import { recordsBelow } from './recordEndpoints.ts'

const catalogPath = '/12/product_catalogs/:product_catalog_id'
const catalogId = path('product_catalog_id')
const catalogs = recordsBelow('/12', [])('catalogs', 'product_catalogs', 'product_catalog_id', 'productCatalog')
const recordsOfCatalog = recordsBelow(catalogPath, [catalogId])
const productSets = recordsOfCatalog('productSets', 'product_sets', 'product_set_id', 'productSet')
const scheduledFeeds = recordsOfCatalog('scheduledFeeds', 'scheduled_feeds', 'scheduled_feed_id', 'scheduledFeed')

const spec42 = 'spec 4.2'
const setNotes = 'docs/spec-notes.md#product-sets'
const feedNotes = 'docs/spec-notes.md#scheduled-feeds'

const feedSchedule = [
  query('feed_format', 'string', { unsettable: true, source: feedNotes }),
  query('frequency', 'string', { unsettable: true, source: feedNotes }),
  query('repeat', 'integer', { min: 1, unsettable: true, source: feedNotes }),
  query('start_time', 'timestamp', { unsettable: true, source: feedNotes }),
  query('time_zone', 'string', { unsettable: true, source: feedNotes }),
] as const

export const catalogEndpoints = [
  { ...catalogs.list([query('user_id', 'long', { source: spec42 }), count200, cursor]), limit: 'catalog_reads', source: spec42 },
  {
    ...catalogs.create([query('name', 'string', { required: true, source: spec42 }), query('user_id', 'long', { source: spec42 })]),
    rules: [{ kind: 'other', text: 'a user can have one catalog', source: 'spec 2.2' }],
    limit: 'catalog_writes',
    source: spec42,
  },
  { ...catalogs.update([query('name', 'string', { required: true, source: spec42 })]), limit: 'catalog_writes', source: spec42 },
  { ...catalogs.delete, limit: 'catalog_writes', repeatable: false, source: `${spec42}; spec 3.3: permanent` },
  {
    name: 'products.list',
    ...readRequest,
    path: `${catalogPath}/products`,
    parameters: [
      catalogId,
      query('item_group_key', 'string', { source: spec42 }),
      query('count', 'integer', { default: 100, min: 1, max: 100, source: 'spec 8' }),
      cursor,
    ],
    rules: [{ kind: 'other', text: 'only the first submitted of the variants with one item_group_id is returned', source: 'spec 2.2' }],
    answer: { resource: 'product', many: true },
    limit: 'product_reads',
    source: spec42,
  },
  {
    name: 'products.put',
    ...updateRequest,
    path: `${catalogPath}/products`,
    body: 'json',
    parameters: [
      catalogId,
      body('products', 'array', { required: true, maxItems: batchLimits.products.entries, source: 'spec 4.2; spec 8' }),
    ],
    rules: [
      { kind: 'other', text: 'every instance of an id that occurs several times in one request is ignored', source: 'spec 2.2' },
      { kind: 'other', text: 'each product has at least one of `brand`, `gtin` and `mpn`', source: 'spec 2.2' },
      { kind: 'other', text: '`inventory` is 1 or more when `availability` is in stock', source: 'spec 2.2' },
      { kind: 'other', text: '`sale_price` is lower than `price`, in the same format', source: 'spec 2.2' },
    ],
    answer: { resource: 'productsResponse', many: false },
    limit: 'product_puts',
    source: spec42,
  },
  {
    name: 'products.delete',
    ...deleteRequest,
    path: `${catalogPath}/products`,
    body: 'json',
    parameters: [catalogId, body('product_keys', 'array', { required: true, source: 'spec 4.2; docs/spec-notes.md#catalogs' })],
    answer: { resource: 'deleteProducts', many: false },
    limit: 'product_deletes',
    source: `${spec42}; spec 3.3: permanent`,
  },
  { ...productSets.list([count200, cursor]), limit: 'product_set_reads', source: setNotes },
  { ...productSets.get([]), limit: 'product_set_reads', source: spec42 },
  {
    ...productSets.create([
      body('name', 'string', { required: true, source: spec42 }),
      body('description', 'string', { source: spec42 }),
      body('type', 'enum', { required: true, values: ['MANUAL', 'FILTERED'], source: spec42 }),
      body('filters', 'array', { maxItems: 30, source: `${spec42}; ${setNotes}` }),
      body('product_keys', 'array', { maxItems: 50, source: `${spec42}; ${setNotes}` }),
    ]),
    body: 'json',
    rules: [
      { kind: 'required-if', names: ['filters'], when: { name: 'type', is: ['FILTERED'] }, source: spec42 },
      { kind: 'required-if', names: ['product_keys'], when: { name: 'type', is: ['MANUAL'] }, source: spec42 },
    ],
    limit: 'product_set_posts',
    source: spec42,
  },
  {
    ...productSets.update([
      body('name', 'string', { minLength: 1, source: setNotes }),
      body('description', 'string', { unsettable: true, source: setNotes }),
      body('product_keys', 'array', { maxItems: 50, source: setNotes }),
    ]),
    body: 'json',
    rules: [{ kind: 'other', text: '`product_keys` is not for FILTERED sets', source: setNotes }],
    limit: 'product_set_puts',
    source: setNotes,
  },
  { ...productSets.delete, limit: 'product_set_deletes', repeatable: false, source: setNotes },
  { ...scheduledFeeds.list([count200, cursor]), limit: 'feed_reads', source: feedNotes },
  { ...scheduledFeeds.get([]), limit: 'feed_reads', source: feedNotes },
  {
    ...scheduledFeeds.create([query('feed_url', 'url', { required: true, source: feedNotes }), ...feedSchedule]),
    rules: [{ kind: 'other', text: 'one feed per user; an import only adds products', source: feedNotes }],
    limit: 'feed_writes',
    source: feedNotes,
  },
  { ...scheduledFeeds.update([query('feed_url', 'url', { source: feedNotes }), ...feedSchedule]), limit: 'feed_writes', source: feedNotes },
  { ...scheduledFeeds.delete, limit: 'feed_writes', repeatable: false, source: feedNotes },
] as const satisfies readonly Endpoint[]
