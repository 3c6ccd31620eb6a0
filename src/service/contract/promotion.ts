/** Endpoints of promoted tweets and targeting criteria of line items (spec 4.8, docs/spec-notes.md#promotion-and-targeting). */
import type { Endpoint } from './endpoint.ts'
import { locationTypes, targetingOperators } from './campaignResources.ts'
import { idFilter, query, recordList, sentBySdks, withDeleted } from './parameter.ts'
import { recordsOfAccount } from './recordEndpoints.ts'

const notes = 'docs/spec-notes.md#promotion-and-targeting'

const promotedTweets = recordsOfAccount('promotedTweets', 'promoted_tweets', 'promoted_tweet_id', 'promotedTweet')
const targetingCriteria = recordsOfAccount('targetingCriteria', 'targeting_criteria', 'targeting_criterion_id', 'targetingCriterion')

export const promotionEndpoints = [
  { ...promotedTweets.list([idFilter('line_item_ids'), idFilter('promoted_tweet_ids'), ...recordList]), source: notes },
  { ...promotedTweets.get([withDeleted]), source: notes },
  {
    ...promotedTweets.create([
      query('line_item_id', 'string', { required: true, source: notes }),
      query('tweet_ids', 'csv', { required: true, maxItems: 50, source: `${notes}: to 50` }),
    ]),
    answer: { resource: 'promotedTweet', many: true },
    source: notes,
  },
  { ...promotedTweets.delete, source: notes },
  {
    ...targetingCriteria.list([
      query('line_item_ids', 'csv', { required: true, maxItems: 200, source: notes }),
      query('targeting_criterion_ids', 'csv', { maxItems: 200, ...sentBySdks }),
      ...recordList,
    ]),
    limit: 'targeting_reads',
    source: notes,
  },
  { ...targetingCriteria.get([withDeleted]), limit: 'targeting_reads', source: notes },
  {
    ...targetingCriteria.create([
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
  { ...targetingCriteria.delete, source: notes },
] as const satisfies readonly Endpoint[]
