/** Resources, fields and expansions of v2 (spec 2.6, docs/spec-notes.md#posts). */
import { field, type Resource } from './resource.ts'

/** Fields of a post. The first two, `id` and `text`, are always returned. */
export const postFields = [
  'id',
  'text',
  'author_id',
  'created_at',
  'attachments',
  'public_metrics',
  'conversation_id',
  'entities',
  'lang',
  'source',
  'possibly_sensitive',
  'referenced_tweets',
  'in_reply_to_user_id',
  'context_annotations',
  'community_id',
  'paid_partnership',
  'article',
  'card_uri',
  'display_text_range',
  'edit_controls',
  'edit_history_tweet_ids',
  'geo',
  'media_metadata',
  'note_tweet',
  'reply_settings',
  'scopes',
  'suggested_source_links',
  'withheld',
  'non_public_metrics',
  'organic_metrics',
  'promoted_metrics',
] as const

/** Fields of a user. The first three, `id`, `name` and `username`, are always returned. */
export const userFields = [
  'id',
  'name',
  'username',
  'created_at',
  'description',
  'location',
  'profile_image_url',
  'protected',
  'verified',
  'pinned_tweet_id',
  'public_metrics',
  'entities',
  'url',
  'connection_status',
  'affiliation',
  'confirmed_email',
  'is_identity_verified',
  'most_recent_tweet_id',
  'parody',
  'profile_banner_url',
  'receives_your_dm',
  'subscribes_to_you',
  'subscription',
  'subscription_type',
  'verified_followers_count',
  'verified_type',
  'withheld',
] as const

/** Fields of a media object. `media_key` and `type` are always returned. */
export const mediaFields = [
  'alt_text',
  'duration_ms',
  'height',
  'media_key',
  'preview_image_url',
  'type',
  'url',
  'variants',
  'width',
  'public_metrics',
  'non_public_metrics',
  'organic_metrics',
  'promoted_metrics',
] as const

/** Fields of a place. `id` and `full_name` are always returned. */
export const placeFields = ['contained_within', 'country', 'country_code', 'full_name', 'geo', 'id', 'name', 'place_type'] as const
/** Fields of a poll. `id` and `options` are always returned. */
export const pollFields = ['duration_minutes', 'end_datetime', 'id', 'options', 'voting_status'] as const

/** Newer name of `edit_history_tweet_ids`, as a field and as an expansion (switch `v2_names`; docs/spec-notes.md#posts). */
export const newestEditHistory = 'edit_history_post_ids'

/** Expansions of a post: paths of references. The answer has the referenced objects under `includes`. */
export const postExpansions = [
  'author_id',
  'in_reply_to_user_id',
  'entities.mentions.username',
  'referenced_tweets.id',
  'referenced_tweets.id.author_id',
  'edit_history_tweet_ids',
  'attachments.media_keys',
  'attachments.poll_ids',
  'geo.place_id',
] as const

/** Creates optional fields of any type: a record of v2 has them only if the caller requests them. */
const requestable = (names: readonly string[]) => names.map((name) => field(name, 'any', { optional: true }))

/** Records of v2, by name. */
export const postResources = {
  post: {
    fields: [field('id', 'string'), field('text', 'string'), ...requestable(postFields.slice(2))],
    source: 'spec 2.6; docs/spec-notes.md#posts',
  },
  createdPost: { fields: [field('id', 'string'), field('text', 'string')], source: 'docs/spec-notes.md#posts' },
  postUser: {
    fields: [field('id', 'string'), field('name', 'string'), field('username', 'string'), ...requestable(userFields.slice(3))],
    source: 'spec 2.6; docs/spec-notes.md#posts',
  },
  postMedia: {
    fields: [
      field('media_key', 'string'),
      field('type', 'string'),
      ...requestable(mediaFields.filter((name) => name !== 'media_key' && name !== 'type')),
    ],
    source: 'spec 2.6; docs/spec-notes.md#posts',
  },
  postPlace: {
    fields: [
      field('id', 'string'),
      field('full_name', 'string'),
      ...requestable(placeFields.filter((name) => name !== 'id' && name !== 'full_name')),
    ],
    source: 'docs/spec-notes.md#posts',
  },
  postPoll: {
    fields: [
      field('id', 'string'),
      field('options', 'objects'),
      ...requestable(pollFields.filter((name) => name !== 'id' && name !== 'options')),
    ],
    source: 'docs/spec-notes.md#posts',
  },
} as const satisfies Readonly<Record<string, Resource>>
