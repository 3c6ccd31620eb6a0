/**
 * Endpoints of custom audiences, permissions, do-not-reach lists and keyword insights (spec 4.3, 2.3; docs/spec-notes.md#audience-uploads).
 */
import { accountPath, createRequest, deleteRequest, readRequest, type Endpoint } from './endpoint.ts'
import { batchLimits } from './limits.ts'
import {
  accountId,
  body,
  count200,
  cursor,
  idFilter,
  path,
  query,
  recordList,
  sentBySdks,
  sortBy,
  withDeleted,
  withTotalCount,
  searchableList,
} from './parameter.ts'
import { recordsOfAccount } from './recordEndpoints.ts'

const audiencePath = `${accountPath}/custom_audiences/:custom_audience_id` as const
const permissionsPath = '/5/accounts/:account_id/tailored_audiences/:tailored_audience_id/permissions'
const permissionsAlias = `${audiencePath}/permissions` as const
/** Names of parameters on `permissionsAlias`, each with its name on `permissionsPath`. */
const aliasNames = {
  custom_audience_id: 'tailored_audience_id',
  custom_audience_permission_id: 'tailored_audience_permission_id',
  custom_audience_permission_ids: 'tailored_audience_permission_ids',
} as const
const audienceId = path('custom_audience_id')
const tailoredAudienceId = path('tailored_audience_id')
const listId = path('do_not_reach_list_id')

const spec43 = 'spec 4.3'
const notes = 'docs/spec-notes.md#custom-audiences'

/** Fields of each operation of an upload (spec 2.3). */
const operation = [
  body('operation_type', 'enum', { required: true, values: ['Update', 'Delete'], source: 'spec 4.3 rule 1' }),
  body('params', 'object', { required: true, source: 'spec 4.3 rule 1' }),
] as const

const audiences = recordsOfAccount('audiences', 'custom_audiences', 'custom_audience_id', 'customAudience')
const doNotReachLists = recordsOfAccount('doNotReachLists', 'do_not_reach_lists', 'do_not_reach_list_id', 'doNotReachList')

