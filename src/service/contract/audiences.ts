/** Keyword insights, sharing permissions, custom audiences, user lists and do-not-reach lists (spec 4.3, 2.3; spec/gaps.md 5, 7, 8). */
import type { Endpoint } from './endpoint.ts'
import { accountId, body, count200, cursor, idFilter, list200, path, query, sortBy, withDeleted, withTotalCount } from './parameter.ts'

const account = '/12/accounts/:account_id'
const audience = `${account}/custom_audiences/:custom_audience_id` as const
const permissions = '/5/accounts/:account_id/tailored_audiences/:tailored_audience_id/permissions'
const permissionsToday = `${account}/custom_audiences/:tailored_audience_id/permissions` as const
const audienceId = path('custom_audience_id')
const tailoredAudienceId = path('tailored_audience_id')
const listId = path('do_not_reach_list_id')

const spec43 = 'spec 4.3'
const gaps8 = 'spec/gaps.md 8 custom_audiences'
const gaps8lists = 'spec/gaps.md 8 do_not_reach_lists'

/** Fields of each entry of the array (spec 2.3 'User-list operation item'). */
const operation = [
  body('operation_type', 'enum', { required: true, values: ['Update', 'Delete'], source: 'spec 4.3 rule 1' }),
  body('params', 'object', { required: true, source: 'spec 4.3 rule 1' }),
] as const

const userListLimit = { entries: 2_500, bytes: 5_000_000 } as const

