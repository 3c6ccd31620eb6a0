/**
 * Hides records whose line item or campaign was deleted. Promoted tweets of a deleted line item keep `deleted: false`, but only reads with
 * `with_deleted=true` return them (spec 3.3). These records are assumed to be hidden too:
 * - targeting criteria, categories and tracking tags of a deleted line item
 * - line items of a deleted campaign
 */
import { findRecord, recordsOf, type AccountRecord, type Table } from '../accountRecords.ts'
import type { Call } from '../area.ts'
import { notFound } from '../refusal.ts'
import type { CampaignsState, LineItem } from './state.ts'

/** Record that belongs to a campaign or a line item. */
type Child = AccountRecord & ({ readonly line_item_id: string } | { readonly campaign_id: string })

/** Returns true if no parent of the record is deleted, or the call has `with_deleted=true`. */
export function isVisible(call: Call<CampaignsState>, child: Child): boolean {
  return call.params['with_deleted'] === true || hasLiveParents(call, child)
}

/** Returns the record as `findRecord` does. @throws {Refusal} 404 with `code`, also for a record that is not visible */
export function findChild<T extends Child>(call: Call<CampaignsState>, table: Table<T>, parameter: string, code: string): T {
  const child = findRecord(call, table, parameter, code)
  if (!isVisible(call, child)) throw notFound(code, parameter, child.id)
  return child
}

/**
 * Returns a line item of the call's account, for a record that will belong to it.
 *
 * @throws {Refusal} 404 if the line item is unknown or deleted, or its campaign is deleted
 */
export function findLiveLineItem(call: Call<CampaignsState>, id: string): LineItem {
  const item = recordsOf(call, call.state.lineItems).get(id)
  if (item === undefined || item.deleted || !hasLiveParents(call, item)) throw notFound('LINE_ITEM_NOT_FOUND', 'line_item_id', id)
  return item
}

function hasLiveParents(call: Call<CampaignsState>, child: Child): boolean {
  if ('campaign_id' in child) return recordsOf(call, call.state.campaigns).get(child.campaign_id)?.deleted !== true
  const item = recordsOf(call, call.state.lineItems).get(child.line_item_id)
  return item === undefined || (!item.deleted && hasLiveParents(call, item))
}
