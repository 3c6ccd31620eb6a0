/**
 * Hides records whose parent was deleted. Deleting a line item does not delete its promoted tweets: they keep `deleted` false, but only
 * reads with `with_deleted=true` find them (spec 3.3). The same is assumed for line items of a deleted campaign, and for targeting
 * criteria, categories and tracking tags of a deleted line item.
 */
import { findRecord, recordsOf, type AccountRecord, type Table } from '../accountRecords.ts'
import type { Call } from '../area.ts'
import { notFound } from '../refusal.ts'
import type { CampaignsState, LineItem } from './state.ts'

/** Record that belongs to a campaign or a line item. */
type Child = AccountRecord & ({ readonly line_item_id: string } | { readonly campaign_id: string })

/** Returns true if no parent of the record is deleted, or if the call has `with_deleted=true`. */
export function isVisible(call: Call<CampaignsState>, child: Child): boolean {
  return call.params['with_deleted'] === true || hasLiveParents(call, child)
}

/** Returns the record that a path parameter names, as `findRecord` does. @throws {Refusal} 404 also for a record that is not visible */
export function findChild<T extends Child>(call: Call<CampaignsState>, table: Table<T>, parameter: string, code: string): T {
  const child = findRecord(call, table, parameter, code)
  if (!isVisible(call, child)) throw notFound(code, parameter, child.id)
  return child
}

/**
 * Returns the line item that a new record will belong to.
 *
 * @throws {Refusal} 404 if the line item is missing, or it or its campaign is deleted
 */
export function liveLineItem(call: Call<CampaignsState>, id: string): LineItem {
  const item = recordsOf(call, call.state.lineItems).get(id)
  if (item === undefined || item.deleted || !hasLiveParents(call, item)) throw notFound('LINE_ITEM_NOT_FOUND', 'line_item_id', id)
  return item
}

/** Returns true if neither the line item nor the campaign of the record is deleted. */
function hasLiveParents(call: Call<CampaignsState>, child: Child): boolean {
  if ('campaign_id' in child) return recordsOf(call, call.state.campaigns).get(child.campaign_id)?.deleted !== true
  const item = recordsOf(call, call.state.lineItems).get(child.line_item_id)
  return item === undefined || (!item.deleted && hasLiveParents(call, item))
}
