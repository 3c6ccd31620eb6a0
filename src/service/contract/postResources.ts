/** Resources, fields and expansions of v2 (spec 2.6, docs/spec-notes.md#posts). */
import { field, type FieldType, type Resource } from './resource.ts'

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

/** Fields of a post besides `id` and `text`, with their types. */
const postFieldTypes = {
  author_id: 'string',
  created_at: 'timestamp',
  attachments: 'object',
  public_metrics: 'object',
  conversation_id: 'string',
  entities: 'object',
  lang: 'string',
  source: 'string',
  possibly_sensitive: 'boolean',
  referenced_tweets: 'objects',
  in_reply_to_user_id: 'string',
  context_annotations: 'objects',
  community_id: 'string',
  paid_partnership: 'boolean',
  article: 'any',
  card_uri: 'string',
  display_text_range: 'integers',
  edit_controls: 'object',
  edit_history_tweet_ids: 'strings',
  geo: 'object',
  media_metadata: 'any',
  note_tweet: 'object',
  reply_settings: 'string',
  scopes: 'object',
  suggested_source_links: 'any',
  withheld: 'object',
  non_public_metrics: 'object',
  organic_metrics: 'object',
  promoted_metrics: 'object',
} as const satisfies Readonly<Record<Exclude<(typeof postFields)[number], 'id' | 'text'>, FieldType>>

/** Fields of a user besides `id`, `name` and `username`, with their types. */
const userFieldTypes = {
  created_at: 'timestamp',
  description: 'string',
  location: 'string',
  profile_image_url: 'string',
  protected: 'boolean',
  verified: 'boolean',
  pinned_tweet_id: 'string',
  public_metrics: 'object',
  entities: 'object',
  url: 'string',
  connection_status: 'strings',
  affiliation: 'object',
  confirmed_email: 'string',
  is_identity_verified: 'boolean',
  most_recent_tweet_id: 'string',
  parody: 'boolean',
  profile_banner_url: 'string',
  receives_your_dm: 'boolean',
  subscribes_to_you: 'boolean',
  subscription: 'any',
  subscription_type: 'string',
  verified_followers_count: 'integer',
  verified_type: 'string',
  withheld: 'object',
} as const satisfies Readonly<Record<Exclude<(typeof userFields)[number], 'id' | 'name' | 'username'>, FieldType>>

/** Fields of a media object besides `media_key` and `type`, with their types. */
const mediaFieldTypes = {
  alt_text: 'string',
  duration_ms: 'integer',
  height: 'integer',
  preview_image_url: 'string',
  url: 'string',
  variants: 'objects',
  width: 'integer',
  public_metrics: 'object',
  non_public_metrics: 'object',
  organic_metrics: 'object',
  promoted_metrics: 'object',
} as const satisfies Readonly<Record<Exclude<(typeof mediaFields)[number], 'media_key' | 'type'>, FieldType>>

/** Fields of a place besides `id` and `full_name`, with their types. */
const placeFieldTypes = {
  contained_within: 'strings',
  country: 'string',
  country_code: 'string',
  geo: 'object',
  name: 'string',
  place_type: 'string',
} as const satisfies Readonly<Record<Exclude<(typeof placeFields)[number], 'id' | 'full_name'>, FieldType>>

/** Fields of a poll besides `id` and `options`, with their types. */
const pollFieldTypes = {
  duration_minutes: 'integer',
  end_datetime: 'timestamp',
  voting_status: 'string',
} as const satisfies Readonly<Record<Exclude<(typeof pollFields)[number], 'id' | 'options'>, FieldType>>

type Requestable<Types> = {
  readonly [Name in keyof Types & string]: { readonly name: Name; readonly type: Types[Name]; readonly optional: true }
}[keyof Types & string]

/** Creates optional fields: a record of v2 has them only if the caller requests them. */
const requestable = <const Types extends Readonly<Record<string, FieldType>>>(types: Types) =>
  // Object.entries loses the types of single names.
  Object.entries(types).map(([name, type]) => field(name, type, { optional: true })) as unknown as readonly Requestable<Types>[]

export const postResources = {
  post: {
    fields: [
      field('id', 'string'),
      field('text', 'string'),
      ...requestable(postFieldTypes),
      field(newestEditHistory, 'strings', { optional: true, source: 'docs/spec-notes.md#posts: switch v2_names' }),
    ],
    source: 'spec 2.6; docs/spec-notes.md#posts',
  },
  createdPost: { fields: [field('id', 'string'), field('text', 'string')], source: 'docs/spec-notes.md#posts' },
  postUser: {
    fields: [field('id', 'string'), field('name', 'string'), field('username', 'string'), ...requestable(userFieldTypes)],
    source: 'spec 2.6; docs/spec-notes.md#posts',
  },
  postMedia: {
    fields: [field('media_key', 'string'), field('type', 'string'), ...requestable(mediaFieldTypes)],
    source: 'spec 2.6; docs/spec-notes.md#posts',
  },
  postPlace: {
    fields: [field('id', 'string'), field('full_name', 'string'), ...requestable(placeFieldTypes)],
    source: 'docs/spec-notes.md#posts',
  },
  postPoll: {
    fields: [field('id', 'string'), field('options', 'objects'), ...requestable(pollFieldTypes)],
    source: 'docs/spec-notes.md#posts',
  },
} as const satisfies Readonly<Record<string, Resource>>
