/** Posts for an advertiser: made now, scheduled or drafted, listed, renamed (spec 4.4 `/tweet`, `/tweets/:tweet_id/name`; gaps 8). */
import type { Endpoint } from './endpoint.ts'
import { accountId, cursor, longPath, path, query, sortBy, withTotalCount } from './parameter.ts'

const account = '/12/accounts/:account_id'

const count = query('count', 'integer', { default: 200, min: 1, max: 200, source: 'spec/gaps.md 8 scheduled_tweets' })
const list = { countDefault: 200, countMin: 1, countMax: 200 } as const
const text = query('text', 'string', { source: 'spec 4.4' })
const mediaKeys = query('media_keys', 'csv', { maxItems: 4, unsettable: true, source: 'spec 8 post media' })
const cardUri = query('card_uri', 'string', { unsettable: true, source: 'spec 4.4' })
const postName = query('name', 'string', { maxLength: 80, unsettable: true, source: 'spec 8 post name' })
const nullcast = query('nullcast', 'boolean', { default: true, source: 'spec 4.4' })
const asUser = query('as_user_id', 'long', { required: true, source: 'spec 4.4; spec 5 rule 6' })
const userFilter = query('user_id', 'long', { source: 'spec/gaps.md 8 scheduled_tweets' })
const scheduledAt = query('scheduled_at', 'timestamp', { required: true, source: 'spec/gaps.md 8 scheduled_tweets' })
const textOrMedia = [
  { kind: 'one-of', names: ['text', 'media_keys'], source: 'spec 4.4' },
  { kind: 'other', text: 'media: up to 4 images, or 1 GIF, or 1 video', source: 'spec 8' },
] as const

