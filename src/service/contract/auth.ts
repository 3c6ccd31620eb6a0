/** Endpoints of tokens: the three-legged flow and the app-only token (spec 4.1, 5; docs/spec-notes.md#tokens). */
import type { Endpoint } from './endpoint.ts'
import { query } from './parameter.ts'

const oauthParameter = <const Name extends string>(name: Name, source: string) =>
  ({ name, in: 'oauth', type: 'string', required: true, source }) as const

/** Properties of most requests for tokens. An endpoint may replace some. */
const tokenRequest = { method: 'POST', host: 'core', body: 'form', limit: 'oauth', source: 'spec 4.1' } as const

/** Properties of the pages on which a user authorizes the application. */
const loginPage = {
  method: 'GET',
  host: 'core',
  auth: 'browser',
  body: 'none',
  parameters: [
    query('oauth_token', 'string', { required: true, source: 'spec 4.1' }),
    query('force_login', 'boolean', { default: false, source: 'spec 4.1' }),
    query('screen_name', 'string', { source: 'spec 4.1' }),
  ],
  answer: { resource: 'page', many: false },
  limit: 'oauth',
  repeatable: true,
  source: 'spec 4.1',
} as const

export const authEndpoints = [
  {
    name: 'oauth.requestToken',
    ...tokenRequest,
    path: '/oauth/request_token',
    auth: 'consumer',
    parameters: [
      oauthParameter('oauth_callback', 'spec 4.1: a URL approved in the app settings, or oob'),
      query('svc_auth_access_type', 'enum', { values: ['read', 'write'], source: 'spec 4.1' }),
    ],
    rules: [{ kind: 'other', text: '`oauth_nonce` accepts ASCII only', source: 'spec 4.1' }],
    answer: { resource: 'requestToken', many: false },
    repeatable: true,
  },
  { name: 'oauth.authorize', path: '/oauth/authorize', ...loginPage },
  { name: 'oauth.authenticate', path: '/oauth/authenticate', ...loginPage },
  {
    name: 'oauth.accessToken',
    ...tokenRequest,
    path: '/oauth/access_token',
    auth: 'request-token',
    parameters: [
      oauthParameter('oauth_token', 'spec 4.1: of the request token step'),
      oauthParameter('oauth_verifier', 'spec 4.1: of the callback URL, or the PIN'),
    ],
    answer: { resource: 'accessToken', many: false },
    // A request token can be exchanged once: after a lost answer, the service refuses a second attempt (docs/spec-notes.md#tokens).
    repeatable: false,
  },
  {
    name: 'oauth.invalidateToken',
    ...tokenRequest,
    path: '/1.1/oauth/invalidate_token',
    aliases: ['/1.1/oauth/invalidate_token.json'],
    auth: 'user',
    parameters: [],
    answer: { resource: 'invalidatedToken', many: false },
    repeatable: false,
  },
  {
    name: 'oauth2.token',
    ...tokenRequest,
    path: '/oauth2/token',
    auth: 'basic',
    parameters: [query('grant_type', 'enum', { required: true, values: ['client_credentials'], source: 'spec 4.1' })],
    answer: { resource: 'bearerToken', many: false },
    limit: 'bearer_tokens',
    repeatable: true,
    source: 'spec 4.1; spec 3.2: one outstanding token per app',
  },
  {
    name: 'oauth2.invalidateToken',
    ...tokenRequest,
    path: '/oauth2/invalidate_token',
    auth: 'basic-or-user',
    parameters: [query('access_token', 'string', { required: true, source: 'docs/spec-notes.md#tokens' })],
    answer: { resource: 'invalidatedToken', many: false },
    repeatable: false,
  },
] as const satisfies readonly Endpoint[]