export const audienceEndpoints = [
  {
    name: 'keywords.search',
    ...readRequest,
    path: '/12/insights/keywords/search',
    parameters: [
      query('granularity', 'enum', { required: true, values: ['DAY', 'HOUR'], source: spec43 }),
      query('keywords', 'csv', { required: true, maxItems: 10, source: 'spec 4.3; spec 8' }),
      query('start_time', 'timestamp', { required: true, source: spec43 }),
      query('end_time', 'timestamp', { source: 'spec 4.3: default now' }),
      query('location', 'string', { source: spec43 }),
      query('negative_keywords', 'csv', { maxItems: 10, source: 'spec 4.3; spec 8' }),
    ],
    rules: [
      { kind: 'other', text: 'at most 10 in `keywords` and `negative_keywords` together', source: 'spec 8' },
      { kind: 'other', text: '`start_time` and `end_time` at most 7 days apart', source: 'spec 8' },
    ],
    answer: { resource: 'keywordInsights', many: false },
    limit: 'keyword_insights',
    source: spec43,
  },
  {
    name: 'audiencePermissions.list',
    ...readRequest,
    path: permissionsPath,
    aliases: [permissionsAlias],
    namesOnAliases: aliasNames,
    parameters: [
      accountId,
      tailoredAudienceId,
      count200,
      cursor,
      idFilter('granted_account_ids'),
      sortBy,
      idFilter('tailored_audience_permission_ids'),
      withTotalCount,
    ],
    answer: { resource: 'audiencePermission', many: true },
    source: spec43,
  },
  {
    name: 'audiencePermissions.create',
    ...createRequest,
    path: permissionsPath,
    aliases: [permissionsAlias],
    namesOnAliases: aliasNames,
    parameters: [
      accountId,
      tailoredAudienceId,
      query('granted_account_id', 'string', { required: true, source: spec43 }),
      query('permission_level', 'enum', { required: true, values: ['READ_ONLY', 'READ_WRITE'], source: spec43 }),
    ],
    rules: [
      { kind: 'other', text: 'sharing outside a business needs the feature SHARE_AUDIENCE_OUTSIDE_BUSINESS', source: 'spec 5 rule 7' },
    ],
    answer: { resource: 'audiencePermission', many: false },
    source: spec43,
  },
  {
    name: 'audiencePermissions.delete',
    ...deleteRequest,
    path: `${permissionsPath}/:tailored_audience_permission_id`,
    aliases: [`${permissionsAlias}/:custom_audience_permission_id`],
    namesOnAliases: aliasNames,
    parameters: [accountId, tailoredAudienceId, path('tailored_audience_permission_id')],
    answer: { resource: 'audiencePermission', many: false },
    repeatable: false,
    source: `${spec43}; spec 3.3`,
  },
  {
    ...audiences.list([
      idFilter('custom_audience_ids'),
      query('permission_scope', 'enum', { values: ['OWNER', 'SHARED'], ...sentBySdks }),
      ...searchableList(notes),
    ]),
    source: notes,
  },
  { ...audiences.get([withDeleted]), source: notes },
  {
    ...audiences.create([query('name', 'string', { required: true, source: notes }), query('description', 'string', { source: notes })]),
    rules: [{ kind: 'other', text: '`name` is unique in the account', source: notes }],
    source: notes,
  },
  {
    ...audiences.update([
      query('name', 'string', { minLength: 1, source: notes }),
      query('description', 'string', { unsettable: true, source: notes }),
    ]),
    rules: [{ kind: 'other', text: '`name` is unique in the account', source: notes }],
    source: notes,
  },
  { ...audiences.delete, repeatable: false, source: notes },
  {
    name: 'audiences.targeted',
    ...readRequest,
    path: `${audiencePath}/targeted`,
    parameters: [accountId, audienceId, query('with_active', 'boolean', { default: true, source: spec43 }), count200, cursor],
    answer: { resource: 'targetedCampaign', many: true },
    source: spec43,
  },
  {
    name: 'audiences.users',
    ...createRequest,
    path: `${audiencePath}/users`,
    body: 'json',
    bodyIs: 'array',
    bodyLimit: batchLimits.userOperations,
    parameters: [accountId, audienceId, ...operation],
    rules: [
      { kind: 'other', text: '`params.users` is required', source: 'spec 4.3 rule 1' },
      { kind: 'other', text: '`params.expires_at` is later than `params.effective_at`', source: 'spec 4.3 rule 2' },
      { kind: 'other', text: 'every identifier but partner_user_id is the SHA-256 of its normal form', source: 'spec 4.3 rule 3' },
      { kind: 'other', text: 'a batch succeeds or fails as a whole', source: 'spec 4.3 rule 4' },
    ],
    answer: { resource: 'batchResult', many: true },
    limit: 'user_lists',
    repeatable: true,
    source: spec43,
  },
  {
    name: 'audiences.estimate',
    ...createRequest,
    path: `${accountPath}/audience_estimate`,
    parameters: [accountId, body('targeting_criteria', 'array', { required: true, source: notes })],
    answer: { resource: 'audienceEstimate', many: false },
    body: 'json',
    bodyIs: 'object-or-array',
    repeatable: true,
    source: notes,
  },
  { ...doNotReachLists.list(recordList), source: notes },
  {
    ...doNotReachLists.create([query('description', 'string', { source: notes })]),
    rules: [{ kind: 'other', text: 'one list per account', source: 'docs/spec-notes.md#audience-uploads' }],
    source: notes,
  },
  { ...doNotReachLists.delete, repeatable: false, source: spec43 },
  {
    name: 'doNotReachLists.users',
    ...createRequest,
    path: '/12/batch/accounts/:account_id/do_not_reach_lists/:do_not_reach_list_id/users',
    body: 'json',
    bodyIs: 'array',
    bodyLimit: batchLimits.userOperations,
    parameters: [accountId, listId, ...operation],
    rules: [
      { kind: 'other', text: '`params.users` has only email and phone_number', source: 'spec 2.3' },
      {
        kind: 'other',
        text: '`params.expires_at` is later than now and under 13 months ahead; no `params.effective_at`',
        source: 'spec 4.3; docs/spec-notes.md#audience-uploads',
      },
    ],
    answer: { resource: 'batchResult', many: true },
    limit: 'user_lists',
    repeatable: true,
    source: spec43,
  },
] as const satisfies readonly Endpoint[]
