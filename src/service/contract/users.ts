/** Endpoints of users, single posts and the search of posts on the core host. Outside the specification: common clients call them. */
import type { Endpoint } from './endpoint.ts'
import { path, query, sentBySdks } from './parameter.ts'
import { mediaFields, newestEditHistory, placeFields, pollFields, postExpansions, postFields, userFields } from './postResources.ts'

const source = 'outside the specification: common clients call it'
/** Properties of most endpoints. An endpoint may replace some. */
const shared = {
  method: 'GET',
  host: 'core',
  auth: 'bearer-or-user',
  body: 'none',
  limit: 'v2_lookups',
  repeatable: true,
  outsideSpec: true,
  source,
} as const
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
    ...shared,
    path: '/1.1/account/verify_credentials',
    aliases: ['/1.1/account/verify_credentials.json'],
    auth: 'user',
    parameters: [...coreFlags, query('include_email', 'boolean', sentBySdks)],
    answer: { resource: 'coreUser', many: false },
  },
  {
    name: 'users.show',
    ...shared,
    path: '/1.1/users/show',
    aliases: ['/1.1/users/show.json'],
    parameters: [query('user_id', 'long', sentBySdks), query('screen_name', 'string', sentBySdks), ...coreFlags],
    rules: [{ kind: 'at-least-one', names: ['user_id', 'screen_name'], source }],
    answer: { resource: 'coreUser', many: false },
  },
  {
    name: 'users.lookup',
    ...shared,
    path: '/1.1/users/lookup',
    aliases: ['/1.1/users/lookup.json'],
    parameters: [
      query('user_id', 'csv', { maxItems: 100, ...sentBySdks }),
      query('screen_name', 'csv', { maxItems: 100, ...sentBySdks }),
      ...coreFlags,
    ],
    rules: [{ kind: 'at-least-one', names: ['user_id', 'screen_name'], source }],
    answer: { resource: 'coreUser', many: true },
  },
  {
    name: 'users.me',
    ...shared,
    path: '/2/users/me',
    auth: 'user',
    parameters: userSelection,
    answer: { resource: 'postUser', many: false },
  },
  {
    name: 'users.byUsername',
    ...shared,
    path: '/2/users/by/username/:username',
    parameters: [path('username'), ...userSelection],
    answer: { resource: 'postUser', many: false },
  },
  {
    name: 'users.byUsernames',
    ...shared,
    path: '/2/users/by',
    parameters: [query('usernames', 'csv', { required: true, maxItems: 100, ...sentBySdks }), ...userSelection],
    answer: { resource: 'postUser', many: true },
  },
  {
    name: 'users.list',
    ...shared,
    path: '/2/users',
    parameters: [query('ids', 'csv', { required: true, maxItems: 100, ...sentBySdks }), ...userSelection],
    answer: { resource: 'postUser', many: true },
  },
  {
    name: 'users.get',
    ...shared,
    path: '/2/users/:id',
    parameters: [path('id'), ...userSelection],
    answer: { resource: 'postUser', many: false },
  },
  {
    name: 'posts.search',
    ...shared,
    path: '/2/tweets/search/recent',
    parameters: [
      query('query', 'string', { required: true, minLength: 1, maxLength: 512, ...sentBySdks }),
      query('max_results', 'integer', { default: 10, min: 10, max: 100, ...sentBySdks }),
      query('next_token', 'string', sentBySdks),
      query('start_time', 'timestamp', sentBySdks),
      query('end_time', 'timestamp', sentBySdks),
      ...postSelection,
    ],
    answer: { resource: 'post', many: true },
  },
  {
    name: 'posts.get',
    ...shared,
    path: '/2/tweets/:id',
    parameters: [path('id'), ...postSelection],
    answer: { resource: 'post', many: false },
  },
  {
    name: 'posts.delete',
    ...shared,
    path: '/2/tweets/:id',
    auth: 'user',
    parameters: [path('id')],
    answer: { resource: 'deletedPost', many: false },
    method: 'DELETE',
    limit: 'v2_posts',
  },
] as const satisfies readonly Endpoint[]
