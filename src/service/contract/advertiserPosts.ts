/**
 * Endpoints of posts on behalf of an advertiser: published, scheduled and draft posts (spec 4.4;
 * docs/spec-notes.md#scheduled-and-draft-posts).
 */
import { accountPath, createRequest, updateRequest, type Endpoint } from './endpoint.ts'
import { accountId, cursor, longPath, query, sentBySdks, sortBy, withTotalCount } from './parameter.ts'
import { recordsOfAccount } from './recordEndpoints.ts'

const notes = 'docs/spec-notes.md#scheduled-and-draft-posts'
const count = query('count', 'integer', { default: 200, min: 1, max: 200, source: notes })
const text = query('text', 'string', { source: 'spec 4.4' })
const mediaKeys = query('media_keys', 'csv', { maxItems: 4, unsettable: true, source: 'spec 8 post media' })
const cardUri = query('card_uri', 'string', { unsettable: true, source: 'spec 4.4' })
const postName = query('name', 'string', { maxLength: 80, unsettable: true, source: 'spec 8 post name' })
const nullcast = query('nullcast', 'boolean', { default: true, source: 'spec 4.4' })
const asUser = query('as_user_id', 'long', { required: true, source: 'spec 4.4; spec 5 rule 6' })
const userFilter = query('user_id', 'long', { source: notes })
const scheduledAt = query('scheduled_at', 'timestamp', { required: true, source: notes })
const contentUpdate = [
  query('text', 'string', { unsettable: true, source: 'spec 4.4' }),
  mediaKeys,
  cardUri,
  postName,
  query('nullcast', 'boolean', { source: 'spec 4.4' }),
] as const
const contentRules = [
  { kind: 'at-least-one', names: ['text', 'media_keys'], source: 'spec 4.4' },
  { kind: 'other', text: 'media: up to 4 images, or 1 GIF, or 1 video', source: 'spec 8' },
] as const

const advertiserPosts = recordsOfAccount('advertiserPosts', 'tweets', 'tweet_id', 'advertiserPost')
const scheduledPosts = recordsOfAccount('scheduledPosts', 'scheduled_tweets', 'scheduled_tweet_id', 'scheduledPost')
const draftPosts = recordsOfAccount('draftPosts', 'draft_tweets', 'draft_tweet_id', 'draftPost')

export const advertiserPostEndpoints = [
  {
    name: 'advertiserPosts.create',
    ...createRequest,
    path: `${accountPath}/tweet`,
    parameters: [
      accountId,
      asUser,
      text,
      cardUri,
      query('conversation_settings', 'enum', {
        values: ['EVERYONE', 'FOLLOWING', 'MENTIONED_USERS'],
        default: 'EVERYONE',
        source: 'spec 4.4; spec 9: version 8 and above',
      }),
      mediaKeys,
      postName,
      nullcast,
      query('trim_user', 'boolean', { default: false, source: 'spec 4.4' }),
      query('tweet_mode', 'enum', { values: ['compat', 'extended'], source: 'spec 4.4' }),
      query('video_cta', 'enum', { values: ['VISIT_SITE', 'WATCH_NOW'], source: 'spec 4.4' }),
      query('video_cta_value', 'string', { source: 'spec 4.4' }),
      query('video_description', 'string', { maxLength: 200, source: 'spec 8' }),
      query('video_title', 'string', { maxLength: 70, source: 'spec 8' }),
    ],
    answer: { resource: 'advertiserPost', many: false },
    rules: [
      ...contentRules,
      { kind: 'other', text: 'the advertiser `as_user_id` has granted access to the account', source: 'spec 5 rule 6' },
      { kind: 'other', text: '`nullcast` false only for the authenticated user', source: 'spec 4.4' },
    ],
    source: 'spec 4.4',
  },
  {
    name: 'advertiserPosts.rename',
    ...updateRequest,
    path: `${accountPath}/tweets/:tweet_id/name`,
    parameters: [accountId, longPath('tweet_id'), query('name', 'string', { required: true, maxLength: 80, source: 'spec 8 post name' })],
    answer: { resource: 'advertiserPost', many: false },
    source: 'spec 4.4',
  },
  {
    ...advertiserPosts.list([
      query('tweet_type', 'enum', {
        required: true,
        values: ['DRAFT', 'PUBLISHED', 'SCHEDULED'],
        source: notes,
      }),
      query('tweet_ids', 'csv', { maxItems: 200, source: notes }),
      query('trim_user', 'boolean', { default: false, source: 'spec 4.4' }),
      userFilter,
      query('timeline_type', 'enum', { values: ['ALL', 'NULLCAST', 'ORGANIC'], ...sentBySdks }),
      query('include_mentions_and_replies', 'boolean', sentBySdks),
      count,
      cursor,
    ]),
    source: notes,
  },
  { ...scheduledPosts.list([userFilter, count, cursor, sortBy, withTotalCount]), source: notes },
  { ...scheduledPosts.get([]), source: notes },
  { ...scheduledPosts.create([asUser, scheduledAt, text, mediaKeys, cardUri, postName, nullcast]), rules: contentRules, source: notes },
  { ...scheduledPosts.update([query('scheduled_at', 'timestamp', { source: notes }), ...contentUpdate]), source: notes },
  { ...scheduledPosts.delete, source: `${notes}: a hard delete` },
  { ...draftPosts.list([userFilter, count, cursor, sortBy, withTotalCount]), source: notes },
  { ...draftPosts.get([]), source: notes },
  { ...draftPosts.create([asUser, text, mediaKeys, cardUri, postName, nullcast]), rules: contentRules, source: notes },
  { ...draftPosts.update(contentUpdate), source: notes },
  { ...draftPosts.delete, source: `${notes}: a hard delete` },
] as const satisfies readonly Endpoint[]
