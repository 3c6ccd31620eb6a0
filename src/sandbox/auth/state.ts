/** State of the auth area: request, access and app-only tokens (spec 3.2). */
import type { SandboxUser, World } from '../area.ts'
import { FIXED_USER } from '../firstIds.ts'

/** Access token of a user. */
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
  /** URL, or `oob` for the PIN. */
  readonly callback: string
  readonly access: 'read' | 'write'
  /** PIN, or text for the callback. Created when the user allows the access; null before. */
  verifier: string | null
  /** User who allowed the access. Null before. */
  userId: string | null
  /** The authorization page accepts only `new`, the exchange for an access token only `allowed`. */
  state: 'new' | 'allowed' | 'denied' | 'used'
}

/** State of the area. The keys of the maps are the tokens themselves. */
export interface AuthState {
  readonly accessTokens: Map<string, AccessToken>
  readonly requestTokens: Map<string, RequestToken>
  /** App-only token as it is sent, with its percent-escapes; null if none is valid (spec 3.2). */
  bearer: string | null
  /** Ids of users who granted access. `oauth/authenticate` does not show them the page again, unless `force_login` is set. */
  readonly granted: Set<string>
}

/** Event of the journal: an added user. It is not in `users.ts`, because `users.ts` imports `areaRefs.ts`, which imports this type. */
export interface UserAdded {
  /** Name from an earlier version, kept so that its state files can be read. */
  readonly kind: 'person'
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
  const own = ownToken(world)
  return { accessTokens: new Map([[own.token, own]]), requestTokens: new Map(), bearer: null, granted: new Set() }
}

/**
 * Adds the access token of the sandbox's credentials to the restored state, which may come from a sandbox with other credentials. If this
 * token was invalidated, it stays invalid, as in a replay of the journal.
 */
export function loadAuthState(world: World, state: AuthState): AuthState {
  const own = ownToken(world)
  state.accessTokens.set(own.token, { ...own, ...state.accessTokens.get(own.token), secret: own.secret })
  return state
}

function ownToken({ credentials: { accessToken: token, accessTokenSecret: secret } }: World): AccessToken {
  return { token, secret, userId: FIXED_USER, access: 'write', active: true }
}
