/** Tokens of all kinds and their lives (spec 3.2). Plain data: snapshots copy it. */
import type { World } from '../area.ts'
import { FIXED_USER } from '../fixed.ts'

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
  /** Set when a person allowed it. */
  verifier: string | null
  userId: string | null
  /** `denied` and `used` tokens are refused. */
  state: 'new' | 'allowed' | 'denied' | 'used'
}

export interface AuthState {
  readonly accessTokens: Map<string, AccessToken>
  readonly requestTokens: Map<string, RequestToken>
  /** At most one outstanding (spec 3.2); as sent on the wire, percent-escapes included. */
  bearer: string | null
  /** Users who already granted access: `authenticate` asks them no more. */
  readonly granted: Set<string>
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

/** Credentials of the command line may be others than those of the process that wrote the file. */
export function loadAuthState(world: World, plain: unknown): AuthState {
  // What createAuthState made, and requests changed.
  const state = plain as AuthState
  for (const [token, access] of createAuthState(world).accessTokens)
    if (!state.accessTokens.has(token)) state.accessTokens.set(token, access)
  return state
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Random text from the sandbox's seed, so that a replayed journal issues the same tokens. */
export function randomText(world: World, length: number): string {
  let text = ''
  while (text.length < length) text += LETTERS[Math.floor(world.random() * LETTERS.length)] ?? 'A'
  return text
}
