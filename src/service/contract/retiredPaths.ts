/** Paths that official SDKs call and the sandbox does not serve: older paths, and endpoints outside the specification. */
import { accountPath } from './endpoint.ts'

/** Path that the sandbox does not serve. */
export interface RetiredPath {
  /** Path with the version. `:name` matches any segment. */
  readonly path: string
  /** Path to call instead. The answer is 410 with a successor, else 404: the path is outside the specification. */
  readonly successor?: string
  /** Reason that the sandbox adds to the message of a 404. */
  readonly reason?: string
}

/** All retired paths. The first match applies. */
export const retiredPaths: readonly RetiredPath[] = [
  { path: `${accountPath}/tailored_audiences`, successor: `${accountPath}/custom_audiences` },
  { path: `${accountPath}/tailored_audiences/:id`, successor: `${accountPath}/custom_audiences/:id` },
  { path: `${accountPath}/tailored_audiences/:id/:part`, successor: `${accountPath}/custom_audiences/:id/:part` },
  { path: `${accountPath}/tailored_audiences/:id/:part/:part_id`, successor: `${accountPath}/custom_audiences/:id/:part/:part_id` },
  { path: `${accountPath}/tailored_audience_changes`, successor: `${accountPath}/custom_audiences/:id/users` },
  { path: `${accountPath}/reach_estimate`, successor: `${accountPath}/audience_estimate` },
  { path: `${accountPath}/audience_summary`, successor: `${accountPath}/audience_estimate` },
  { path: `${accountPath}/scoped_timeline`, successor: `${accountPath}/tweets` },
  { path: `${accountPath}/videos`, successor: `${accountPath}/media_library` },
  { path: `${accountPath}/videos/:id`, successor: `${accountPath}/media_library/:id` },
  ...['image_conversation', 'website', 'video_website', 'image_app_download', 'video_app_download'].flatMap((type) => [
    { path: `${accountPath}/cards/${type}`, successor: `${accountPath}/cards` },
    { path: `${accountPath}/cards/${type}/:card_id`, successor: `${accountPath}/cards/:card_id` },
  ]),
  { path: '/12/iab_categories', successor: '/12/content_categories' },
  { path: '/12/targeting_criteria/behaviors', successor: '/12/targeting_criteria/conversations' },
  { path: '/12/targeting_criteria/behavior_taxonomies', successor: '/12/targeting_criteria/conversations' },
  { path: '/1.1/statuses/show/:id', successor: '/2/tweets/:id' },
  { path: '/1.1/statuses/show', successor: '/2/tweets/:id' },
  { path: '/1.1/statuses/lookup', successor: '/2/tweets' },
  { path: '/1.1/statuses/update', successor: '/2/tweets' },
  { path: '/1.1/statuses/destroy/:id', successor: '/2/tweets/:id' },
  { path: '/1.1/search/tweets', successor: '/2/tweets/search/recent' },
  { path: '/2/account_activity/replay/webhooks/:webhook_id/subscriptions/all', successor: '/2/webhooks/replay' },
  { path: '/1.1/media/upload', reason: 'every well-formed media key counts as uploaded' },
  ...[
    'app_event_tags',
    'app_lists',
    'line_item_apps',
    'media_creatives',
    'preroll_call_to_actions',
    'promoted_accounts',
    'scheduled_promoted_tweets',
    'tweet_previews',
    'web_event_tags',
  ].flatMap((name) => [{ path: `${accountPath}/${name}` }, { path: `${accountPath}/${name}/:id` }]),
]
