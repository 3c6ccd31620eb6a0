/** Endpoints of tracking tags of line items. Outside the specification: official SDKs call them. */
import type { Endpoint } from './endpoint.ts'
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
const shared = { host: 'ads', auth: 'user', outsideSpec: true, source } as const
const one = { resource: 'trackingTag', many: false } as const
export const trackingTagTypes = ['IMPRESSION_TAG', 'CLICK_TAG'] as const
const url = { maxLength: 2000, ...sentBySdks } as const

export const trackingTagEndpoints = [
  {
    name: 'trackingTags.list',
    method: 'GET',
    path: tags,
    body: 'none',
    parameters: [accountId, idFilter('line_item_ids'), idFilter('tracking_tag_ids'), count200, cursor, sortBy, withDeleted, withTotalCount],
    list: list200,
    answer: { resource: 'trackingTag', many: true },
    limit: 'account_reads',
    repeatable: true,
    ...shared,
  },
  {
    name: 'trackingTags.get',
    method: 'GET',
    path: `${tags}/:tracking_tag_id`,
    body: 'none',
    parameters: [accountId, path('tracking_tag_id'), withDeleted],
    answer: one,
    limit: 'account_reads',
    repeatable: true,
    ...shared,
  },
  {
    name: 'trackingTags.create',
    method: 'POST',
    path: tags,
    body: 'form',
    parameters: [
      accountId,
      query('line_item_id', 'string', { required: true, ...sentBySdks }),
      query('tracking_tag_type', 'enum', { required: true, values: trackingTagTypes, ...sentBySdks }),
      query('tracking_tag_url', 'url', { required: true, ...url }),
    ],
    answer: one,
    limit: 'ads_writes',
    repeatable: false,
    ...shared,
  },
  {
    name: 'trackingTags.update',
    method: 'PUT',
    path: `${tags}/:tracking_tag_id`,
    body: 'form',
    parameters: [accountId, path('tracking_tag_id'), query('tracking_tag_url', 'url', url)],
    answer: one,
    limit: 'ads_writes',
    repeatable: true,
    ...shared,
  },
  {
    name: 'trackingTags.delete',
    method: 'DELETE',
    path: `${tags}/:tracking_tag_id`,
    body: 'none',
    parameters: [accountId, path('tracking_tag_id')],
    answer: one,
    limit: 'ads_writes',
    repeatable: true,
    ...shared,
  },
] as const satisfies readonly Endpoint[]
