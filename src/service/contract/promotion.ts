/** Endpoints of promoted tweets and targeting criteria of line items (spec 4.8, docs/spec-notes.md#promotion-and-targeting). */
import { createRequest, deleteRequest, readRequest, type Endpoint } from './endpoint.ts'
import { locationTypes, targetingOperators } from './campaignResources.ts'
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
const promoted = 'docs/spec-notes.md#promotion-and-targeting'
const targeting = 'docs/spec-notes.md#promotion-and-targeting'

export const promotionEndpoints = [
  {
    name: 'promotedTweets.list',
    ...readRequest,
    path: `${account}/promoted_tweets`,
    parameters: [
      accountId,
      idFilter('line_item_ids'),
      idFilter('promoted_tweet_ids'),
      count200,
      cursor,
      sortBy,
      withDeleted,
      withTotalCount,
    ],
    list: list200,
    answer: { resource: 'promotedTweet', many: true },
    source: promoted,
  },
  {
    name: 'promotedTweets.get',
    ...readRequest,
    path: `${account}/promoted_tweets/:promoted_tweet_id`,
    parameters: [accountId, path('promoted_tweet_id'), withDeleted],
    answer: { resource: 'promotedTweet', many: false },
    source: promoted,
  },
  {
    name: 'promotedTweets.create',
    ...createRequest,
    path: `${account}/promoted_tweets`,
    parameters: [
      accountId,
      query('line_item_id', 'string', { required: true, source: promoted }),
      query('tweet_ids', 'csv', { required: true, maxItems: 50, source: `${promoted}: to 50` }),
    ],
    answer: { resource: 'promotedTweet', many: true },
    source: promoted,
  },
  {
    name: 'promotedTweets.delete',
    ...deleteRequest,
    path: `${account}/promoted_tweets/:promoted_tweet_id`,
    parameters: [accountId, path('promoted_tweet_id')],
    answer: { resource: 'promotedTweet', many: false },
    source: promoted,
  },
  {
    name: 'targetingCriteria.list',
    ...readRequest,
    path: `${account}/targeting_criteria`,
    parameters: [
      accountId,
      query('line_item_ids', 'csv', { required: true, maxItems: 200, source: targeting }),
      query('targeting_criterion_ids', 'csv', { maxItems: 200, ...sentBySdks }),
      count200,
      cursor,
      sortBy,
      withDeleted,
      withTotalCount,
    ],
    list: list200,
    answer: { resource: 'targetingCriterion', many: true },
    limit: 'targeting_reads',
    source: targeting,
  },
  {
    name: 'targetingCriteria.get',
    ...readRequest,
    path: `${account}/targeting_criteria/:targeting_criterion_id`,
    parameters: [accountId, path('targeting_criterion_id'), withDeleted],
    answer: { resource: 'targetingCriterion', many: false },
    limit: 'targeting_reads',
    source: targeting,
  },
  {
    name: 'targetingCriteria.create',
    ...createRequest,
    path: `${account}/targeting_criteria`,
    parameters: [
      accountId,
      query('line_item_id', 'string', { required: true, source: targeting }),
      query('targeting_type', 'string', { required: true, source: targeting }),
      query('targeting_value', 'string', { required: true, source: targeting }),
      query('operator_type', 'enum', { values: targetingOperators, default: 'EQ', source: targeting }),
      query('location_type', 'enum', { values: locationTypes, ...sentBySdks }),
      query('custom_audience_expansion', 'boolean', sentBySdks),
      query('tailored_audience_expansion', 'boolean', sentBySdks),
      query('tailored_audience_type', 'string', sentBySdks),
    ],
    answer: { resource: 'targetingCriterion', many: false },
    source: targeting,
  },
  {
    name: 'targetingCriteria.delete',
    ...deleteRequest,
    path: `${account}/targeting_criteria/:targeting_criterion_id`,
    parameters: [accountId, path('targeting_criterion_id')],
    answer: { resource: 'targetingCriterion', many: false },
    source: targeting,
  },
] as const satisfies readonly Endpoint[]
