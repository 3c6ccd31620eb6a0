/** Endpoints of campaigns and funding instruments (spec 4.8, docs/spec-notes.md#campaigns-and-line-items). */
import { sandboxOnly, type Endpoint } from './endpoint.ts'
import { budgetOptimizations, fundingTypes } from './campaignResources.ts'
import { idFilter, query, recordList, sentBySdks, withDeleted, searchableList } from './parameter.ts'
import { recordsOfAccount } from './recordEndpoints.ts'

const notes = 'docs/spec-notes.md#campaigns-and-line-items'

/** Parameters of creation and update. */
const campaignFields = [
  query('daily_budget_amount_local_micro', 'long', { min: 1, unsettable: true, source: notes }),
  query('total_budget_amount_local_micro', 'long', { min: 1, unsettable: true, source: notes }),
  query('entity_status', 'enum', { values: ['ACTIVE', 'PAUSED'], source: notes }),
  query('duration_in_days', 'integer', { min: 1, max: 30, unsettable: true, ...sentBySdks }),
  query('frequency_cap', 'integer', { min: 1, unsettable: true, ...sentBySdks }),
  query('standard_delivery', 'boolean', { unsettable: true, ...sentBySdks }),
] as const
const campaignRules = [{ kind: 'other', text: '`daily_budget_amount_local_micro` at most the total budget', source: notes }] as const

const campaigns = recordsOfAccount('campaigns', 'campaigns', 'campaign_id', 'campaign')
const fundingInstruments = recordsOfAccount('fundingInstruments', 'funding_instruments', 'funding_instrument_id', 'fundingInstrument')

export const campaignEndpoints = [
  {
    ...campaigns.list([idFilter('campaign_ids'), idFilter('funding_instrument_ids'), ...searchableList(notes)]),
    limit: 'core_reads',
    source: notes,
  },
  { ...campaigns.get([withDeleted]), limit: 'core_reads', source: notes },
  {
    ...campaigns.create([
      query('funding_instrument_id', 'string', { required: true, source: notes }),
      query('name', 'string', { required: true, maxLength: 255, source: notes }),
      query('budget_optimization', 'enum', { values: budgetOptimizations, default: 'CAMPAIGN', source: notes }),
      ...campaignFields,
    ]),
    rules: [...campaignRules, { kind: 'other', text: 'at most 200 active campaigns in an account', source: notes }],
    source: notes,
  },
  {
    ...campaigns.update([
      query('name', 'string', { minLength: 1, maxLength: 255, source: notes }),
      query('budget_optimization', 'enum', { values: budgetOptimizations, source: notes }),
      ...campaignFields,
    ]),
    rules: campaignRules,
    source: notes,
  },
  { ...campaigns.delete, source: notes },
  { ...fundingInstruments.list([idFilter('funding_instrument_ids'), ...recordList]), source: notes },
  { ...fundingInstruments.get([withDeleted]), source: notes },
  {
    ...fundingInstruments.create([
      query('currency', 'string', { required: true, minLength: 3, maxLength: 3, source: notes }),
      query('start_time', 'timestamp', { required: true, source: notes }),
      query('type', 'enum', { required: true, values: fundingTypes, source: notes }),
      query('end_time', 'timestamp', sentBySdks),
      query('credit_limit_local_micro', 'long', { min: 0, ...sentBySdks }),
      query('funded_amount_local_micro', 'long', { min: 0, ...sentBySdks }),
    ]),
    ...sandboxOnly,
    source: `${notes}: sandbox only`,
  },
  { ...fundingInstruments.delete, ...sandboxOnly, source: `${notes}: sandbox only` },
] as const satisfies readonly Endpoint[]
