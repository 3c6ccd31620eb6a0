/** What stands around line items: campaigns, funding instruments, promoted tweets, targeting criteria, batches (gaps 8, behind spec 4.8). */
import type { Endpoint } from './endpoint.ts'
import { budgetOptimizations, fundingTypes, targetingOperators } from './campaignResources.ts'
import { accountId, body, count200, cursor, idFilter, list200, path, query, sortBy, withDeleted, withTotalCount } from './parameter.ts'

const account = '/12/accounts/:account_id'
const batch = '/12/batch/accounts/:account_id'
const campaigns = 'spec/gaps.md 8 campaigns'
const funding = 'spec/gaps.md 8 funding_instruments'
const promoted = 'spec/gaps.md 8 promoted_tweets'
const targeting = 'spec/gaps.md 8 targeting_criteria'

const campaignFields = [
  query('budget_optimization', 'enum', { values: budgetOptimizations, default: 'CAMPAIGN', source: campaigns }),
  query('daily_budget_amount_local_micro', 'long', { min: 1, unsettable: true, source: campaigns }),
  query('total_budget_amount_local_micro', 'long', { min: 1, unsettable: true, source: campaigns }),
  query('entity_status', 'enum', { values: ['ACTIVE', 'PAUSED'], source: campaigns }),
] as const
const campaignRules = [{ kind: 'other', text: '`daily_budget_amount_local_micro` at most the total budget', source: campaigns }] as const

/** Fields of each item of a batch body. */
const operation = [
  body('operation_type', 'enum', { required: true, values: ['Create', 'Update', 'Delete'], source: 'spec/gaps.md 8 batch' }),
  body('params', 'object', { required: true, source: 'spec/gaps.md 8 batch' }),
] as const

