/** Endpoints of tracking tags of line items. Outside the specification: official SDKs call them. */
import { createRequest, deleteRequest, readRequest, updateRequest, type Endpoint } from './endpoint.ts'
import {
  accountId,
  count200,
  cursor,
  idFilter,
  list200,
  path,
  query,
  sentBySdks,
  sortBy,
  withDeleted,
  withTotalCount,
} from './parameter.ts'

const tags = '/12/accounts/:account_id/tracking_tags'
const source = 'outside the specification: official SDKs manage them'
const shared = { outsideSpec: true, source } as const
const one = { resource: 'trackingTag', many: false } as const
/** Types of tracking tags: of impressions and of clicks. */
export const trackingTagTypes = ['IMPRESSION_TAG', 'CLICK_TAG'] as const
const url = { maxLength: 2000, ...sentBySdks } as const

export const trackingTagEndpoints = [
  {
    name: 'trackingTags.list',
    ...readRequest,
    path: tags,
    parameters: [accountId, idFilter('line_item_ids'), idFilter('tracking_tag_ids'), count200, cursor, sortBy, withDeleted, withTotalCount],
    list: list200,
    answer: { resource: 'trackingTag', many: true },
    ...shared,
  },
  {
    name: 'trackingTags.get',
    ...readRequest,
    path: `${tags}/:tracking_tag_id`,
    parameters: [accountId, path('tracking_tag_id'), withDeleted],
    answer: one,
    ...shared,
  },
  {
    name: 'trackingTags.create',
    ...createRequest,
    path: tags,
    parameters: [
      accountId,
      query('line_item_id', 'string', { required: true, ...sentBySdks }),
      query('tracking_tag_type', 'enum', { required: true, values: trackingTagTypes, ...sentBySdks }),
      query('tracking_tag_url', 'url', { required: true, ...url }),
    ],
    answer: one,
    ...shared,
  },
  {
    name: 'trackingTags.update',
    ...updateRequest,
    path: `${tags}/:tracking_tag_id`,
    parameters: [accountId, path('tracking_tag_id'), query('tracking_tag_url', 'url', url)],
    answer: one,
    ...shared,
  },
  {
    name: 'trackingTags.delete',
    ...deleteRequest,
    path: `${tags}/:tracking_tag_id`,
    parameters: [accountId, path('tracking_tag_id')],
    answer: one,
    ...shared,
  },
] as const satisfies readonly Endpoint[]