export const advertiserPostEndpoints = [
  {
    name: 'advertiserPosts.create', method: 'POST', host: 'ads', path: `${account}/tweet`, auth: 'user', body: 'form',
    parameters: [
      accountId, asUser, text, cardUri,
      query('conversation_settings', 'enum', { values: ['EVERYONE', 'FOLLOWING', 'MENTIONED_USERS'], default: 'EVERYONE', source: 'spec 4.4; spec 9: version 8 and above' }),
      mediaKeys, postName, nullcast,
      query('trim_user', 'boolean', { default: false, source: 'spec 4.4' }),
      query('tweet_mode', 'enum', { values: ['compat', 'extended'], source: 'spec 4.4' }),
      query('video_cta', 'enum', { values: ['VISIT_SITE', 'WATCH_NOW'], source: 'spec 4.4' }),
      query('video_cta_value', 'string', { source: 'spec 4.4' }),
      query('video_description', 'string', { maxLength: 200, source: 'spec 8' }),
      query('video_title', 'string', { maxLength: 70, source: 'spec 8' }),
    ],
    rules: [
      ...textOrMedia,
      { kind: 'other', text: 'the advertiser `as_user_id` has granted access to the account', source: 'spec 5 rule 6' },
      { kind: 'other', text: '`nullcast` false only for the authenticated user', source: 'spec 4.4' },
    ],
    answer: { resource: 'advertiserPost', many: false }, limit: 'ads_writes', repeatable: false, source: 'spec 4.4',
  },
  {
    name: 'advertiserPosts.rename', method: 'PUT', host: 'ads', path: `${account}/tweets/:tweet_id/name`, auth: 'user', body: 'form',
    parameters: [accountId, longPath('tweet_id'), query('name', 'string', { required: true, maxLength: 80, source: 'spec 8 post name' })],
    answer: { resource: 'advertiserPost', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'advertiserPosts.list', method: 'GET', host: 'ads', path: `${account}/tweets`, auth: 'user', body: 'none',
    parameters: [
      accountId, query('tweet_type', 'enum', { required: true, values: ['DRAFT', 'PUBLISHED', 'SCHEDULED'], source: 'spec/gaps.md 8 GET tweets' }),
      query('tweet_ids', 'csv', { maxItems: 200, source: 'spec/gaps.md 8 GET tweets' }),
      query('trim_user', 'boolean', { default: false, source: 'spec 4.4' }), userFilter, count, cursor,
    ],
    list, answer: { resource: 'advertiserPost', many: true }, limit: 'account_reads', repeatable: true, source: 'spec/gaps.md 8 GET tweets',
  },
  {
    name: 'scheduledPosts.list', method: 'GET', host: 'ads', path: `${account}/scheduled_tweets`, auth: 'user', body: 'none',
    parameters: [accountId, userFilter, count, cursor, sortBy, withTotalCount],
    list, answer: { resource: 'scheduledPost', many: true }, limit: 'account_reads', repeatable: true, source: 'spec/gaps.md 8 scheduled_tweets',
  },
  {
    name: 'scheduledPosts.get', method: 'GET', host: 'ads', path: `${account}/scheduled_tweets/:scheduled_tweet_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('scheduled_tweet_id')],
    answer: { resource: 'scheduledPost', many: false }, limit: 'account_reads', repeatable: true, source: 'spec/gaps.md 8 scheduled_tweets',
  },
  {
    name: 'scheduledPosts.create', method: 'POST', host: 'ads', path: `${account}/scheduled_tweets`, auth: 'user', body: 'form',
    parameters: [accountId, asUser, scheduledAt, text, mediaKeys, cardUri, postName, nullcast],
    rules: textOrMedia,
    answer: { resource: 'scheduledPost', many: false }, limit: 'ads_writes', repeatable: false, source: 'spec/gaps.md 8 scheduled_tweets',
  },
  {
    name: 'scheduledPosts.update', method: 'PUT', host: 'ads', path: `${account}/scheduled_tweets/:scheduled_tweet_id`, auth: 'user', body: 'form',
    parameters: [
      accountId, path('scheduled_tweet_id'), query('scheduled_at', 'timestamp', { source: 'spec/gaps.md 8 scheduled_tweets' }),
      query('text', 'string', { unsettable: true, source: 'spec 4.4' }), mediaKeys, cardUri, postName, query('nullcast', 'boolean', { source: 'spec 4.4' }),
    ],
    answer: { resource: 'scheduledPost', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec/gaps.md 8 scheduled_tweets',
  },
  {
    name: 'scheduledPosts.delete', method: 'DELETE', host: 'ads', path: `${account}/scheduled_tweets/:scheduled_tweet_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('scheduled_tweet_id')],
    answer: { resource: 'scheduledPost', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec/gaps.md 8 scheduled_tweets: a hard delete',
  },
  {
    name: 'draftPosts.list', method: 'GET', host: 'ads', path: `${account}/draft_tweets`, auth: 'user', body: 'none',
    parameters: [accountId, userFilter, count, cursor, sortBy, withTotalCount],
    list, answer: { resource: 'draftPost', many: true }, limit: 'account_reads', repeatable: true, source: 'spec/gaps.md 8 draft_tweets',
  },
  {
    name: 'draftPosts.get', method: 'GET', host: 'ads', path: `${account}/draft_tweets/:draft_tweet_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('draft_tweet_id')],
    answer: { resource: 'draftPost', many: false }, limit: 'account_reads', repeatable: true, source: 'spec/gaps.md 8 draft_tweets',
  },
  {
    name: 'draftPosts.create', method: 'POST', host: 'ads', path: `${account}/draft_tweets`, auth: 'user', body: 'form',
    parameters: [accountId, asUser, text, mediaKeys, cardUri, postName, nullcast],
    rules: textOrMedia,
    answer: { resource: 'draftPost', many: false }, limit: 'ads_writes', repeatable: false, source: 'spec/gaps.md 8 draft_tweets',
  },
  {
    name: 'draftPosts.update', method: 'PUT', host: 'ads', path: `${account}/draft_tweets/:draft_tweet_id`, auth: 'user', body: 'form',
    parameters: [
      accountId, path('draft_tweet_id'), query('text', 'string', { unsettable: true, source: 'spec 4.4' }), mediaKeys, cardUri, postName,
      query('nullcast', 'boolean', { source: 'spec 4.4' }),
    ],
    answer: { resource: 'draftPost', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec/gaps.md 8 draft_tweets',
  },
  {
    name: 'draftPosts.delete', method: 'DELETE', host: 'ads', path: `${account}/draft_tweets/:draft_tweet_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('draft_tweet_id')],
    answer: { resource: 'draftPost', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec/gaps.md 8 draft_tweets: a hard delete',
  },
] as const satisfies readonly Endpoint[]
