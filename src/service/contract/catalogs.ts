/** Product catalogs, products, product sets and scheduled feeds (spec 4.2, 2.2; spec/gaps.md 6). */
import type { Endpoint } from './endpoint.ts'
import { body, count200, cursor, list200, path, query } from './parameter.ts'

const catalogs = '/12/product_catalogs'
const catalog = `${catalogs}/:product_catalog_id` as const
const catalogId = path('product_catalog_id')
const setId = path('product_set_id')
const feedId = path('scheduled_feed_id')

const spec42 = 'spec 4.2'
const sets = 'spec/gaps.md 6 Sets'
const feeds = 'spec/gaps.md 6 Feeds'

const feedSchedule = [
  query('feed_format', 'string', { source: feeds }),
  query('frequency', 'string', { source: feeds }),
  query('repeat', 'integer', { min: 1, source: feeds }),
  query('start_time', 'timestamp', { source: feeds }),
  query('time_zone', 'string', { source: feeds }),
] as const

export const catalogEndpoints = [
  {
    name: 'catalogs.list', method: 'GET', host: 'ads', path: catalogs, auth: 'user', body: 'none',
    parameters: [query('user_id', 'long', { source: spec42 }), count200, cursor],
    list: list200, answer: { resource: 'productCatalog', many: true }, limit: 'catalog_reads', repeatable: true, source: spec42,
  },
  {
    name: 'catalogs.create', method: 'POST', host: 'ads', path: catalogs, auth: 'user', body: 'form',
    parameters: [query('name', 'string', { required: true, source: spec42 }), query('user_id', 'long', { source: spec42 })],
    rules: [{ kind: 'other', text: 'one user can hold one catalog', source: 'spec 2.2' }],
    answer: { resource: 'productCatalog', many: false }, limit: 'catalog_writes', repeatable: false, source: spec42,
  },
  {
    name: 'catalogs.update', method: 'PUT', host: 'ads', path: catalog, auth: 'user', body: 'form',
    parameters: [catalogId, query('name', 'string', { required: true, source: spec42 })],
    answer: { resource: 'productCatalog', many: false }, limit: 'catalog_writes', repeatable: true, source: spec42,
  },
  {
    name: 'catalogs.delete', method: 'DELETE', host: 'ads', path: catalog, auth: 'user', body: 'none',
    parameters: [catalogId],
    answer: { resource: 'productCatalog', many: false }, limit: 'catalog_writes', repeatable: false, source: `${spec42}; spec 3.3: permanent`,
  },
  {
    name: 'products.list', method: 'GET', host: 'ads', path: `${catalog}/products`, auth: 'user', body: 'none',
    parameters: [
      catalogId, query('item_group_key', 'string', { source: spec42 }), query('count', 'integer', { default: 100, min: 1, max: 100, source: 'spec 8' }), cursor,
    ],
    rules: [{ kind: 'other', text: 'variants sharing item_group_id: only the first-submitted one is returned', source: 'spec 2.2' }],
    list: { countDefault: 100, countMin: 1, countMax: 100 },
    answer: { resource: 'product', many: true }, limit: 'product_reads', repeatable: true, source: spec42,
  },
  {
    name: 'products.put', method: 'PUT', host: 'ads', path: `${catalog}/products`, auth: 'user', body: 'json',
    parameters: [catalogId, body('products', 'array', { required: true, maxItems: 25, source: 'spec 4.2; spec 8' })],
    rules: [{ kind: 'other', text: 'every instance of an id that occurs several times in one request is ignored', source: 'spec 2.2' }],
    answer: { resource: 'productsResponse', many: false }, limit: 'product_puts', repeatable: true, source: spec42,
  },
  {
    name: 'products.delete', method: 'DELETE', host: 'ads', path: `${catalog}/products`, auth: 'user', body: 'json',
    parameters: [catalogId, body('product_keys', 'array', { required: true, source: 'spec 4.2; spec/gaps.md 6 Keys per DELETE' })],
    answer: { resource: 'deleteProducts', many: false }, limit: 'product_deletes', repeatable: true, source: `${spec42}; spec 3.3: permanent`,
  },
  {
    name: 'productSets.list', method: 'GET', host: 'ads', path: `${catalog}/product_sets`, auth: 'user', body: 'none',
    parameters: [catalogId, count200, cursor],
    list: list200, answer: { resource: 'productSet', many: true }, limit: 'product_set_reads', repeatable: true, source: sets,
  },
  {
    name: 'productSets.get', method: 'GET', host: 'ads', path: `${catalog}/product_sets/:product_set_id`, auth: 'user', body: 'none',
    parameters: [catalogId, setId],
    answer: { resource: 'productSet', many: false }, limit: 'product_set_reads', repeatable: true, source: spec42,
  },
  {
    name: 'productSets.create', method: 'POST', host: 'ads', path: `${catalog}/product_sets`, auth: 'user', body: 'json',
    parameters: [
      catalogId,
      body('name', 'string', { required: true, source: spec42 }),
      body('description', 'string', { source: spec42 }),
      body('type', 'enum', { required: true, values: ['MANUAL', 'FILTERED'], source: spec42 }),
      body('filters', 'array', { maxItems: 30, source: `${spec42}; ${sets}` }),
      body('product_keys', 'array', { maxItems: 50, source: `${spec42}; ${sets}` }),
    ],
    rules: [
      { kind: 'required-if', names: ['filters'], when: { name: 'type', is: ['FILTERED'] }, source: spec42 },
      { kind: 'required-if', names: ['product_keys'], when: { name: 'type', is: ['MANUAL'] }, source: spec42 },
    ],
    answer: { resource: 'productSet', many: false }, limit: 'product_set_posts', repeatable: false, source: spec42,
  },
  {
    name: 'productSets.update', method: 'PUT', host: 'ads', path: `${catalog}/product_sets/:product_set_id`, auth: 'user', body: 'json',
    parameters: [
      catalogId, setId, body('name', 'string', { source: sets }), body('description', 'string', { unsettable: true, source: sets }),
      body('product_keys', 'array', { maxItems: 50, source: sets }),
    ],
    rules: [{ kind: 'other', text: 'product_keys is not for FILTERED sets', source: sets }],
    answer: { resource: 'productSet', many: false }, limit: 'product_set_puts', repeatable: true, source: sets,
  },
  {
    name: 'productSets.delete', method: 'DELETE', host: 'ads', path: `${catalog}/product_sets/:product_set_id`, auth: 'user', body: 'none',
    parameters: [catalogId, setId],
    answer: { resource: 'productSet', many: false }, limit: 'product_set_deletes', repeatable: false, source: sets,
  },
  {
    name: 'scheduledFeeds.list', method: 'GET', host: 'ads', path: `${catalog}/scheduled_feeds`, auth: 'user', body: 'none',
    parameters: [catalogId, count200, cursor],
    list: list200, answer: { resource: 'scheduledFeed', many: true }, limit: 'feed_reads', repeatable: true, source: feeds,
  },
  {
    name: 'scheduledFeeds.get', method: 'GET', host: 'ads', path: `${catalog}/scheduled_feeds/:scheduled_feed_id`, auth: 'user', body: 'none',
    parameters: [catalogId, feedId],
    answer: { resource: 'scheduledFeed', many: false }, limit: 'feed_reads', repeatable: true, source: feeds,
  },
  {
    name: 'scheduledFeeds.create', method: 'POST', host: 'ads', path: `${catalog}/scheduled_feeds`, auth: 'user', body: 'form',
    parameters: [catalogId, query('feed_url', 'url', { required: true, source: feeds }), ...feedSchedule],
    rules: [{ kind: 'other', text: 'one per user; imports only add', source: feeds }],
    answer: { resource: 'scheduledFeed', many: false }, limit: 'feed_writes', repeatable: false, source: feeds,
  },
  {
    name: 'scheduledFeeds.update', method: 'PUT', host: 'ads', path: `${catalog}/scheduled_feeds/:scheduled_feed_id`, auth: 'user', body: 'form',
    parameters: [catalogId, feedId, query('feed_url', 'url', { source: feeds }), ...feedSchedule],
    answer: { resource: 'scheduledFeed', many: false }, limit: 'feed_writes', repeatable: true, source: feeds,
  },
  {
    name: 'scheduledFeeds.delete', method: 'DELETE', host: 'ads', path: `${catalog}/scheduled_feeds/:scheduled_feed_id`, auth: 'user', body: 'none',
    parameters: [catalogId, feedId],
    answer: { resource: 'scheduledFeed', many: false }, limit: 'feed_writes', repeatable: false, source: feeds,
  },
] as const satisfies readonly Endpoint[]
