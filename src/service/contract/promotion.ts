/** Endpoints of promoted tweets and targeting criteria of line items (spec 4.8, docs/spec-notes.md#promotion-and-targeting). */
import { accountPath, createRequest, type Endpoint } from './endpoint.ts'
import { locationTypes, targetingOperators } from './campaignResources.ts'
import { accountId, idFilter, query, recordList, sentBySdks } from './parameter.ts'
import { createOne, deleteOne, readMany, readOne } from './recordEndpoints.ts'

const notes = 'docs/spec-notes.md#promotion-and-targeting'

export const promotionEndpoints = [
  {
    ...readMany('promotedTweets.list', 'promoted_tweets', 'promotedTweet', [
      idFilter('line_item_ids'),
      idFilter('promoted_tweet_ids'),
      ...recordList,
    ]),
    source: notes,
  },
  { ...readOne('promotedTweets.get', 'promoted_tweets', 'promoted_tweet_id', 'promotedTweet'), source: notes },
  {
    name: 'promotedTweets.create',
    ...createRequest,
    path: `${accountPath}/promoted_tweets`,
    parameters: [
      accountId,
      query('line_item_id', 'string', { required: true, source: notes }),
      query('tweet_ids', 'csv', { required: true, maxItems: 50, source: `${notes}: to 50` }),
    ],
    answer: { resource: 'promotedTweet', many: true },
    source: notes,
  },
  { ...deleteOne('promotedTweets.delete', 'promoted_tweets', 'promoted_tweet_id', 'promotedTweet'), source: notes },
  {
    ...readMany('targetingCriteria.list', 'targeting_criteria', 'targetingCriterion', [
      query('line_item_ids', 'csv', { required: true, maxItems: 200, source: notes }),
      query('targeting_criterion_ids', 'csv', { maxItems: 200, ...sentBySdks }),
      ...recordList,
    ]),
    limit: 'targeting_reads',
    source: notes,
  },
  {
    ...readOne('targetingCriteria.get', 'targeting_criteria', 'targeting_criterion_id', 'targetingCriterion'),
    limit: 'targeting_reads',
    source: notes,
  },
  {
    ...createOne('targetingCriteria.create', 'targeting_criteria', 'targetingCriterion', [
      query('line_item_id', 'string', { required: true, source: notes }),
      query('targeting_type', 'string', { required: true, source: notes }),
      query('targeting_value', 'string', { required: true, source: notes }),
      query('operator_type', 'enum', { values: targetingOperators, default: 'EQ', source: notes }),
      query('location_type', 'enum', { values: locationTypes, ...sentBySdks }),
      query('custom_audience_expansion', 'boolean', sentBySdks),
      query('tailored_audience_expansion', 'boolean', sentBySdks),
      query('tailored_audience_type', 'string', sentBySdks),
    ]),
    source: notes,
  },
  { ...deleteOne('targetingCriteria.delete', 'targeting_criteria', 'targeting_criterion_id', 'targetingCriterion'), source: notes },
] as const satisfies readonly Endpoint[]
