/**
 * Endpoints of statistics, of jobs that write statistics to a file, and of active entities. Outside the specification: official SDKs call
 * them.
 */
import { createRequest, deleteRequest, readRequest, type Endpoint } from './endpoint.ts'
import { accountId, count200, cursor, idFilter, longPath, path, query, sentBySdks } from './parameter.ts'
import { granularities, metricGroups, statisticsEntities, statisticsPlacements } from './outsideResources.ts'

const source = 'outside the specification: official SDKs read it'
const shared = { host: 'ads', auth: 'user', outsideSpec: true, source } as const

const period = [
  query('start_time', 'hour', { required: true, ...sentBySdks }),
  query('end_time', 'hour', { required: true, ...sentBySdks }),
] as const
/** Parameters that select statistics. */
const selection = [
  accountId,
  query('entity', 'enum', { required: true, values: statisticsEntities, ...sentBySdks }),
  query('entity_ids', 'csv', { required: true, maxItems: 20, ...sentBySdks }),
  ...period,
  query('granularity', 'enum', { required: true, values: granularities, ...sentBySdks }),
  query('metric_groups', 'csv-enum', { required: true, values: metricGroups, ...sentBySdks }),
  query('placement', 'enum', { required: true, values: statisticsPlacements, ...sentBySdks }),
] as const

export const statisticsEndpoints = [
  {
    name: 'statistics.get',
    ...readRequest,
    path: '/12/stats/accounts/:account_id',
    parameters: selection,
    rules: [{ kind: 'other', text: '`start_time` and `end_time` at most 7 days apart', source }],
    answer: { resource: 'statistics', many: true },
    ...shared,
  },
  {
    name: 'activeEntities.list',
    ...readRequest,
    path: '/12/stats/accounts/:account_id/active_entities',
    parameters: [
      accountId,
      query('entity', 'enum', { required: true, values: statisticsEntities, ...sentBySdks }),
      ...period,
      idFilter('campaign_ids'),
      idFilter('funding_instrument_ids'),
      idFilter('line_item_ids'),
    ],
    rules: [{ kind: 'other', text: '`start_time` and `end_time` at most 90 days apart', source }],
    answer: { resource: 'activeEntity', many: true },
    ...shared,
  },
  {
    name: 'statisticsJobs.create',
    ...createRequest,
    path: '/12/stats/jobs/accounts/:account_id',
    parameters: [
      ...selection,
      query('country', 'string', sentBySdks),
      query('platform', 'string', sentBySdks),
      query('segmentation_type', 'string', sentBySdks),
    ],
    rules: [{ kind: 'other', text: '`start_time` and `end_time` at most 90 days apart', source }],
    answer: { resource: 'statisticsJob', many: false },
    ...shared,
  },
  {
    name: 'statisticsJobs.list',
    ...readRequest,
    path: '/12/stats/jobs/accounts/:account_id',
    parameters: [accountId, idFilter('job_ids'), count200, cursor],
    answer: { resource: 'statisticsJob', many: true },
    ...shared,
  },
  {
    name: 'statisticsJobs.delete',
    ...deleteRequest,
    path: '/12/stats/jobs/accounts/:account_id/:job_id',
    parameters: [accountId, longPath('job_id')],
    answer: { resource: 'statisticsJob', many: false },
    ...shared,
  },
  {
    name: 'statisticsJobs.file',
    method: 'GET',
    path: '/12/stats/files/:file',
    body: 'none',
    parameters: [path('file')],
    answer: { resource: 'statistics', many: true },
    gzipped: true,
    limit: 'global_reads',
    repeatable: true,
    ...shared,
    auth: 'browser',
    source: 'outside the specification: the gzipped file of a finished job; its request is not signed',
  },
] as const satisfies readonly Endpoint[]
