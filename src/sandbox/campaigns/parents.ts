/**
 * Rules for records below a deleted one. Nothing is cascaded: a promoted tweet of a deleted line item stays with
 * `deleted` false, and is there for reads with `with_deleted=true` only (spec 3.3), not for a DELETE of its own (observed).
 * Assumed to hold alike one step up and beside it: line items of a deleted campaign, targeting criteria, categories.
 */
import { findRecord, recordsOf, type AccountRecord, type Table } from '../accountRecords.ts'
import type { Call } from '../area.ts'
import { notFound } from '../refusal.ts'
import type { CampaignsState, LineItem } from './state.ts'

/** A record below a campaign or below a line item. */
type Child = AccountRecord & ({ readonly line_item_id: string } | { readonly campaign_id: string })

/** Is this record there for the call, as far as what stands above it goes? */
export function isReachable(call: Call<CampaignsState>, child: Child): boolean {
  return call.params['with_deleted'] === true || hasLiveParents(call, child)
}

/** `findRecord`, but 404 below something deleted. */
export function findChild<T extends Child>(call: Call<CampaignsState>, table: Table<T>, parameter: string, code: string): T {
  const child = findRecord(call, table, parameter, code)
  if (!isReachable(call, child)) throw notFound(code, parameter, child.id)
  return child
}

/** The line item that something is to be put below. */
export function liveLineItem(call: Call<CampaignsState>, id: string): LineItem {
  const item = recordsOf(call, call.state.lineItems).get(id)
  if (item === undefined || item.deleted || !hasLiveParents(call, item)) throw notFound('LINE_ITEM_NOT_FOUND', 'line_item_id', id)
  return item
}

function hasLiveParents(call: Call<CampaignsState>, child: Child): boolean {
  if ('campaign_id' in child) return recordsOf(call, call.state.campaigns).get(child.campaign_id)?.deleted !== true
  const item = recordsOf(call, call.state.lineItems).get(child.line_item_id)
  return item === undefined || (!item.deleted && hasLiveParents(call, item))
}
