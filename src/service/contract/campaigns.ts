/** Endpoints of campaigns and funding instruments (spec 4.8, docs/spec-notes.md#campaigns-and-line-items). */
import { accountPath, createRequest, deleteRequest, readRequest, sandboxOnly, updateRequest, type Endpoint } from './endpoint.ts'
import { budgetOptimizations, fundingTypes } from './campaignResources.ts'
import {
  accountId,
  count200,
  cursor,
  idFilter,
  list200,
  path,
  query,
  sentBySdks,
  sortBy,
  withDeleted,
  withTotalCount,
} from './parameter.ts'

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
    name: 'campaigns.list',
    ...readRequest,
    path: `${accountPath}/campaigns`,
    parameters: [
      accountId,
      idFilter('campaign_ids'),
      idFilter('funding_instrument_ids'),
      count200,
      cursor,
      query('q', 'string', { maxLength: 255, source: notes }),
      sortBy,
      withDeleted,
      withTotalCount,
    ],
    list: list200,
    answer: { resource: 'campaign', many: true },
    limit: 'core_reads',
    source: notes,
  },
  {
    name: 'campaigns.get',
    ...readRequest,
    path: `${accountPath}/campaigns/:campaign_id`,
    parameters: [accountId, path('campaign_id'), withDeleted],
    answer: { resource: 'campaign', many: false },
    limit: 'core_reads',
    source: notes,
  },
  {
    name: 'campaigns.create',
    ...createRequest,
    path: `${accountPath}/campaigns`,
    parameters: [
      accountId,
      query('funding_instrument_id', 'string', { required: true, source: notes }),
      query('name', 'string', { required: true, maxLength: 255, source: notes }),
      query('budget_optimization', 'enum', { values: budgetOptimizations, default: 'CAMPAIGN', source: notes }),
      ...campaignFields,
    ],
    rules: [...campaignRules, { kind: 'other', text: 'at most 200 active campaigns in an account', source: notes }],
    answer: { resource: 'campaign', many: false },
    source: notes,
  },
  {
    name: 'campaigns.update',
    ...updateRequest,
    path: `${accountPath}/campaigns/:campaign_id`,
    parameters: [
      accountId,
      path('campaign_id'),
      query('name', 'string', { minLength: 1, maxLength: 255, source: notes }),
      query('budget_optimization', 'enum', { values: budgetOptimizations, source: notes }),
      ...campaignFields,
    ],
    rules: campaignRules,
    answer: { resource: 'campaign', many: false },
    source: notes,
  },
  {
    name: 'campaigns.delete',
    ...deleteRequest,
    path: `${accountPath}/campaigns/:campaign_id`,
    parameters: [accountId, path('campaign_id')],
    answer: { resource: 'campaign', many: false },
    source: notes,
  },
  {
    name: 'fundingInstruments.list',
    ...readRequest,
    path: `${accountPath}/funding_instruments`,
    parameters: [accountId, idFilter('funding_instrument_ids'), count200, cursor, sortBy, withDeleted, withTotalCount],
    list: list200,
    answer: { resource: 'fundingInstrument', many: true },
    source: notes,
  },
  {
    name: 'fundingInstruments.get',
    ...readRequest,
    path: `${accountPath}/funding_instruments/:funding_instrument_id`,
    parameters: [accountId, path('funding_instrument_id'), withDeleted],
    answer: { resource: 'fundingInstrument', many: false },
    source: notes,
  },
  {
    name: 'fundingInstruments.create',
    ...createRequest,
    ...sandboxOnly,
    path: `${accountPath}/funding_instruments`,
    parameters: [
      accountId,
      query('currency', 'string', { required: true, minLength: 3, maxLength: 3, source: notes }),
      query('start_time', 'timestamp', { required: true, source: notes }),
      query('type', 'enum', { required: true, values: fundingTypes, source: notes }),
      query('end_time', 'timestamp', sentBySdks),
      query('credit_limit_local_micro', 'long', { min: 0, ...sentBySdks }),
      query('funded_amount_local_micro', 'long', { min: 0, ...sentBySdks }),
    ],
    answer: { resource: 'fundingInstrument', many: false },
    source: `${notes}: sandbox only`,
  },
  {
    name: 'fundingInstruments.delete',
    ...deleteRequest,
    ...sandboxOnly,
    path: `${accountPath}/funding_instruments/:funding_instrument_id`,
    parameters: [accountId, path('funding_instrument_id')],
    answer: { resource: 'fundingInstrument', many: false },
    source: `${notes}: sandbox only`,
  },
] as const satisfies readonly Endpoint[]
