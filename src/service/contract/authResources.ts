/** Resources of authentication (spec 2.1). */
import { field, type Resource } from './resource.ts'

export const authResources = {
  requestToken: {
    fields: [field('oauth_token', 'string'), field('oauth_token_secret', 'string'), field('oauth_callback_confirmed', 'string')],
    source: 'spec 2.1; form-encoded',
  },
  accessToken: {
    fields: [
      field('oauth_token', 'string'),
      field('oauth_token_secret', 'string'),
      field('user_id', 'string'),
      field('screen_name', 'string'),
    ],
    source: 'spec 2.1; form-encoded',
  },
  invalidatedToken: { fields: [field('access_token', 'string')], source: 'spec 2.1' },
  bearerToken: {
    fields: [field('token_type', 'string'), field('access_token', 'string')],
    source: 'docs/spec-notes.md#tokens',
  },
  page: { fields: [], source: 'spec 4.1: a page for a browser' },
} as const satisfies Readonly<Record<string, Resource>>
