/** Handles the endpoints of tracking tags of line items. The specification has none of these endpoints. */
import { recordHandlers, recordsOf, creationFields } from '../accountRecords.ts'
import type { Handler } from '../area.ts'
import { adsRefusals, invalidParameter, ok } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { findChild, isVisible, findLiveLineItem } from './parents.ts'
import type { CampaignsState, TrackingTag } from './state.ts'

export const trackingTagHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  ...recordHandlers('trackingTags', {
    table: (state: CampaignsState) => state.trackingTags,
    idParameter: 'tracking_tag_id',
    notFoundCode: 'NOT_FOUND',
    filters: { line_item_ids: 'line_item_id', tracking_tag_ids: 'id' },
    isVisible,
  }),
  'trackingTags.create': (call) => {
    const item = findLiveLineItem(call, String(call.params['line_item_id']))
    const tag: TrackingTag = {
      id: call.world.newShortId(),
      line_item_id: item.id,
      tracking_tag_type: String(call.params['tracking_tag_type']),
      tracking_tag_url: httpsUrl(call.params['tracking_tag_url']),
      ...creationFields(call),
    }
    recordsOf(call, call.state.trackingTags).set(tag.id, tag)
    return ok(tag)
  },
  'trackingTags.update': (call) => {
    const tag = findChild(call, call.state.trackingTags, 'tracking_tag_id', 'NOT_FOUND')
    if (call.givenNames.has('tracking_tag_url')) tag.tracking_tag_url = httpsUrl(call.params['tracking_tag_url'])
    tag.updated_at = isoSeconds(call.now)
    return ok(tag)
  },
}

/** Returns the value as a URL. @throws {Refusal} unless it begins with `https://` */
function httpsUrl(value: unknown): string {
  const url = String(value)
  if (!url.startsWith('https://')) throw adsRefusals([invalidParameter('tracking_tag_url', 'an https URL', url)])
  return url
}
