/** Resources, fields and expansions of v2 (spec 2.6, docs/spec-notes.md#posts). */
import { field, texts, type FieldType, type Resource } from './resource.ts'

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

/** Fields of a post, with their types. `id` and `text` are always returned. */
const postFieldTypes = {
  id: 'string',
  text: 'string',
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
} as const satisfies FieldTypes

/** Fields of a user, with their types. `id`, `name` and `username` are always returned. */
const userFieldTypes = {
  id: 'string',
  name: 'string',
  username: 'string',
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
} as const satisfies FieldTypes

/** Fields of a media object, with their types. `media_key` and `type` are always returned. */
const mediaFieldTypes = {
  alt_text: 'string',
  duration_ms: 'integer',
  height: 'integer',
  media_key: 'string',
  preview_image_url: 'string',
  type: 'string',
  url: 'string',
  variants: 'objects',
  width: 'integer',
  public_metrics: 'object',
  non_public_metrics: 'object',
  organic_metrics: 'object',
  promoted_metrics: 'object',
} as const satisfies FieldTypes

/** Fields of a place, with their types. `id` and `full_name` are always returned. */
const placeFieldTypes = {
  contained_within: 'strings',
  country: 'string',
  country_code: 'string',
  full_name: 'string',
  geo: 'object',
  id: 'string',
  name: 'string',
  place_type: 'string',
} as const satisfies FieldTypes

/** Fields of a poll, with their types. `id` and `options` are always returned. */
const pollFieldTypes = {
  duration_minutes: 'integer',
  end_datetime: 'timestamp',
  id: 'string',
  options: 'objects',
  voting_status: 'string',
} as const satisfies FieldTypes

type FieldTypes = Readonly<Record<string, FieldType>>

const namesOf = <Types extends FieldTypes>(types: Types) =>
  // Object.keys loses the types of the names.
  Object.keys(types) as unknown as readonly (keyof Types & string)[]

// Names of the fields, which a caller may request.
export const postFields = namesOf(postFieldTypes)
export const userFields = namesOf(userFieldTypes)
export const mediaFields = namesOf(mediaFieldTypes)
export const placeFields = namesOf(placeFieldTypes)
export const pollFields = namesOf(pollFieldTypes)

type FieldOf<Types, Required> = {
  readonly [Name in keyof Types & string]: { readonly name: Name; readonly type: Types[Name] } & (Name extends Required
    ? unknown
    : { readonly optional: true })
}[keyof Types & string]

/** Creates the fields of a record of v2: first those that are always returned, then those that a caller must request. */
const fieldsOf = <const Types extends FieldTypes, Required extends keyof Types & string>(types: Types, ...always: readonly Required[]) =>
  [
    ...always.map((name) => ({ name, type: types[name] })),
    ...Object.entries(types)
      .filter(([name]) => !always.some((one) => one === name))
      .map(([name, type]) => ({ name, type, optional: true })),
    // Object.entries loses the types of single names.
  ] as unknown as readonly FieldOf<Types, Required>[]

export const postResources = {
  post: {
    fields: [
      ...fieldsOf(postFieldTypes, 'id', 'text'),
      field(newestEditHistory, 'strings', { optional: true, source: 'docs/spec-notes.md#posts: switch v2_names' }),
    ],
    source: 'spec 2.6; docs/spec-notes.md#posts',
  },
  createdPost: { fields: texts('id', 'text'), source: 'docs/spec-notes.md#posts' },
  postUser: { fields: fieldsOf(userFieldTypes, 'id', 'name', 'username'), source: 'spec 2.6; docs/spec-notes.md#posts' },
  postMedia: { fields: fieldsOf(mediaFieldTypes, 'media_key', 'type'), source: 'spec 2.6; docs/spec-notes.md#posts' },
  postPlace: { fields: fieldsOf(placeFieldTypes, 'id', 'full_name'), source: 'docs/spec-notes.md#posts' },
  postPoll: { fields: fieldsOf(pollFieldTypes, 'id', 'options'), source: 'docs/spec-notes.md#posts' },
} as const satisfies Readonly<Record<string, Resource>>
