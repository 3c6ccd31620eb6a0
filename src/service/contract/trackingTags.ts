/** Endpoints of tracking tags of line items. Outside the specification: official SDKs call them. */
import type { Endpoint } from './endpoint.ts'
import { idFilter, query, recordList, sentBySdks, withDeleted } from './parameter.ts'
import { recordsOfAccount } from './recordEndpoints.ts'

const source = 'outside the specification: official SDKs manage them'
const shared = { outsideSpec: true, source } as const
export const trackingTagTypes = ['IMPRESSION_TAG', 'CLICK_TAG'] as const
const url = { maxLength: 2000, ...sentBySdks } as const

const trackingTags = recordsOfAccount('trackingTags', 'tracking_tags', 'tracking_tag_id', 'trackingTag')

export const trackingTagEndpoints = [
  { ...trackingTags.list([idFilter('line_item_ids'), idFilter('tracking_tag_ids'), ...recordList]), ...shared },
  { ...trackingTags.get([withDeleted]), ...shared },
  {
    ...trackingTags.create([
      query('line_item_id', 'string', { required: true, ...sentBySdks }),
      query('tracking_tag_type', 'enum', { required: true, values: trackingTagTypes, ...sentBySdks }),
      query('tracking_tag_url', 'url', { required: true, ...url }),
    ]),
    ...shared,
  },
  { ...trackingTags.update([query('tracking_tag_url', 'url', url)]), ...shared },
  { ...trackingTags.delete, ...shared },
] as const satisfies readonly Endpoint[]
