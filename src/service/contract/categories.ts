/** Endpoints of business and curated categories, of the categories of line items, and of placements (spec 2.5, 4.5). */
import { readRequest, type Endpoint } from './endpoint.ts'
import { productTypes } from './campaignResources.ts'
import { cursor, query, recordList, withDeleted } from './parameter.ts'
import { recordsOfAccount } from './recordEndpoints.ts'

const notes = 'docs/spec-notes.md#categories-and-placements'

const curatedCategories = recordsOfAccount('curatedCategories', 'curated_categories', 'curated_category_id', 'curatedCategory')
const lineItemCuratedCategories = recordsOfAccount(
  'lineItemCuratedCategories',
  'line_item_curated_categories',
  'line_item_curated_category_id',
  'lineItemCuratedCategory',
)

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
  { ...curatedCategories.list([query('country_codes', 'csv', { required: true, maxItems: 200, source: notes }), cursor]), source: notes },
  { ...curatedCategories.get([]), source: 'spec 4.5' },
  { ...lineItemCuratedCategories.list(recordList), source: 'spec 4.5' },
  { ...lineItemCuratedCategories.get([withDeleted]), source: 'spec 4.5' },
  {
    ...lineItemCuratedCategories.create([
      query('line_item_id', 'string', { required: true, source: 'spec 4.5' }),
      query('curated_category_id', 'string', { required: true, source: 'spec 4.5' }),
    ]),
    source: 'spec 4.5',
  },
  {
    ...lineItemCuratedCategories.update([
      query('curated_category_id', 'string', { source: 'spec 4.5' }),
      query('line_item_id', 'string', { source: 'spec 4.5' }),
    ]),
    source: 'spec 4.5',
  },
  { ...lineItemCuratedCategories.delete, source: 'spec 4.5' },
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
