/** Handles the endpoints of promoted tweets and targeting criteria of line items (docs/spec-notes.md#promotion-and-targeting). */
import { audienceTargetingTypes } from '../../service/contract/campaignResources.ts'
import { creationFields, recordHandlers, recordsOf } from '../accountRecords.ts'
import { accountOf, type Call, type Handler } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { givenFields, listParam } from '../params.ts'
import { adsRefusal, adsRefusals, notFound, ok } from '../refusal.ts'
import { isTargetingType, targetingTypeError } from './targetingTypes.ts'
import { addToHistory } from './history.ts'
import { isVisible, findLiveLineItem } from './parents.ts'
import type { CampaignsState, PromotedTweet, TargetingCriterion } from './state.ts'

export const promotionHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  ...recordHandlers('promotedTweets', {
    table: (state: CampaignsState) => state.promotedTweets,
    idParameter: 'promoted_tweet_id',
    notFoundCode: 'PROMOTED_TWEET_NOT_FOUND',
    filters: { line_item_ids: 'line_item_id', promoted_tweet_ids: 'id' },
    isVisible,
    onDeleted: (call, after) => addToHistory(call, { entity: 'PROMOTED_TWEET', type: 'DELETE', after }),
  }),
  'promotedTweets.create': (call) => {
    const promoted = promoteTweets(call)
    return { kind: 'ads', data: promoted, totalCount: promoted.length }
  },
  ...recordHandlers('targetingCriteria', {
    table: (state: CampaignsState) => state.targeting,
    idParameter: 'targeting_criterion_id',
    notFoundCode: 'TARGETING_CRITERION_NOT_FOUND',
    filters: { line_item_ids: 'line_item_id', targeting_criterion_ids: 'id' },
    isVisible,
    onDeleted: (call, after) => addToHistory(call, { entity: 'TARGETING_CRITERIA', type: 'DELETE', after }),
  }),
  'targetingCriteria.create': (call) => ok(createCriterion(call)),
}

/** Returns a promoted tweet for each given post. Creates those that the line item does not have yet. @throws {Refusal} 404 */
function promoteTweets(call: Call<CampaignsState>): PromotedTweet[] {
  const item = findLiveLineItem(call, String(call.params['line_item_id']))
  const tweetIds = [...new Set(listParam(call, 'tweet_ids') ?? [])]
  const { posts } = call.world.stateOf(areaRefs.posts)
  for (const id of tweetIds) if (!posts.has(id)) throw notFound('TWEET_NOT_FOUND', 'tweet_ids', id)
  const stored = recordsOf(call, call.state.promotedTweets)
  return tweetIds.map((tweetId) => {
    const existing = [...stored.values()].find((one) => one.line_item_id === item.id && one.tweet_id === tweetId && !one.deleted)
    if (existing !== undefined) return existing
    const promoted: PromotedTweet = {
      id: call.world.newShortId(),
      line_item_id: item.id,
      tweet_id: tweetId,
      entity_status: 'ACTIVE',
      approval_status: 'ACCEPTED',
      ...creationFields(call),
    }
    stored.set(promoted.id, promoted)
    addToHistory(call, { entity: 'PROMOTED_TWEET', type: 'CREATE', after: promoted })
    return promoted
  })
}

/** Creates a targeting criterion from the parameters of the call. @throws {Refusal} */
function createCriterion(call: Call<CampaignsState>): TargetingCriterion {
  const item = findLiveLineItem(call, String(call.params['line_item_id']))
  const type = String(call.params['targeting_type'])
  if (!isTargetingType(type)) throw adsRefusals([targetingTypeError(type)])
  const value = String(call.params['targeting_value'])
  if (audienceTargetingTypes.includes(type)) checkAudience(call, value)
  const criterion: TargetingCriterion = {
    id: call.world.newShortId(),
    line_item_id: item.id,
    name: value,
    targeting_type: type,
    targeting_value: value,
    operator_type: 'EQ',
    ...givenFields(call),
    ...creationFields(call),
  }
  recordsOf(call, call.state.targeting).set(criterion.id, criterion)
  addToHistory(call, { entity: 'TARGETING_CRITERIA', type: 'CREATE', after: criterion })
  return criterion
}

/** Requires that the audience belongs to the account or is shared with it (spec 3.3). @throws {Refusal} */
function checkAudience(call: Call<CampaignsState>, id: string): void {
  const { audiences, permissions } = call.world.stateOf(areaRefs.audiences)
  const audience = audiences.get(id)
  const account = accountOf(call).id
  // A revoked permission is marked as deleted.
  const grants = [...permissions.values()].filter((one) => one.tailored_audience_id === id && one.granted_account_id === account)
  if (audience !== undefined && !audience.deleted) {
    if (audience.accountId === account || grants.some((one) => !one.deleted)) return
    if (grants.length > 0)
      throw adsRefusal('ACTION_NOT_ALLOWED', `The permission to target the audience ${id} was revoked`, {
        parameter: 'targeting_value',
        value: id,
      })
  }
  throw notFound('TAILORED_AUDIENCE_NOT_FOUND', 'targeting_value', id)
}
