/** Endpoints of campaigns and funding instruments (spec 4.8, docs/spec-notes.md#campaigns-and-line-items). */
import { sandboxOnly, type Endpoint } from './endpoint.ts'
import { budgetOptimizations, fundingTypes } from './campaignResources.ts'
import { count200, cursor, idFilter, query, recordList, sentBySdks, sortBy, withDeleted, withTotalCount } from './parameter.ts'
import { createOne, deleteOne, readMany, readOne, updateOne } from './recordEndpoints.ts'

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

export const campaignEndpoints = [
  {
    ...readMany('campaigns.list', 'campaigns', 'campaign', [
      idFilter('campaign_ids'),
      idFilter('funding_instrument_ids'),
      count200,
      cursor,
      query('q', 'string', { maxLength: 255, source: notes }),
      sortBy,
      withDeleted,
      withTotalCount,
    ]),
    limit: 'core_reads',
    source: notes,
  },
  { ...readOne('campaigns.get', 'campaigns', 'campaign_id', 'campaign'), limit: 'core_reads', source: notes },
  {
    ...createOne('campaigns.create', 'campaigns', 'campaign', [
      query('funding_instrument_id', 'string', { required: true, source: notes }),
      query('name', 'string', { required: true, maxLength: 255, source: notes }),
      query('budget_optimization', 'enum', { values: budgetOptimizations, default: 'CAMPAIGN', source: notes }),
      ...campaignFields,
    ]),
    rules: [...campaignRules, { kind: 'other', text: 'at most 200 active campaigns in an account', source: notes }],
    source: notes,
  },
  {
    ...updateOne('campaigns.update', 'campaigns', 'campaign_id', 'campaign', [
      query('name', 'string', { minLength: 1, maxLength: 255, source: notes }),
      query('budget_optimization', 'enum', { values: budgetOptimizations, source: notes }),
      ...campaignFields,
    ]),
    rules: campaignRules,
    source: notes,
  },
  { ...deleteOne('campaigns.delete', 'campaigns', 'campaign_id', 'campaign'), source: notes },
  {
    ...readMany('fundingInstruments.list', 'funding_instruments', 'fundingInstrument', [idFilter('funding_instrument_ids'), ...recordList]),
    source: notes,
  },
  { ...readOne('fundingInstruments.get', 'funding_instruments', 'funding_instrument_id', 'fundingInstrument'), source: notes },
  {
    ...createOne('fundingInstruments.create', 'funding_instruments', 'fundingInstrument', [
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
  {
    ...deleteOne('fundingInstruments.delete', 'funding_instruments', 'funding_instrument_id', 'fundingInstrument'),
    ...sandboxOnly,
    source: `${notes}: sandbox only`,
  },
] as const satisfies readonly Endpoint[]
