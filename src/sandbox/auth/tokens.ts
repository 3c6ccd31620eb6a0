/** State of the auth area: request, access and app-only tokens (spec 3.2). */
import type { SandboxUser, World } from '../area.ts'
import { FIXED_USER } from '../firstIds.ts'

export interface AccessToken {
  readonly token: string
  readonly secret: string
  readonly userId: string
  readonly access: 'read' | 'write'
  active: boolean
}

export interface RequestToken {
  readonly token: string
  readonly secret: string
  readonly callback: string
  readonly access: 'read' | 'write'
  /** Created when the user agrees: a PIN, or a text for the callback. Null before. */
  verifier: string | null
  userId: string | null
  /** The authorization page accepts only `new`, the exchange for an access token only `allowed`. */
  state: 'new' | 'allowed' | 'denied' | 'used'
}

export interface AuthState {
  readonly accessTokens: Map<string, AccessToken>
  readonly requestTokens: Map<string, RequestToken>
  /** App-only token as it is sent, with its percent-escapes; null if none is valid (spec 3.2). */
  bearer: string | null
  /** Ids of users who granted access. `oauth/authenticate` shows them no page again, unless `force_login` is set. */
  readonly granted: Set<string>
}

/** Event of the journal: an added user. Here and not in `users.ts`, because that imports `areaRefs`, which has this type. */
export interface UserAdded {
  /** Old name of the kind, so that the state files of earlier versions stay readable. */
  readonly kind: 'person'
  readonly user: SandboxUser
  readonly accounts: readonly { readonly id: string; readonly role: string }[]
  readonly token: string
  readonly secret: string
}

/** Event of the journal: a fault invalidated the app-only token. */
export interface BearerExpired {
  readonly kind: 'bearer_expired'
}

export function createAuthState(world: World): AuthState {
  const { accessToken, accessTokenSecret } = world.credentials
  return {
    accessTokens: new Map([
      [accessToken, { token: accessToken, secret: accessTokenSecret, userId: FIXED_USER, access: 'write', active: true }],
    ]),
    requestTokens: new Map(),
    bearer: null,
    granted: new Set(),
  }
}

/** Restores the state, and adds the access token of this process, which may differ from that of the process that wrote the journal. */
export function loadAuthState(world: World, state: AuthState): AuthState {
  for (const [token, access] of createAuthState(world).accessTokens)
    if (!state.accessTokens.has(token)) state.accessTokens.set(token, access)
  return state
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Returns a random text, derived from the seed, so that a replayed journal issues the same tokens. */
export function randomText(world: World, length: number): string {
  let text = ''
  while (text.length < length) text += LETTERS[Math.floor(world.random() * LETTERS.length)] ?? 'A'
  return text
}
