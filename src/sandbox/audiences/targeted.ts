/** Which line items and campaigns target a custom audience (spec 2.3 'Targeting entry', 4.3). */
import type { World } from '../area.ts'
import type { Audience } from './state.ts'

export interface TargetingEntry {
  readonly campaign_id: string
  readonly campaign_name: string
  readonly line_items: { readonly id: string; readonly name: string | null; readonly servable: boolean }[]
}

/** `activeOnly` leaves out line items that cannot serve. */
export function targetingOf(world: World, audience: Audience, activeOnly: boolean): TargetingEntry[] {
  const campaigns = world.stateOf('campaigns')
  const criteria = campaigns.targeting.get(audience.accountId)?.values() ?? []
  const entries = new Map<string, TargetingEntry>()
  for (const criterion of criteria) {
    if (criterion.deleted || criterion.targeting_type !== 'CUSTOM_AUDIENCE' || criterion.targeting_value !== audience.id) continue
    const item = campaigns.lineItems.get(audience.accountId)?.get(criterion.line_item_id)
    const campaign = campaigns.campaigns.get(audience.accountId)?.get(item?.campaign_id ?? '')
    if (item === undefined || item.deleted || campaign === undefined) continue
    const servable = item.entity_status === 'ACTIVE' && campaign.entity_status === 'ACTIVE'
    if (activeOnly && !servable) continue
    const entry = entries.get(campaign.id) ?? { campaign_id: campaign.id, campaign_name: campaign.name, line_items: [] }
    entry.line_items.push({ id: item.id, name: item.name, servable })
    entries.set(campaign.id, entry)
  }
  return [...entries.values()]
}
