/** Endpoints of posts in v2, with the fields and expansions that a caller may request (spec 2.6, 4.7; docs/spec-notes.md#posts). */
import type { Endpoint } from './endpoint.ts'
import { body, query, sentBySdks } from './parameter.ts'
import { mediaFields, newestEditHistory, placeFields, pollFields, postExpansions, postFields, userFields } from './postResources.ts'

export const postEndpoints = [
  {
    name: 'posts.lookup',
    method: 'GET',
    host: 'core',
    path: '/2/tweets',
    auth: 'bearer-or-user',
    body: 'none',
    parameters: [
      query('ids', 'csv', { required: true, maxItems: 100, source: 'spec 4.7; docs/spec-notes.md#posts: 1 to 100 ids' }),
      query('tweet.fields', 'csv-enum', { values: postFields, source: 'spec 2.6; docs/spec-notes.md#posts' }),
      query('post.fields', 'csv-enum', {
        values: [...postFields, newestEditHistory],
        source: 'docs/spec-notes.md#posts: switch v2_names',
      }),
      query('expansions', 'csv-enum', { values: [...postExpansions, newestEditHistory], source: 'spec 2.6' }),
      query('media.fields', 'csv-enum', { values: mediaFields, source: 'spec 2.6; docs/spec-notes.md#posts' }),
      query('user.fields', 'csv-enum', { values: userFields, source: 'spec 2.6; docs/spec-notes.md#posts' }),
      query('place.fields', 'csv-enum', { values: placeFields, source: 'docs/spec-notes.md#posts' }),
      query('poll.fields', 'csv-enum', { values: pollFields, source: 'docs/spec-notes.md#posts' }),
    ],
    rules: [{ kind: 'exclusive', names: ['tweet.fields', 'post.fields'], source: 'docs/spec-notes.md#posts' }],
    answer: { resource: 'post', many: true },
    limit: 'v2_lookups',
    repeatable: true,
    source: 'spec 4.7',
  },
  {
    name: 'posts.create',
    method: 'POST',
    host: 'core',
    path: '/2/tweets',
    auth: 'user',
    body: 'json',
    parameters: [
      body('text', 'string', { source: 'spec 4.7' }),
      body('paid_partnership', 'boolean', { source: 'spec 4.7' }),
      body('community_id', 'string', { minLength: 1, source: 'spec 4.7' }),
      body('share_with_followers', 'boolean', { source: 'spec 4.7: only with community_id' }),
      body('edit_options', 'object', { source: 'spec 4.7: `previous_post_id`' }),
      body('reply', 'object', { source: 'spec 9: `in_reply_to_tweet_id`' }),
      body('media', 'object', { source: 'spec 2.6 attachments: `media_ids`' }),
      body('card_uri', 'string', { minLength: 1, source: 'spec 4.4; docs/spec-notes.md#posts' }),
      body('quote_tweet_id', 'string', { source: 'spec 2.6 referenced_tweets' }),
      body('poll', 'object', sentBySdks),
      body('geo', 'object', sentBySdks),
      body('for_super_followers_only', 'boolean', sentBySdks),
      body('direct_message_deep_link', 'string', sentBySdks),
      body('reply_settings', 'enum', {
        values: ['following', 'mentionedUsers', 'subscribers', 'verified'],
        source: 'docs/spec-notes.md#posts',
      }),
    ],
    rules: [
      { kind: 'at-least-one', names: ['text', 'media', 'card_uri', 'quote_tweet_id'], source: 'spec 4.7' },
      { kind: 'required-if', names: ['community_id'], when: { name: 'share_with_followers', is: ['true'] }, source: 'spec 4.7' },
      {
        kind: 'other',
        text: 'an edit replaces a post of the same user, who has a premium subscription, within an hour of the post',
        source: 'spec 4.7',
      },
      {
        kind: 'exclusive',
        names: ['poll', 'media', 'card_uri', 'quote_tweet_id'],
        source: 'outside the specification: common clients send polls',
      },
      { kind: 'other', text: '`reply` only to posts of the user, or that mention the user', source: 'spec 9' },
    ],
    answer: { resource: 'createdPost', many: false },
    limit: 'v2_posts',
    repeatable: false,
    source: 'spec 4.7; docs/spec-notes.md#posts',
  },
] as const satisfies readonly Endpoint[]
