/** Endpoints of accounts, their apps, history and features (spec 2.5, 4.5; spec 5 rule 7). */
import { accountPath, createRequest, deleteRequest, readRequest, sandboxOnly, type Endpoint } from './endpoint.ts'
import { accountFeatures, historyEntities, industryTypes, listedFeatures } from './campaignResources.ts'
import { accountId, count200, cursor, idFilter, query, recordList, sortBy, withDeleted, withTotalCount } from './parameter.ts'
import { recordsBelow } from './recordEndpoints.ts'

const accounts = recordsBelow('/12', [])('accounts', 'accounts', 'account_id', 'account')

export const accountEndpoints = [
  {
    ...accounts.list([
      idFilter('account_ids'),
      count200,
      cursor,
      query('q', 'string', { source: 'spec 4.5: prefix on name' }),
      sortBy,
      withDeleted,
      withTotalCount,
    ]),
    limit: 'global_reads',
    source: 'spec 4.5',
  },
  { ...accounts.get([withDeleted]), source: 'spec 4.5' },
  {
    ...accounts.create([]),
    ...sandboxOnly,
    answer: { resource: 'account', many: true },
    source: 'spec 4.5: sandbox only; docs/spec-notes.md#echoes-and-cursors',
  },
  {
    ...accounts.update([
      query('name', 'string', { minLength: 1, source: 'spec 4.5' }),
      query('industry_type', 'enum', { values: industryTypes, source: 'spec 2.5' }),
    ]),
    source: 'spec 4.5',
  },
  { ...accounts.delete, ...sandboxOnly, source: 'spec 4.5: sandbox only' },
  {
    name: 'accountApps.list',
    ...readRequest,
    path: `${accountPath}/account_apps`,
    parameters: [accountId, ...recordList],
    answer: { resource: 'accountApp', many: true },
    source: 'spec 4.5',
  },
  {
    name: 'accountHistory.list',
    ...readRequest,
    path: `${accountPath}/account_history`,
    parameters: [
      accountId,
      query('entity_type', 'enum', { required: true, values: historyEntities, source: 'spec 4.5' }),
      query('entity_id', 'string', { required: true, source: 'spec 4.5' }),
      query('start_time', 'hour', { required: true, source: 'spec 4.5; spec 8 account history times' }),
      query('end_time', 'hour', { required: true, source: 'spec 4.5; spec 8 account history times' }),
      count200,
      cursor,
      query('user_id', 'long', { source: 'spec 4.5' }),
    ],
    answer: { resource: 'accountHistoryEntry', many: true },
    rules: [{ kind: 'other', text: '`end_time` is later than `start_time`', source: 'spec 4.5' }],
    source: 'spec 4.5',
  },
  {
    name: 'features.list',
    ...readRequest,
    path: `${accountPath}/features`,
    parameters: [accountId, query('feature_keys', 'csv-enum', { values: listedFeatures, source: 'spec 4.5' })],
    answer: { resource: 'feature', many: true },
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
