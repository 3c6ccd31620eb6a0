/** Endpoints of accounts, their apps, history and features (spec 2.5, 4.5; spec 5 rule 7). */
import { accountPath, createRequest, deleteRequest, readRequest, sandboxOnly, updateRequest, type Endpoint } from './endpoint.ts'
import { accountFeatures, historyEntities, industryTypes, listedFeatures } from './campaignResources.ts'
import { accountId, count200, cursor, idFilter, query, recordList, sortBy, withDeleted, withTotalCount } from './parameter.ts'
import { readMany } from './recordEndpoints.ts'

export const accountEndpoints = [
  {
    name: 'accounts.list',
    ...readRequest,
    path: '/12/accounts',
    parameters: [
      idFilter('account_ids'),
      count200,
      cursor,
      query('q', 'string', { source: 'spec 4.5: prefix on name' }),
      sortBy,
      withDeleted,
      withTotalCount,
    ],
    answer: { resource: 'account', many: true },
    limit: 'global_reads',
    source: 'spec 4.5',
  },
  {
    name: 'accounts.get',
    ...readRequest,
    path: accountPath,
    parameters: [accountId, withDeleted],
    answer: { resource: 'account', many: false },
    source: 'spec 4.5',
  },
  {
    name: 'accounts.create',
    ...createRequest,
    ...sandboxOnly,
    path: '/12/accounts',
    parameters: [],
    answer: { resource: 'account', many: true },
    source: 'spec 4.5: sandbox only; docs/spec-notes.md#echoes-and-cursors',
  },
  {
    name: 'accounts.update',
    ...updateRequest,
    path: accountPath,
    parameters: [
      accountId,
      query('name', 'string', { minLength: 1, source: 'spec 4.5' }),
      query('industry_type', 'enum', { values: industryTypes, source: 'spec 2.5' }),
    ],
    answer: { resource: 'account', many: false },
    source: 'spec 4.5',
  },
  {
    name: 'accounts.delete',
    ...deleteRequest,
    ...sandboxOnly,
    path: accountPath,
    parameters: [accountId],
    answer: { resource: 'account', many: false },
    source: 'spec 4.5: sandbox only',
  },
  { ...readMany('accountApps.list', 'account_apps', 'accountApp', [...recordList]), source: 'spec 4.5' },
  {
    ...readMany('accountHistory.list', 'account_history', 'accountHistoryEntry', [
      query('entity_type', 'enum', { required: true, values: historyEntities, source: 'spec 4.5' }),
      query('entity_id', 'string', { required: true, source: 'spec 4.5' }),
      query('start_time', 'hour', { required: true, source: 'spec 4.5; spec 8 account history times' }),
      query('end_time', 'hour', { required: true, source: 'spec 4.5; spec 8 account history times' }),
      count200,
      cursor,
      query('user_id', 'long', { source: 'spec 4.5' }),
    ]),
    rules: [{ kind: 'other', text: '`end_time` is later than `start_time`', source: 'spec 4.5' }],
    source: 'spec 4.5',
  },
  {
    ...readMany('features.list', 'features', 'feature', [
      query('feature_keys', 'csv-enum', { values: listedFeatures, source: 'spec 4.5' }),
    ]),
    source: 'spec 4.5',
  },
  {
    name: 'features.add',
    ...createRequest,
    ...sandboxOnly,
    path: `${accountPath}/features`,
    parameters: [accountId, query('feature_keys', 'csv-enum', { required: true, values: accountFeatures, source: 'spec 4.5' })],
    answer: { resource: 'feature', many: true },
    repeatable: true,
    source: 'spec 4.5: sandbox only',
  },
  {
    name: 'features.remove',
    ...deleteRequest,
    ...sandboxOnly,
    path: `${accountPath}/features`,
    parameters: [accountId, query('feature_keys', 'csv-enum', { required: true, values: accountFeatures, source: 'spec 4.5' })],
    answer: { resource: 'feature', many: true },
    source: 'docs/spec-notes.md#campaigns-and-line-items: sandbox DELETE `features`',
  },
] as const satisfies readonly Endpoint[]
