/** Endpoints of business and curated categories, of the categories of line items, and of placements (spec 2.5, 4.5). */
import { accountPath, readRequest, type Endpoint } from './endpoint.ts'
import { productTypes } from './campaignResources.ts'
import { accountId, cursor, path, query, recordList } from './parameter.ts'
import { createOne, deleteOne, readMany, readOne, updateOne } from './recordEndpoints.ts'

const notes = 'docs/spec-notes.md#categories-and-placements'

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
    ...readMany('curatedCategories.list', 'curated_categories', 'curatedCategory', [
      query('country_codes', 'csv', { required: true, maxItems: 200, source: notes }),
      cursor,
    ]),
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
    ...readMany('lineItemCuratedCategories.list', 'line_item_curated_categories', 'lineItemCuratedCategory', [...recordList]),
    source: 'spec 4.5',
  },
  {
    ...readOne('lineItemCuratedCategories.get', 'line_item_curated_categories', 'line_item_curated_category_id', 'lineItemCuratedCategory'),
    source: 'spec 4.5',
  },
  {
    ...createOne('lineItemCuratedCategories.create', 'line_item_curated_categories', 'lineItemCuratedCategory', [
      query('line_item_id', 'string', { required: true, source: 'spec 4.5' }),
      query('curated_category_id', 'string', { required: true, source: 'spec 4.5' }),
    ]),
    source: 'spec 4.5',
  },
  {
    ...updateOne(
      'lineItemCuratedCategories.update',
      'line_item_curated_categories',
      'line_item_curated_category_id',
      'lineItemCuratedCategory',
      [query('curated_category_id', 'string', { source: 'spec 4.5' }), query('line_item_id', 'string', { source: 'spec 4.5' })],
    ),
    source: 'spec 4.5',
  },
  {
    ...deleteOne(
      'lineItemCuratedCategories.delete',
      'line_item_curated_categories',
      'line_item_curated_category_id',
      'lineItemCuratedCategory',
    ),
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