export const deliveryEndpoints = [
  {
    name: 'campaigns.list', method: 'GET', host: 'ads', path: `${account}/campaigns`, auth: 'user', body: 'none',
    parameters: [
      accountId, idFilter('campaign_ids'), idFilter('funding_instrument_ids'), count200, cursor, query('q', 'string', { maxLength: 255, source: campaigns }),
      sortBy, withDeleted, withTotalCount,
    ],
    list: list200, answer: { resource: 'campaign', many: true }, limit: 'core_reads', repeatable: true, source: campaigns,
  },
  {
    name: 'campaigns.get', method: 'GET', host: 'ads', path: `${account}/campaigns/:campaign_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('campaign_id'), withDeleted],
    answer: { resource: 'campaign', many: false }, limit: 'core_reads', repeatable: true, source: campaigns,
  },
  {
    name: 'campaigns.create', method: 'POST', host: 'ads', path: `${account}/campaigns`, auth: 'user', body: 'form',
    parameters: [
      accountId, query('funding_instrument_id', 'string', { required: true, source: campaigns }), query('name', 'string', { required: true, maxLength: 255, source: campaigns }),
      ...campaignFields,
    ],
    rules: [...campaignRules, { kind: 'other', text: '200 active campaigns an account', source: campaigns }],
    answer: { resource: 'campaign', many: false }, limit: 'ads_writes', repeatable: false, source: campaigns,
  },
  {
    name: 'campaigns.update', method: 'PUT', host: 'ads', path: `${account}/campaigns/:campaign_id`, auth: 'user', body: 'form',
    parameters: [
      accountId, path('campaign_id'), query('name', 'string', { minLength: 1, maxLength: 255, source: campaigns }),
      query('budget_optimization', 'enum', { values: budgetOptimizations, source: campaigns }), campaignFields[1], campaignFields[2], campaignFields[3],
    ],
    rules: campaignRules,
    answer: { resource: 'campaign', many: false }, limit: 'ads_writes', repeatable: true, source: campaigns,
  },
  {
    name: 'campaigns.delete', method: 'DELETE', host: 'ads', path: `${account}/campaigns/:campaign_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('campaign_id')],
    answer: { resource: 'campaign', many: false }, limit: 'ads_writes', repeatable: true, source: campaigns,
  },
  {
    name: 'fundingInstruments.list', method: 'GET', host: 'ads', path: `${account}/funding_instruments`, auth: 'user', body: 'none',
    parameters: [accountId, idFilter('funding_instrument_ids'), count200, cursor, sortBy, withDeleted, withTotalCount],
    list: list200, answer: { resource: 'fundingInstrument', many: true }, limit: 'account_reads', repeatable: true, source: funding,
  },
  {
    name: 'fundingInstruments.get', method: 'GET', host: 'ads', path: `${account}/funding_instruments/:funding_instrument_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('funding_instrument_id'), withDeleted],
    answer: { resource: 'fundingInstrument', many: false }, limit: 'account_reads', repeatable: true, source: funding,
  },
  {
    name: 'fundingInstruments.create', method: 'POST', host: 'ads-sandbox', path: `${account}/funding_instruments`, auth: 'user', body: 'form',
    parameters: [
      accountId, query('currency', 'string', { required: true, minLength: 3, maxLength: 3, source: funding }), query('start_time', 'timestamp', { required: true, source: funding }),
      query('type', 'enum', { required: true, values: fundingTypes, source: funding }),
    ],
    answer: { resource: 'fundingInstrument', many: false }, limit: 'sandbox_only', repeatable: false, source: `${funding}: sandbox only`,
  },
  {
    name: 'fundingInstruments.delete', method: 'DELETE', host: 'ads-sandbox', path: `${account}/funding_instruments/:funding_instrument_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('funding_instrument_id')],
    answer: { resource: 'fundingInstrument', many: false }, limit: 'sandbox_only', repeatable: true, source: `${funding}: sandbox only`,
  },
  {
    name: 'promotedTweets.list', method: 'GET', host: 'ads', path: `${account}/promoted_tweets`, auth: 'user', body: 'none',
    parameters: [accountId, idFilter('line_item_ids'), idFilter('promoted_tweet_ids'), count200, cursor, sortBy, withDeleted, withTotalCount],
    list: list200, answer: { resource: 'promotedTweet', many: true }, limit: 'account_reads', repeatable: true, source: promoted,
  },
  {
    name: 'promotedTweets.get', method: 'GET', host: 'ads', path: `${account}/promoted_tweets/:promoted_tweet_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('promoted_tweet_id'), withDeleted],
    answer: { resource: 'promotedTweet', many: false }, limit: 'account_reads', repeatable: true, source: promoted,
  },
  {
    name: 'promotedTweets.create', method: 'POST', host: 'ads', path: `${account}/promoted_tweets`, auth: 'user', body: 'form',
    parameters: [
      accountId, query('line_item_id', 'string', { required: true, source: promoted }), query('tweet_ids', 'csv', { required: true, maxItems: 50, source: `${promoted}: to 50` }),
    ],
    answer: { resource: 'promotedTweet', many: true }, limit: 'ads_writes', repeatable: false, source: promoted,
  },
  {
    name: 'promotedTweets.delete', method: 'DELETE', host: 'ads', path: `${account}/promoted_tweets/:promoted_tweet_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('promoted_tweet_id')],
    answer: { resource: 'promotedTweet', many: false }, limit: 'ads_writes', repeatable: true, source: promoted,
  },
  {
    name: 'targetingCriteria.list', method: 'GET', host: 'ads', path: `${account}/targeting_criteria`, auth: 'user', body: 'none',
    parameters: [
      accountId, query('line_item_ids', 'csv', { required: true, maxItems: 200, source: targeting }), count200, cursor, sortBy, withDeleted, withTotalCount,
    ],
    list: list200, answer: { resource: 'targetingCriterion', many: true }, limit: 'targeting_reads', repeatable: true, source: targeting,
  },
  {
    name: 'targetingCriteria.get', method: 'GET', host: 'ads', path: `${account}/targeting_criteria/:targeting_criterion_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('targeting_criterion_id'), withDeleted],
    answer: { resource: 'targetingCriterion', many: false }, limit: 'targeting_reads', repeatable: true, source: targeting,
  },
  {
    name: 'targetingCriteria.create', method: 'POST', host: 'ads', path: `${account}/targeting_criteria`, auth: 'user', body: 'form',
    parameters: [
      accountId, query('line_item_id', 'string', { required: true, source: targeting }), query('targeting_type', 'string', { required: true, source: targeting }),
      query('targeting_value', 'string', { required: true, source: targeting }),
      query('operator_type', 'enum', { values: targetingOperators, default: 'EQ', source: targeting }),
    ],
    answer: { resource: 'targetingCriterion', many: false }, limit: 'ads_writes', repeatable: false, source: targeting,
  },
  {
    name: 'targetingCriteria.delete', method: 'DELETE', host: 'ads', path: `${account}/targeting_criteria/:targeting_criterion_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('targeting_criterion_id')],
    answer: { resource: 'targetingCriterion', many: false }, limit: 'ads_writes', repeatable: true, source: targeting,
  },
  {
    name: 'campaigns.batch', method: 'POST', host: 'ads', path: `${batch}/campaigns`, auth: 'user', body: 'json', bodyIs: 'array', bodyLimit: { entries: 40 },
    parameters: [accountId, ...operation],
    rules: [{ kind: 'other', text: 'the body is an array of at most 40 `{operation_type, params}`; all or nothing', source: 'spec/gaps.md 8 batch' }],
    answer: { resource: 'campaign', many: true }, limit: 'ads_writes', repeatable: false, source: 'spec/gaps.md 8 batch',
  },
  {
    name: 'lineItems.batch', method: 'POST', host: 'ads', path: `${batch}/line_items`, auth: 'user', body: 'json', bodyIs: 'array', bodyLimit: { entries: 40 },
    parameters: [accountId, ...operation],
    rules: [{ kind: 'other', text: 'the body is an array of at most 40 `{operation_type, params}`; all or nothing', source: 'spec/gaps.md 8 batch' }],
    answer: { resource: 'lineItem', many: true }, limit: 'ads_writes', repeatable: false, source: 'spec/gaps.md 8 batch',
  },
  {
    name: 'targetingCriteria.batch', method: 'POST', host: 'ads', path: `${batch}/targeting_criteria`, auth: 'user', body: 'json', bodyIs: 'array', bodyLimit: { entries: 500 },
    parameters: [accountId, ...operation],
    rules: [{ kind: 'other', text: 'the body is an array of at most 500 `{operation_type, params}`; all or nothing', source: 'spec/gaps.md 8 batch' }],
    answer: { resource: 'targetingCriterion', many: true }, limit: 'ads_writes', repeatable: false, source: 'spec/gaps.md 8 batch',
  },
] as const satisfies readonly Endpoint[]
