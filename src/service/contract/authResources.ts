/** Resources of authentication (spec 2.1). */
import { field, texts, type Resource } from './resource.ts'

export const authResources = {
  requestToken: {
    fields: texts('oauth_token', 'oauth_token_secret', 'oauth_callback_confirmed'),
    source: 'spec 2.1; form-encoded',
  },
  accessToken: {
    fields: texts('oauth_token', 'oauth_token_secret', 'user_id', 'screen_name'),
    source: 'spec 2.1; form-encoded',
  },
  invalidatedToken: { fields: [field('access_token', 'string')], source: 'spec 2.1' },
  bearerToken: {
    fields: texts('token_type', 'access_token'),
    source: 'docs/spec-notes.md#tokens',
  },
  page: { fields: [], source: 'spec 4.1: a page for a browser' },
} as const satisfies Readonly<Record<string, Resource>>
