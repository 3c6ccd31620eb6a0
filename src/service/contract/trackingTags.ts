/** Endpoints of tracking tags of line items. Outside the specification: official SDKs call them. */
import type { Endpoint } from './endpoint.ts'
import { idFilter, query, recordList, sentBySdks } from './parameter.ts'
import { createOne, deleteOne, readMany, readOne, updateOne } from './recordEndpoints.ts'

const source = 'outside the specification: official SDKs manage them'
const shared = { outsideSpec: true, source } as const
export const trackingTagTypes = ['IMPRESSION_TAG', 'CLICK_TAG'] as const
const url = { maxLength: 2000, ...sentBySdks } as const

export const trackingTagEndpoints = [
  {
    ...readMany('trackingTags.list', 'tracking_tags', 'trackingTag', [
      idFilter('line_item_ids'),
      idFilter('tracking_tag_ids'),
      ...recordList,
    ]),
    ...shared,
  },
  { ...readOne('trackingTags.get', 'tracking_tags', 'tracking_tag_id', 'trackingTag'), ...shared },
  {
    ...createOne('trackingTags.create', 'tracking_tags', 'trackingTag', [
      query('line_item_id', 'string', { required: true, ...sentBySdks }),
      query('tracking_tag_type', 'enum', { required: true, values: trackingTagTypes, ...sentBySdks }),
      query('tracking_tag_url', 'url', { required: true, ...url }),
    ]),
    ...shared,
  },
  {
    ...updateOne('trackingTags.update', 'tracking_tags', 'tracking_tag_id', 'trackingTag', [query('tracking_tag_url', 'url', url)]),
    ...shared,
  },
  { ...deleteOne('trackingTags.delete', 'tracking_tags', 'tracking_tag_id', 'trackingTag'), ...shared },
] as const satisfies readonly Endpoint[]
