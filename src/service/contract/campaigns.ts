/** Endpoints of campaigns and funding instruments (spec 4.8, docs/spec-notes.md#campaigns-and-line-items). */
import { createRequest, deleteRequest, readRequest, updateRequest, type Endpoint } from './endpoint.ts'
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

const account = '/12/accounts/:account_id'
const campaigns = 'docs/spec-notes.md#campaigns-and-line-items'
const funding = 'docs/spec-notes.md#campaigns-and-line-items'

const campaignFields = [
  query('budget_optimization', 'enum', { values: budgetOptimizations, default: 'CAMPAIGN', source: campaigns }),
  query('daily_budget_amount_local_micro', 'long', { min: 1, unsettable: true, source: campaigns }),
  query('total_budget_amount_local_micro', 'long', { min: 1, unsettable: true, source: campaigns }),
  query('entity_status', 'enum', { values: ['ACTIVE', 'PAUSED'], source: campaigns }),
] as const
/** Parameters of campaigns that official SDKs send too. */
const sdkFields = [
  query('duration_in_days', 'integer', { min: 1, max: 30, unsettable: true, ...sentBySdks }),
  query('frequency_cap', 'integer', { min: 1, unsettable: true, ...sentBySdks }),
  query('standard_delivery', 'boolean', { unsettable: true, ...sentBySdks }),
] as const
const campaignRules = [{ kind: 'other', text: '`daily_budget_amount_local_micro` at most the total budget', source: campaigns }] as const

export const campaignEndpoints = [
  {
    name: 'campaigns.list',
    ...readRequest,
    path: `${account}/campaigns`,
    parameters: [
      accountId,
      idFilter('campaign_ids'),
      idFilter('funding_instrument_ids'),
      count200,
      cursor,
      query('q', 'string', { maxLength: 255, source: campaigns }),
      sortBy,
      withDeleted,
      withTotalCount,
    ],
    list: list200,
    answer: { resource: 'campaign', many: true },
    limit: 'core_reads',
    source: campaigns,
  },
  {
    name: 'campaigns.get',
    ...readRequest,
    path: `${account}/campaigns/:campaign_id`,
    parameters: [accountId, path('campaign_id'), withDeleted],
    answer: { resource: 'campaign', many: false },
    limit: 'core_reads',
    source: campaigns,
  },
  {
    name: 'campaigns.create',
    ...createRequest,
    path: `${account}/campaigns`,
    parameters: [
      accountId,
      query('funding_instrument_id', 'string', { required: true, source: campaigns }),
      query('name', 'string', { required: true, maxLength: 255, source: campaigns }),
      ...campaignFields,
      ...sdkFields,
    ],
    rules: [...campaignRules, { kind: 'other', text: 'at most 200 active campaigns in an account', source: campaigns }],
    answer: { resource: 'campaign', many: false },
    source: campaigns,
  },
  {
    name: 'campaigns.update',
    ...updateRequest,
    path: `${account}/campaigns/:campaign_id`,
    parameters: [
      accountId,
      path('campaign_id'),
      query('name', 'string', { minLength: 1, maxLength: 255, source: campaigns }),
      query('budget_optimization', 'enum', { values: budgetOptimizations, source: campaigns }),
      campaignFields[1],
      campaignFields[2],
      campaignFields[3],
      ...sdkFields,
    ],
    rules: campaignRules,
    answer: { resource: 'campaign', many: false },
    source: campaigns,
  },
  {
    name: 'campaigns.delete',
    ...deleteRequest,
    path: `${account}/campaigns/:campaign_id`,
    parameters: [accountId, path('campaign_id')],
    answer: { resource: 'campaign', many: false },
    source: campaigns,
  },
  {
    name: 'fundingInstruments.list',
    ...readRequest,
    path: `${account}/funding_instruments`,
    parameters: [accountId, idFilter('funding_instrument_ids'), count200, cursor, sortBy, withDeleted, withTotalCount],
    list: list200,
    answer: { resource: 'fundingInstrument', many: true },
    source: funding,
  },
  {
    name: 'fundingInstruments.get',
    ...readRequest,
    path: `${account}/funding_instruments/:funding_instrument_id`,
    parameters: [accountId, path('funding_instrument_id'), withDeleted],
    answer: { resource: 'fundingInstrument', many: false },
    source: funding,
  },
  {
    name: 'fundingInstruments.create',
    method: 'POST',
    host: 'ads-sandbox',
    path: `${account}/funding_instruments`,
    auth: 'user',
    body: 'form',
    parameters: [
      accountId,
      query('currency', 'string', { required: true, minLength: 3, maxLength: 3, source: funding }),
      query('start_time', 'timestamp', { required: true, source: funding }),
      query('type', 'enum', { required: true, values: fundingTypes, source: funding }),
      query('end_time', 'timestamp', sentBySdks),
      query('credit_limit_local_micro', 'long', { min: 0, ...sentBySdks }),
      query('funded_amount_local_micro', 'long', { min: 0, ...sentBySdks }),
    ],
    answer: { resource: 'fundingInstrument', many: false },
    limit: 'sandbox_only',
    repeatable: false,
    source: `${funding}: sandbox only`,
  },
  {
    name: 'fundingInstruments.delete',
    method: 'DELETE',
    host: 'ads-sandbox',
    path: `${account}/funding_instruments/:funding_instrument_id`,
    auth: 'user',
    body: 'none',
    parameters: [accountId, path('funding_instrument_id')],
    answer: { resource: 'fundingInstrument', many: false },
    limit: 'sandbox_only',
    repeatable: true,
    source: `${funding}: sandbox only`,
  },
] as const satisfies readonly Endpoint[]