export const audienceEndpoints = [
  {
    name: 'keywords.search', method: 'GET', host: 'ads', path: '/12/insights/keywords/search', auth: 'user', body: 'none',
    parameters: [
      query('granularity', 'enum', { required: true, values: ['DAY', 'HOUR'], source: spec43 }),
      query('keywords', 'csv', { required: true, maxItems: 10, source: 'spec 4.3; spec 8' }),
      query('start_time', 'timestamp', { required: true, source: spec43 }),
      query('end_time', 'timestamp', { source: 'spec 4.3: default now' }),
      query('location', 'string', { source: spec43 }),
      query('negative_keywords', 'csv', { maxItems: 10, source: 'spec 4.3; spec 8' }),
    ],
    rules: [
      { kind: 'other', text: 'at most 10 keywords in total, positive plus negative', source: 'spec 8' },
      { kind: 'other', text: 'start_time and end_time at most 7 days apart', source: 'spec 8' },
    ],
    answer: { resource: 'keywordInsights', many: false }, limit: 'keyword_insights', repeatable: true, source: spec43,
  },
  {
    name: 'audiencePermissions.list', method: 'GET', host: 'ads', path: permissions, aliases: [permissionsToday], auth: 'user', body: 'none',
    parameters: [
      accountId, tailoredAudienceId, count200, cursor, idFilter('granted_account_ids'), sortBy, idFilter('tailored_audience_permission_ids'), withTotalCount,
    ],
    list: list200, answer: { resource: 'audiencePermission', many: true }, limit: 'account_reads', repeatable: true, source: spec43,
  },
  {
    name: 'audiencePermissions.create', method: 'POST', host: 'ads', path: permissions, aliases: [permissionsToday], auth: 'user', body: 'form',
    parameters: [
      accountId, tailoredAudienceId, query('granted_account_id', 'string', { required: true, source: spec43 }),
      query('permission_level', 'enum', { required: true, values: ['READ_ONLY', 'READ_WRITE'], source: spec43 }),
    ],
    rules: [{ kind: 'other', text: 'sharing outside a business needs the feature SHARE_AUDIENCE_OUTSIDE_BUSINESS', source: 'spec 5 rule 7' }],
    answer: { resource: 'audiencePermission', many: false }, limit: 'ads_writes', repeatable: false, source: spec43,
  },
  {
    name: 'audiencePermissions.delete', method: 'DELETE', host: 'ads', path: `${permissions}/:tailored_audience_permission_id`,
    aliases: [`${permissionsToday}/:tailored_audience_permission_id`], auth: 'user', body: 'none',
    parameters: [accountId, tailoredAudienceId, path('tailored_audience_permission_id')],
    answer: { resource: 'audiencePermission', many: false }, limit: 'ads_writes', repeatable: false, source: `${spec43}; spec 3.3`,
  },
  {
    name: 'audiences.list', method: 'GET', host: 'ads', path: `${account}/custom_audiences`, auth: 'user', body: 'none',
    parameters: [accountId, idFilter('custom_audience_ids'), count200, cursor, query('q', 'string', { maxLength: 255, source: gaps8 }), sortBy, withDeleted, withTotalCount],
    list: list200, answer: { resource: 'customAudience', many: true }, limit: 'account_reads', repeatable: true, source: gaps8,
  },
  {
    name: 'audiences.get', method: 'GET', host: 'ads', path: audience, auth: 'user', body: 'none',
    parameters: [accountId, audienceId, withDeleted],
    answer: { resource: 'customAudience', many: false }, limit: 'account_reads', repeatable: true, source: gaps8,
  },
  {
    name: 'audiences.create', method: 'POST', host: 'ads', path: `${account}/custom_audiences`, auth: 'user', body: 'form',
    parameters: [accountId, query('name', 'string', { required: true, source: gaps8 }), query('description', 'string', { source: gaps8 })],
    rules: [{ kind: 'other', text: 'name is unique in the account', source: gaps8 }],
    answer: { resource: 'customAudience', many: false }, limit: 'ads_writes', repeatable: false, source: gaps8,
  },
  {
    name: 'audiences.update', method: 'PUT', host: 'ads', path: audience, auth: 'user', body: 'form',
    parameters: [accountId, audienceId, query('name', 'string', { source: gaps8 }), query('description', 'string', { unsettable: true, source: gaps8 })],
    rules: [{ kind: 'other', text: 'name is unique in the account', source: gaps8 }],
    answer: { resource: 'customAudience', many: false }, limit: 'ads_writes', repeatable: true, source: gaps8,
  },
  {
    name: 'audiences.delete', method: 'DELETE', host: 'ads', path: audience, auth: 'user', body: 'none',
    parameters: [accountId, audienceId],
    answer: { resource: 'customAudience', many: false }, limit: 'ads_writes', repeatable: false, source: gaps8,
  },
  {
    name: 'audiences.targeted', method: 'GET', host: 'ads', path: `${audience}/targeted`, auth: 'user', body: 'none',
    parameters: [accountId, audienceId, query('with_active', 'boolean', { default: true, source: spec43 }), count200, cursor],
    list: list200, answer: { resource: 'targetedCampaign', many: true }, limit: 'account_reads', repeatable: true, source: spec43,
  },
  {
    name: 'audiences.users', method: 'POST', host: 'ads', path: `${audience}/users`, auth: 'user', body: 'json', bodyIs: 'array', bodyLimit: userListLimit,
    parameters: [accountId, audienceId, ...operation],
    rules: [
      { kind: 'other', text: 'params.users is required', source: 'spec 4.3 rule 1' },
      { kind: 'other', text: 'params.expires_at is later than params.effective_at', source: 'spec 4.3 rule 2' },
      { kind: 'other', text: 'every identifier but partner_user_id is the SHA-256 of its normal form', source: 'spec 4.3 rule 3' },
      { kind: 'other', text: 'a batch succeeds or fails as a whole', source: 'spec 4.3 rule 4' },
    ],
    answer: { resource: 'batchResult', many: true }, limit: 'user_lists', repeatable: true, source: spec43,
  },
  {
    name: 'audiences.estimate', method: 'POST', host: 'ads', path: `${account}/audience_estimate`, auth: 'user', body: 'json', bodyIs: 'object-or-array',
    parameters: [accountId, body('targeting_criteria', 'array', { required: true, source: 'spec/gaps.md 8 audience_estimate' })],
    answer: { resource: 'audienceEstimate', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec/gaps.md 8 audience_estimate',
  },
  {
    name: 'doNotReachLists.list', method: 'GET', host: 'ads', path: `${account}/do_not_reach_lists`, auth: 'user', body: 'none',
    parameters: [accountId, count200, cursor, sortBy, withDeleted, withTotalCount],
    list: list200, answer: { resource: 'doNotReachList', many: true }, limit: 'account_reads', repeatable: true, source: gaps8lists,
  },
  {
    name: 'doNotReachLists.create', method: 'POST', host: 'ads', path: `${account}/do_not_reach_lists`, auth: 'user', body: 'form',
    parameters: [accountId, query('description', 'string', { source: gaps8lists })],
    rules: [{ kind: 'other', text: 'one list per account', source: 'spec/gaps.md 5 Do-not-reach' }],
    answer: { resource: 'doNotReachList', many: false }, limit: 'ads_writes', repeatable: false, source: gaps8lists,
  },
  {
    name: 'doNotReachLists.delete', method: 'DELETE', host: 'ads', path: `${account}/do_not_reach_lists/:do_not_reach_list_id`, auth: 'user', body: 'none',
    parameters: [accountId, listId],
    answer: { resource: 'doNotReachList', many: false }, limit: 'ads_writes', repeatable: false, source: spec43,
  },
  {
    name: 'doNotReachLists.users', method: 'POST', host: 'ads', path: '/12/batch/accounts/:account_id/do_not_reach_lists/:do_not_reach_list_id/users', auth: 'user', body: 'json',
    bodyIs: 'array', bodyLimit: userListLimit,
    parameters: [accountId, listId, ...operation],
    rules: [
      { kind: 'other', text: 'params.users holds email and phone_number only', source: 'spec 2.3' },
      { kind: 'other', text: 'params.expires_at is later than now and under 13 months ahead; no params.effective_at', source: 'spec 4.3; spec/gaps.md 5 Do-not-reach' },
    ],
    answer: { resource: 'batchResult', many: true }, limit: 'user_lists', repeatable: true, source: spec43,
  },
] as const satisfies readonly Endpoint[]
