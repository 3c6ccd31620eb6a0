/** Endpoints of users, single posts and the search of posts on the core host. Outside the specification: common clients call them. */
import type { Endpoint } from './endpoint.ts'
import { path, query, sentBySdks } from './parameter.ts'
import { mediaFields, newestEditHistory, placeFields, pollFields, postExpansions, postFields, userFields } from './postResources.ts'

const source = 'outside the specification: common clients call it'
const shared = { method: 'GET', host: 'core', body: 'none', limit: 'v2_lookups', repeatable: true, outsideSpec: true, source } as const
const userSelection = [
  query('user.fields', 'csv-enum', { values: userFields, ...sentBySdks }),
  query('tweet.fields', 'csv-enum', { values: postFields, ...sentBySdks }),
  query('expansions', 'csv-enum', { values: ['pinned_tweet_id'], ...sentBySdks }),
] as const
const postSelection = [
  query('tweet.fields', 'csv-enum', { values: postFields, ...sentBySdks }),
  query('post.fields', 'csv-enum', { values: [...postFields, newestEditHistory], ...sentBySdks }),
  query('expansions', 'csv-enum', { values: [...postExpansions, newestEditHistory], ...sentBySdks }),
  query('media.fields', 'csv-enum', { values: mediaFields, ...sentBySdks }),
  query('user.fields', 'csv-enum', { values: userFields, ...sentBySdks }),
  query('place.fields', 'csv-enum', { values: placeFields, ...sentBySdks }),
  query('poll.fields', 'csv-enum', { values: pollFields, ...sentBySdks }),
] as const
const coreFlags = [query('include_entities', 'boolean', sentBySdks), query('skip_status', 'boolean', sentBySdks)] as const

export const userEndpoints = [
  {
    name: 'users.verifyCredentials',
    path: '/1.1/account/verify_credentials',
    aliases: ['/1.1/account/verify_credentials.json'],
    auth: 'user',
    parameters: [...coreFlags, query('include_email', 'boolean', sentBySdks)],
    answer: { resource: 'coreUser', many: false },
    ...shared,
  },
  {
    name: 'users.show',
    path: '/1.1/users/show',
    aliases: ['/1.1/users/show.json'],
    auth: 'bearer-or-user',
    parameters: [query('user_id', 'long', sentBySdks), query('screen_name', 'string', sentBySdks), ...coreFlags],
    rules: [{ kind: 'at-least-one', names: ['user_id', 'screen_name'], source }],
    answer: { resource: 'coreUser', many: false },
    ...shared,
  },
  {
    name: 'users.lookup',
    path: '/1.1/users/lookup',
    aliases: ['/1.1/users/lookup.json'],
    auth: 'bearer-or-user',
    parameters: [
      query('user_id', 'csv', { maxItems: 100, ...sentBySdks }),
      query('screen_name', 'csv', { maxItems: 100, ...sentBySdks }),
      ...coreFlags,
    ],
    rules: [{ kind: 'at-least-one', names: ['user_id', 'screen_name'], source }],
    answer: { resource: 'coreUser', many: true },
    ...shared,
  },
  {
    name: 'users.me',
    path: '/2/users/me',
    auth: 'user',
    parameters: userSelection,
    answer: { resource: 'postUser', many: false },
    ...shared,
  },
  {
    name: 'users.byUsername',
    path: '/2/users/by/username/:username',
    auth: 'bearer-or-user',
    parameters: [path('username'), ...userSelection],
    answer: { resource: 'postUser', many: false },
    ...shared,
  },
  {
    name: 'users.byUsernames',
    path: '/2/users/by',
    auth: 'bearer-or-user',
    parameters: [query('usernames', 'csv', { required: true, maxItems: 100, ...sentBySdks }), ...userSelection],
    answer: { resource: 'postUser', many: true },
    ...shared,
  },
  {
    name: 'users.list',
    path: '/2/users',
    auth: 'bearer-or-user',
    parameters: [query('ids', 'csv', { required: true, maxItems: 100, ...sentBySdks }), ...userSelection],
    answer: { resource: 'postUser', many: true },
    ...shared,
  },
  {
    name: 'users.get',
    path: '/2/users/:id',
    auth: 'bearer-or-user',
    parameters: [path('id'), ...userSelection],
    answer: { resource: 'postUser', many: false },
    ...shared,
  },
  {
    name: 'posts.search',
    path: '/2/tweets/search/recent',
    auth: 'bearer-or-user',
    parameters: [
      query('query', 'string', { required: true, minLength: 1, maxLength: 512, ...sentBySdks }),
      query('max_results', 'integer', { default: 10, min: 10, max: 100, ...sentBySdks }),
      query('next_token', 'string', sentBySdks),
      query('start_time', 'timestamp', sentBySdks),
      query('end_time', 'timestamp', sentBySdks),
      ...postSelection,
    ],
    answer: { resource: 'post', many: true },
    ...shared,
  },
  {
    name: 'posts.get',
    path: '/2/tweets/:id',
    auth: 'bearer-or-user',
    parameters: [path('id'), ...postSelection],
    answer: { resource: 'post', many: false },
    ...shared,
  },
  {
    name: 'posts.delete',
    path: '/2/tweets/:id',
    auth: 'user',
    parameters: [path('id')],
    answer: { resource: 'deletedPost', many: false },
    ...shared,
    method: 'DELETE',
    limit: 'v2_posts',
  },
] as const satisfies readonly Endpoint[]
