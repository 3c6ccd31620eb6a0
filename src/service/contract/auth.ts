/** Endpoints of tokens: the three-legged flow and the app-only token (spec 4.1, 5; docs/spec-notes.md#tokens). */
import type { Endpoint } from './endpoint.ts'
import { query } from './parameter.ts'

const oauth = <const Name extends string>(name: Name, source: string) =>
  ({ name, in: 'oauth', type: 'string', required: true, source }) as const

/** Properties of the pages on which a person allows the application. */
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
    method: 'POST',
    host: 'core',
    path: '/oauth/request_token',
    auth: 'consumer',
    body: 'form',
    parameters: [
      oauth('oauth_callback', 'spec 4.1: a URL approved in the app settings, or oob'),
      query('svc_auth_access_type', 'enum', { values: ['read', 'write'], source: 'spec 4.1' }),
    ],
    rules: [{ kind: 'other', text: '`oauth_nonce` accepts ASCII only', source: 'spec 4.1' }],
    answer: { resource: 'requestToken', many: false },
    limit: 'oauth',
    repeatable: true,
    source: 'spec 4.1',
  },
  { name: 'oauth.authorize', path: '/oauth/authorize', ...loginPage },
  { name: 'oauth.authenticate', path: '/oauth/authenticate', ...loginPage },
  {
    name: 'oauth.accessToken',
    method: 'POST',
    host: 'core',
    path: '/oauth/access_token',
    auth: 'request-token',
    body: 'form',
    parameters: [
      oauth('oauth_token', 'spec 4.1: of the request token step'),
      oauth('oauth_verifier', 'spec 4.1: of the callback URL, or the PIN'),
    ],
    answer: { resource: 'accessToken', many: false },
    limit: 'oauth',
    // A request token can be exchanged once: after a lost answer, the service refuses a second attempt (docs/spec-notes.md#tokens).
    repeatable: false,
    source: 'spec 4.1',
  },
  {
    name: 'oauth.invalidateToken',
    method: 'POST',
    host: 'core',
    path: '/1.1/oauth/invalidate_token',
    aliases: ['/1.1/oauth/invalidate_token.json'],
    auth: 'user',
    body: 'form',
    parameters: [],
    answer: { resource: 'invalidatedToken', many: false },
    limit: 'oauth',
    repeatable: false,
    source: 'spec 4.1',
  },
  {
    name: 'oauth2.token',
    method: 'POST',
    host: 'core',
    path: '/oauth2/token',
    auth: 'basic',
    body: 'form',
    parameters: [query('grant_type', 'enum', { required: true, values: ['client_credentials'], source: 'spec 4.1' })],
    answer: { resource: 'bearerToken', many: false },
    limit: 'bearer_tokens',
    repeatable: true,
    source: 'spec 4.1; spec 3.2: one outstanding token per app',
  },
  {
    name: 'oauth2.invalidateToken',
    method: 'POST',
    host: 'core',
    path: '/oauth2/invalidate_token',
    auth: 'basic-or-user',
    body: 'form',
    parameters: [query('access_token', 'string', { required: true, source: 'docs/spec-notes.md#tokens' })],
    answer: { resource: 'invalidatedToken', many: false },
    limit: 'oauth',
    repeatable: false,
    source: 'spec 4.1',
  },
] as const satisfies readonly Endpoint[]
