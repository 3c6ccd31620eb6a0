/** State of the auth area: request, access and app-only tokens (spec 3.2). */
import type { SandboxUser, World } from '../area.ts'
import { FIXED_USER } from '../firstIds.ts'

export interface AccessToken {
  readonly token: string
  readonly secret: string
  readonly userId: string
  /** `read` if the request token was requested with `svc_auth_access_type=read`. */
  readonly access: 'read' | 'write'
  /** False once the token was invalidated. */
  active: boolean
}

/** Request token of the three-legged flow. */
export interface RequestToken {
  readonly token: string
  readonly secret: string
  /** URL to which the browser is redirected, or `oob` for a page with a PIN. */
  readonly callback: string
  readonly access: 'read' | 'write'
  /** PIN, or text that the redirect adds to the callback. Null until a user allows the access. */
  verifier: string | null
  /** Id of the user who allowed the access; null before. */
  userId: string | null
  /** State of the token. `new` becomes `denied` or `allowed`. `allowed` becomes `used` when the token is exchanged for an access token. */
  state: 'new' | 'allowed' | 'denied' | 'used'
}

/** State of the area. The keys of the maps are the tokens themselves. */
export interface AuthState {
  readonly accessTokens: Map<string, AccessToken>
  readonly requestTokens: Map<string, RequestToken>
  /** App-only token as clients send it, with its percent-escapes; null if there is none (spec 3.2). */
  bearer: string | null
  /** Ids of users who allowed access once. `oauth/authenticate` does not show them the page again, except with `force_login`. */
  readonly granted: Set<string>
}

/** Event of the journal: an added user. */
export interface UserAdded {
  readonly kind: 'user'
  readonly user: SandboxUser
  readonly accounts: readonly { readonly id: string; readonly role: string }[]
  /** Access token of the user, and its secret. */
  readonly token: string
  readonly secret: string
}

/** Event of the journal: a fault invalidated the app-only token. */
export interface BearerExpired {
  readonly kind: 'bearer_expired'
}

/** Creates the first state: only the access token of the sandbox's credentials is valid. */
export function createAuthState(world: World): AuthState {
  const fixedToken = ownToken(world)
  return { accessTokens: new Map([[fixedToken.token, fixedToken]]), requestTokens: new Map(), bearer: null, granted: new Set() }
}

/**
 * Adds the access token of the sandbox's credentials to a restored state. The state may be of a sandbox with other credentials. If the
 * token was invalidated, it stays invalid.
 */
export function loadAuthState(world: World, state: AuthState): AuthState {
  const fixedToken = ownToken(world)
  state.accessTokens.set(fixedToken.token, { ...fixedToken, ...state.accessTokens.get(fixedToken.token), secret: fixedToken.secret })
  return state
}

function ownToken({ credentials: { accessToken: token, accessTokenSecret: secret } }: World): AccessToken {
  return { token, secret, userId: FIXED_USER, access: 'write', active: true }
}
