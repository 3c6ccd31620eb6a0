/** Campaign management: accounts and what belongs to them, categories, features (spec 4.5), and the endpoints behind spec 4.8. */
import type { Endpoint } from './endpoint.ts'
import { accountFeatures, historyEntities, industryTypes, listedFeatures, productTypes } from './campaignResources.ts'
import { deliveryEndpoints } from './delivery.ts'
import { lineItemEndpoints } from './lineItems.ts'
import { accountId, count200, cursor, idFilter, list200, path, query, sortBy, withDeleted, withTotalCount } from './parameter.ts'

const account = '/12/accounts/:account_id'
const recordId = path('line_item_curated_category_id')

export const campaignEndpoints = [
  {
    name: 'accounts.list', method: 'GET', host: 'ads', path: '/12/accounts', auth: 'user', body: 'none',
    parameters: [idFilter('account_ids'), count200, cursor, query('q', 'string', { source: 'spec 4.5: prefix on name' }), sortBy, withDeleted, withTotalCount],
    list: list200, answer: { resource: 'account', many: true }, limit: 'global_reads', repeatable: true, source: 'spec 4.5',
  },
  {
    name: 'accounts.get', method: 'GET', host: 'ads', path: account, auth: 'user', body: 'none',
    parameters: [accountId, withDeleted],
    answer: { resource: 'account', many: false }, limit: 'account_reads', repeatable: true, source: 'spec 4.5',
  },
  {
    name: 'accounts.create', method: 'POST', host: 'ads-sandbox', path: '/12/accounts', auth: 'user', body: 'form',
    parameters: [],
    answer: { resource: 'account', many: true }, limit: 'sandbox_only', repeatable: false, source: 'spec 4.5: sandbox only; spec/gaps.md 7 `data`',
  },
  {
    name: 'accounts.update', method: 'PUT', host: 'ads', path: account, auth: 'user', body: 'form',
    parameters: [accountId, query('name', 'string', { minLength: 1, source: 'spec 4.5' }), query('industry_type', 'enum', { values: industryTypes, source: 'spec 2.5' })],
    answer: { resource: 'account', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec 4.5',
  },
  {
    name: 'accounts.delete', method: 'DELETE', host: 'ads-sandbox', path: account, auth: 'user', body: 'none',
    parameters: [accountId],
    answer: { resource: 'account', many: false }, limit: 'sandbox_only', repeatable: true, source: 'spec 4.5: sandbox only',
  },
  {
    name: 'accountApps.list', method: 'GET', host: 'ads', path: `${account}/account_apps`, auth: 'user', body: 'none',
    parameters: [accountId, count200, cursor, sortBy, withDeleted, withTotalCount],
    list: list200, answer: { resource: 'accountApp', many: true }, limit: 'account_reads', repeatable: true, source: 'spec 4.5',
  },
  {
    name: 'accountHistory.list', method: 'GET', host: 'ads', path: `${account}/account_history`, auth: 'user', body: 'none',
    parameters: [
      accountId, query('entity_type', 'enum', { required: true, values: historyEntities, source: 'spec 4.5' }),
      query('entity_id', 'string', { required: true, source: 'spec 4.5' }),
      query('start_time', 'hour', { required: true, source: 'spec 4.5; spec 8 account history times' }),
      query('end_time', 'hour', { required: true, source: 'spec 4.5; spec 8 account history times' }),
      count200, cursor, query('user_id', 'long', { source: 'spec 4.5' }),
    ],
    rules: [{ kind: 'other', text: '`end_time` is later than `start_time`', source: 'spec 4.5' }],
    list: list200, answer: { resource: 'accountHistoryEntry', many: true }, limit: 'account_reads', repeatable: true, source: 'spec 4.5',
  },
  {
    name: 'businessCategories.list', method: 'GET', host: 'ads', path: '/12/advertiser_business_categories', auth: 'user', body: 'none',
    parameters: [],
    answer: { resource: 'businessCategory', many: true }, limit: 'global_reads', repeatable: true, source: 'spec 4.5',
  },
  {
    name: 'curatedCategories.list', method: 'GET', host: 'ads', path: `${account}/curated_categories`, auth: 'user', body: 'none',
    parameters: [accountId, query('country_codes', 'csv', { required: true, maxItems: 200, source: 'spec/gaps.md 8 curated_categories' }), cursor],
    list: {}, answer: { resource: 'curatedCategory', many: true }, limit: 'account_reads', repeatable: true, source: 'spec/gaps.md 8 curated_categories',
  },
  {
    name: 'curatedCategories.get', method: 'GET', host: 'ads', path: `${account}/curated_categories/:curated_category_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('curated_category_id')],
    answer: { resource: 'curatedCategory', many: false }, limit: 'account_reads', repeatable: true, source: 'spec 4.5',
  },
  {
    name: 'features.list', method: 'GET', host: 'ads', path: `${account}/features`, auth: 'user', body: 'none',
    parameters: [accountId, query('feature_keys', 'csv-enum', { values: listedFeatures, source: 'spec 4.5' })],
    answer: { resource: 'feature', many: true }, limit: 'account_reads', repeatable: true, source: 'spec 4.5',
  },
  {
    name: 'features.add', method: 'POST', host: 'ads-sandbox', path: `${account}/features`, auth: 'user', body: 'form',
    parameters: [accountId, query('feature_keys', 'csv-enum', { required: true, values: accountFeatures, source: 'spec 4.5' })],
    answer: { resource: 'feature', many: true }, limit: 'sandbox_only', repeatable: true, source: 'spec 4.5: sandbox only',
  },
  {
    name: 'features.remove', method: 'DELETE', host: 'ads-sandbox', path: `${account}/features`, auth: 'user', body: 'none',
    parameters: [accountId, query('feature_keys', 'csv-enum', { required: true, values: accountFeatures, source: 'spec 4.5' })],
    answer: { resource: 'feature', many: true }, limit: 'sandbox_only', repeatable: true, source: 'spec/gaps.md 8 funding_instruments: sandbox DELETE `features`',
  },
  {
    name: 'lineItemCuratedCategories.list', method: 'GET', host: 'ads', path: `${account}/line_item_curated_categories`, auth: 'user', body: 'none',
    parameters: [accountId, count200, cursor, sortBy, withDeleted, withTotalCount],
    list: list200, answer: { resource: 'lineItemCuratedCategory', many: true }, limit: 'account_reads', repeatable: true, source: 'spec 4.5',
  },
  {
    name: 'lineItemCuratedCategories.get', method: 'GET', host: 'ads', path: `${account}/line_item_curated_categories/:line_item_curated_category_id`, auth: 'user', body: 'none',
    parameters: [accountId, recordId, withDeleted],
    answer: { resource: 'lineItemCuratedCategory', many: false }, limit: 'account_reads', repeatable: true, source: 'spec 4.5',
  },
  {
    name: 'lineItemCuratedCategories.create', method: 'POST', host: 'ads', path: `${account}/line_item_curated_categories`, auth: 'user', body: 'form',
    parameters: [accountId, query('line_item_id', 'string', { required: true, source: 'spec 4.5' }), query('curated_category_id', 'string', { required: true, source: 'spec 4.5' })],
    answer: { resource: 'lineItemCuratedCategory', many: false }, limit: 'ads_writes', repeatable: false, source: 'spec 4.5',
  },
  {
    name: 'lineItemCuratedCategories.update', method: 'PUT', host: 'ads', path: `${account}/line_item_curated_categories/:line_item_curated_category_id`, auth: 'user', body: 'form',
    parameters: [accountId, recordId, query('curated_category_id', 'string', { source: 'spec 4.5' }), query('line_item_id', 'string', { source: 'spec 4.5' })],
    answer: { resource: 'lineItemCuratedCategory', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec 4.5',
  },
  {
    name: 'lineItemCuratedCategories.delete', method: 'DELETE', host: 'ads', path: `${account}/line_item_curated_categories/:line_item_curated_category_id`, auth: 'user', body: 'none',
    parameters: [accountId, recordId],
    answer: { resource: 'lineItemCuratedCategory', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec 4.5',
  },
  {
    name: 'lineItemPlacements.list', method: 'GET', host: 'ads', path: '/12/line_items/placements', auth: 'user', body: 'none',
    parameters: [query('product_type', 'enum', { values: productTypes, source: 'spec/gaps.md 8 placements' })],
    answer: { resource: 'lineItemPlacement', many: true }, limit: 'global_reads', repeatable: true, source: 'spec/gaps.md 8 placements',
  },
  ...lineItemEndpoints,
  ...deliveryEndpoints,
] as const satisfies readonly Endpoint[]
