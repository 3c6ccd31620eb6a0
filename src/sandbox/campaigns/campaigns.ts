/** Handles the endpoints of campaigns and funding instruments (docs/spec-notes.md#campaigns-and-line-items). */
import { creationFields, findRecord, recordHandlers, recordsOf } from '../accountRecords.ts'
import { accountOf, type Call, type Handler } from '../area.ts'
import { isCurrencyCode } from '../currencies.ts'
import { givenFields, longParam, textParam } from '../params.ts'
import { adsRefusal, adsRefusals, invalidParameter, ok } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { addToHistory } from './history.ts'
import { countActive, reasonsNotServable, type Campaign, type CampaignsState, type FundingInstrument } from './state.ts'

export const campaignHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  ...recordHandlers('campaigns', {
    table: (state: CampaignsState) => state.campaigns,
    idParameter: 'campaign_id',
    notFoundCode: 'CAMPAIGN_NOT_FOUND',
    filters: { campaign_ids: 'id', funding_instrument_ids: 'funding_instrument_id' },
    sortable: ['created_at', 'updated_at', 'name', 'daily_budget_amount_local_micro', 'total_budget_amount_local_micro'],
    toWire: campaignWire,
    onDeleted: (call, after) => addToHistory(call, { entity: 'CAMPAIGN', type: 'DELETE', after }),
  }),
  'campaigns.create': (call) => ok(campaignWire(call, createCampaign(call))),
  'campaigns.update': (call) => ok(campaignWire(call, updateCampaign(call))),
  ...recordHandlers('fundingInstruments', {
    table: (state: CampaignsState) => state.funding,
    idParameter: 'funding_instrument_id',
    notFoundCode: 'FUNDING_INSTRUMENT_NOT_FOUND',
    filters: { funding_instrument_ids: 'id' },
    sortable: ['created_at', 'updated_at', 'start_time', 'end_time', 'funded_amount_local_micro'],
  }),
  'fundingInstruments.create': (call) => ok(createFunding(call)),
}

/** Returns the campaign in wire form. Adds whether it can serve, why not, and its effective status. */
function campaignWire(call: Call<CampaignsState>, campaign: Campaign): Record<string, unknown> {
  const reasons = reasonsNotServable(call.state, accountOf(call).id, campaign)
  return {
    ...campaign,
    servable: reasons.length === 0,
    reasons_not_servable: reasons,
    effective_status: reasons.length === 0 ? 'RUNNING' : reasons[0] === 'PAUSED_BY_ADVERTISER' ? 'PAUSED' : reasons[0],
  }
}

/** Creates a campaign from the parameters of the call. @throws {Refusal} */
function createCampaign(call: Call<CampaignsState>): Campaign {
  const funding = findRecord(call, call.state.funding, 'funding_instrument_id', 'FUNDING_INSTRUMENT_NOT_FOUND')
  const defaults: Campaign = {
    id: '',
    name: '',
    funding_instrument_id: funding.id,
    entity_status: 'ACTIVE',
    budget_optimization: 'CAMPAIGN',
    daily_budget_amount_local_micro: null,
    total_budget_amount_local_micro: null,
    currency: funding.currency,
    standard_delivery: null,
    frequency_cap: null,
    duration_in_days: null,
    ...creationFields(call),
  }
  const checked = withGivenFields(call, defaults)
  checkActiveLimit(call, checked)
  const campaign = { ...checked, id: call.world.newShortId() }
  recordsOf(call, call.state.campaigns).set(campaign.id, campaign)
  addToHistory(call, { entity: 'CAMPAIGN', type: 'CREATE', after: campaign })
  return campaign
}

/** Writes the given parameters into the campaign of the parameter `campaign_id`. @throws {Refusal} */
function updateCampaign(call: Call<CampaignsState>): Campaign {
  const campaign = findRecord(call, call.state.campaigns, 'campaign_id', 'CAMPAIGN_NOT_FOUND')
  const campaignBefore = { ...campaign }
  const next = withGivenFields(call, campaign)
  if (campaign.entity_status !== 'ACTIVE') checkActiveLimit(call, next)
  Object.assign(campaign, next, { updated_at: isoSeconds(call.now) })
  addToHistory(call, { entity: 'CAMPAIGN', type: 'UPDATE', after: campaign, before: campaignBefore })
  return campaign
}

/** Returns a copy of the campaign with the given parameters. @throws {Refusal} if its daily budget is above its total budget */
function withGivenFields(call: Call<CampaignsState>, campaign: Campaign): Campaign {
  const next = { ...campaign, ...givenFields(call) }
  const { daily_budget_amount_local_micro: daily, total_budget_amount_local_micro: total } = next
  if (daily !== null && total !== null && daily > total)
    throw adsRefusals([invalidParameter('daily_budget_amount_local_micro', 'at most total_budget_amount_local_micro', daily)])
  return next
}

function checkActiveLimit(call: Call<CampaignsState>, next: Campaign): void {
  if (next.entity_status === 'ACTIVE' && countActive(recordsOf(call, call.state.campaigns)) >= 200)
    throw adsRefusal('TOO_MANY_CAMPAIGNS', '200 active campaigns in an account is the limit')
}

function createFunding(call: Call<CampaignsState>): FundingInstrument {
  const currency = String(call.params['currency'])
  if (!isCurrencyCode(currency))
    throw adsRefusals([{ ...invalidParameter('currency', 'an ISO 4217 code', currency), code: 'INVALID_DENOMINATION' }])
  const instrument: FundingInstrument = {
    id: call.world.newShortId(),
    type: String(call.params['type']),
    currency,
    able_to_fund: true,
    reasons_not_able_to_fund: [],
    funded_amount_local_micro: longParam(call, 'funded_amount_local_micro'),
    credit_limit_local_micro: longParam(call, 'credit_limit_local_micro'),
    start_time: String(call.params['start_time']),
    end_time: textParam(call, 'end_time'),
    ...creationFields(call),
  }
  recordsOf(call, call.state.funding).set(instrument.id, instrument)
  return instrument
}
