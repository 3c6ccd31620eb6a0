/** Initial records of a sandbox, by the parameters that name them. */
import type { Endpoint } from '../../src/service/contract/endpoint.ts'

/** Ids of the first state of a sandbox, so that a call is refused only for its own fault. */
export const FIRST: Readonly<Record<string, string>> = {
  account_id: '18ce54d4x5t',
  account_media_id: 'amed1',
  card_id: '1503831318555086849',
  card_type: 'image_conversation',
  media_key: '3_1146654567674912769',
  scheduled_tweet_id: '917438609065623552',
  draft_tweet_id: '994747471329873920',
  curated_category_id: 'b0xt',
  line_item_curated_category_id: 'yav',
  line_item_id: '9cqi0',
  campaign_id: '8wku2',
  funding_instrument_id: 'lygyi',
  promoted_tweet_id: '1efwlo',
  targeting_criterion_id: '2kzxf',
  product_catalog_id: '4001',
  custom_audience_id: '1nmth',
  tailored_audience_id: '1nmth',
  do_not_reach_list_id: '2dnr',
  tweet_id: '1166476031668015104',
  promotable_user_id: 'rt',
  tracking_tag_id: '7035',
  user_id: '1001',
  username: 'sandbox',
  tailored_audience_permission_id: '1perm',
  product_set_id: '4101',
  job_id: '7001',
  // The first state has none of these (docs/sandbox.md#initial-data): a call with such an id is answered with 404.
  scheduled_feed_id: '1',
  webhook_id: '1',
  file: 'none.json.gz',
}

/** Parameters that name records of several types. */
const OWN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'pollCards.get': { card_id: '1503831318555086900' },
  'videoConversationCards.get': { card_id: '1503831318555087000' },
  'videoConversationCards.update': { card_id: '1503831318555087000' },
  'users.get': { id: '1001' },
  'posts.get': { id: '1166476031668015104' },
  'posts.delete': { id: '1166476031668015104' },
}

/** Returns the path of the endpoint with ids of the first state, except for those in `ids`. */
export function pathOf(endpoint: Endpoint, ids: Readonly<Record<string, string>> = {}): string {
  return endpoint.path.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? OWN[endpoint.name]?.[name] ?? FIRST[name] ?? '1')
}
