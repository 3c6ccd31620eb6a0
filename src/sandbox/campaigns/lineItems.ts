/** Handles the endpoints of line items (spec 4.5, 4.6). */
import { creationFields, findRecord, recordHandlers, recordsOf } from '../accountRecords.ts'
import type { Call, Handler } from '../area.ts'
import { givenFields, listParam, passesFilter } from '../params.ts'
import { adsRefusal, adsRefusals, ok } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { isSameValue } from '../verify/sentBackFields.ts'
import { recordOf } from '../../unknownValue.ts'
import { addToHistory } from './history.ts'
import { checkLineItem, defaultGoal, defaultPayBy } from './lineItemRules.ts'
import { findChild, isVisible } from './parents.ts'
import { countActive, lineItemDefaults, type Campaign, type CampaignsState, type LineItem } from './state.ts'

export const lineItemHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  ...recordHandlers('lineItems', {
    table: (state: CampaignsState) => state.lineItems,
    idParameter: 'line_item_id',
    notFoundCode: 'LINE_ITEM_NOT_FOUND',
    filters: { campaign_ids: 'campaign_id', line_item_ids: 'id' },
    sortable: [
      'created_at',
      'updated_at',
      'name',
      'start_time',
      'end_time',
      'bid_amount_local_micro',
      'total_budget_amount_local_micro',
      'daily_budget_amount_local_micro',
    ],
    isVisible: (call, item) =>
      isVisible(call, item) &&
      passesFilter(
        listParam(call, 'funding_instrument_ids'),
        recordsOf(call, call.state.campaigns).get(item.campaign_id)?.funding_instrument_id ?? '',
      ),
    // The promoted tweets of the line item stay unchanged (spec 3.3).
    onDeleted: (call, after) => addToHistory(call, { entity: 'LINE_ITEM', type: 'DELETE', after }),
  }),
  'lineItems.create': (call) => ok(createLineItem(call)),
  'lineItems.update': (call) => ok(updateLineItem(call)),
}

/** Creates a line item from the parameters of the call. @throws {Refusal} */
function createLineItem(call: Call<CampaignsState>): LineItem {
  const campaign = findRecord(call, call.state.campaigns, 'campaign_id', 'CAMPAIGN_NOT_FOUND')
  const objective = String(call.params['objective'])
  const bid = call.params['bid_amount_local_micro']
  const defaults: LineItem = {
    id: '',
    name: null,
    campaign_id: campaign.id,
    objective,
    goal: defaultGoal(objective),
    product_type: String(call.params['product_type']),
    placements: listParam(call, 'placements') ?? [],
    entity_status: 'ACTIVE',
    start_time: null,
    end_time: null,
    bid_strategy: defaultStrategy(objective, bid),
    bid_amount_local_micro: null,
    total_budget_amount_local_micro: null,
    daily_budget_amount_local_micro: null,
    target_cpa_local_micro: null,
    pay_by: '',
    currency: campaign.currency,
    ...lineItemDefaults,
    ...creationFields(call),
  }
  const checked = withGivenFields(call, defaults, campaign)
  checkCampaignLimit(call, checked)
  checkActiveLimit(call, checked)
  const item = { ...checked, id: call.world.newShortId() }
  recordsOf(call, call.state.lineItems).set(item.id, item)
  addToHistory(call, { entity: 'LINE_ITEM', type: 'CREATE', after: item })
  return item
}

/** Writes the given parameters into the line item that the path names. @throws {Refusal} */
function updateLineItem(call: Call<CampaignsState>): LineItem {
  const item = findChild(call, call.state.lineItems, 'line_item_id', 'LINE_ITEM_NOT_FOUND')
  const itemBefore = { ...item }
  const next = withGivenFields(call, item, recordsOf(call, call.state.campaigns).get(item.campaign_id))
  if (item.entity_status !== 'ACTIVE') checkActiveLimit(call, next)
  Object.assign(item, next, { updated_at: isoSeconds(call.now) })
  addToHistory(call, { entity: 'LINE_ITEM', type: 'UPDATE', after: item, before: itemBefore })
  return item
}

/** Returns a copy of the item with the given parameters. @throws {Refusal} if the copy breaks a rule */
function withGivenFields(call: Call<CampaignsState>, item: LineItem, campaign: Campaign | undefined): LineItem {
  const given = givenFields(call)
  // The contract decoded the parameters, so each value has the type of its field.
  const next: LineItem & Record<string, unknown> = { ...item, ...given }
  if (given['categories'] === null) next.categories = []
  // The bid is ignored with AUTO (spec 4.6).
  if (next.bid_strategy === 'AUTO') next.bid_amount_local_micro = null
  // A field that a client sends with its stored value is not a change. A new item has no stored `pay_by`, so the default takes its place.
  const stored = recordOf({ ...item, pay_by: item.pay_by === '' ? defaultPayBy(next) : item.pay_by })
  const changedFields = new Set(Object.keys(given).filter((name) => !isSameValue(next[name], stored[name])))
  // If the call lacks `pay_by`, the other fields determine it. APP_INSTALLS keeps the stored value: only there, a call can change it.
  if (!call.givenNames.has('pay_by')) next.pay_by = next.objective === 'APP_INSTALLS' ? String(stored['pay_by']) : defaultPayBy(next)
  const errors = checkLineItem(next, campaign, changedFields)
  if (errors.length > 0) throw adsRefusals(errors)
  return next
}

/** Returns the default of `bid_strategy` for the objective and bid of a new line item (spec 4.6; the values are assumed). */
function defaultStrategy(objective: string, bid: unknown): string {
  if (bid === undefined || bid === null || objective === 'FOLLOWERS') return 'AUTO'
  return objective === 'REACH' ? 'TARGET' : 'MAX'
}

function checkCampaignLimit(call: Call<CampaignsState>, item: LineItem): void {
  const siblings = [...recordsOf(call, call.state.lineItems).values()].filter((one) => !one.deleted && one.campaign_id === item.campaign_id)
  if (siblings.length >= 100) throw adsRefusal('TOO_MANY_LINE_ITEMS', '100 line items in a campaign is the limit')
}

function checkActiveLimit(call: Call<CampaignsState>, next: LineItem): void {
  if (next.entity_status === 'ACTIVE' && countActive(recordsOf(call, call.state.lineItems)) >= 256)
    throw adsRefusal('TOO_MANY_LINE_ITEMS', '256 active line items in an account is the limit')
}
