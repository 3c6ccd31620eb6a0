/** Endpoints of business and curated categories, of the categories of line items, and of placements (spec 2.5, 4.5). */
import { accountPath, createRequest, deleteRequest, readRequest, updateRequest, type Endpoint } from './endpoint.ts'
import { productTypes } from './campaignResources.ts'
import { accountId, count200, cursor, list200, path, query, sortBy, withDeleted, withTotalCount } from './parameter.ts'

const notes = 'docs/spec-notes.md#categories-and-placements'
const recordId = path('line_item_curated_category_id')

export const categoryEndpoints = [
  {
    name: 'businessCategories.list',
    ...readRequest,
    path: '/12/advertiser_business_categories',
    parameters: [],
    answer: { resource: 'businessCategory', many: true },
    limit: 'global_reads',
    source: 'spec 4.5',
  },
  {
    name: 'curatedCategories.list',
    ...readRequest,
    path: `${accountPath}/curated_categories`,
    parameters: [accountId, query('country_codes', 'csv', { required: true, maxItems: 200, source: notes }), cursor],
    list: {},
    answer: { resource: 'curatedCategory', many: true },
    source: notes,
  },
  {
    name: 'curatedCategories.get',
    ...readRequest,
    path: `${accountPath}/curated_categories/:curated_category_id`,
    parameters: [accountId, path('curated_category_id')],
    answer: { resource: 'curatedCategory', many: false },
    source: 'spec 4.5',
  },
  {
    name: 'lineItemCuratedCategories.list',
    ...readRequest,
    path: `${accountPath}/line_item_curated_categories`,
    parameters: [accountId, count200, cursor, sortBy, withDeleted, withTotalCount],
    list: list200,
    answer: { resource: 'lineItemCuratedCategory', many: true },
    source: 'spec 4.5',
  },
  {
    name: 'lineItemCuratedCategories.get',
    ...readRequest,
    path: `${accountPath}/line_item_curated_categories/:line_item_curated_category_id`,
    parameters: [accountId, recordId, withDeleted],
    answer: { resource: 'lineItemCuratedCategory', many: false },
    source: 'spec 4.5',
  },
  {
    name: 'lineItemCuratedCategories.create',
    ...createRequest,
    path: `${accountPath}/line_item_curated_categories`,
    parameters: [
      accountId,
      query('line_item_id', 'string', { required: true, source: 'spec 4.5' }),
      query('curated_category_id', 'string', { required: true, source: 'spec 4.5' }),
    ],
    answer: { resource: 'lineItemCuratedCategory', many: false },
    source: 'spec 4.5',
  },
  {
    name: 'lineItemCuratedCategories.update',
    ...updateRequest,
    path: `${accountPath}/line_item_curated_categories/:line_item_curated_category_id`,
    parameters: [
      accountId,
      recordId,
      query('curated_category_id', 'string', { source: 'spec 4.5' }),
      query('line_item_id', 'string', { source: 'spec 4.5' }),
    ],
    answer: { resource: 'lineItemCuratedCategory', many: false },
    source: 'spec 4.5',
  },
  {
    name: 'lineItemCuratedCategories.delete',
    ...deleteRequest,
    path: `${accountPath}/line_item_curated_categories/:line_item_curated_category_id`,
    parameters: [accountId, recordId],
    answer: { resource: 'lineItemCuratedCategory', many: false },
    source: 'spec 4.5',
  },
  {
    name: 'lineItemPlacements.list',
    ...readRequest,
    path: '/12/line_items/placements',
    parameters: [query('product_type', 'enum', { values: productTypes, source: notes })],
    answer: { resource: 'lineItemPlacement', many: true },
    limit: 'global_reads',
    source: notes,
  },
] as const satisfies readonly Endpoint[]
