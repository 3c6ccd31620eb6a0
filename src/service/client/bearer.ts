/** The app-only token: fetched once, shared by all who wait for it, never decoded (spec 5 rule 3; docs/spec-notes.md#tokens). */
import type { Clock } from '../../clock.ts'
import { percentEncode } from './encode.ts'
import { BearerRefusedError } from './serviceErrors.ts'

export interface Bearer {
  /** The token in use, or a new one. Concurrent callers share one request. */
  readonly get: () => Promise<string>
  /** The service no longer takes `token`: the next `get` requests another, unless another call already did. */
  readonly drop: (token: string) => void
}

/** After code 99 further requests only make it worse: for this long the refusal is repeated from memory. */
const quietMs = 60_000

export function createBearer(fetchToken: () => Promise<string>, clock: Clock): Bearer {
  let token: string | undefined
  let pending: Promise<string> | undefined
  let refused: { readonly error: BearerRefusedError; readonly untilMs: number } | undefined

  const fetchOnce = async () => {
    try {
      token = await fetchToken()
      return token
    } catch (error) {
      if (error instanceof BearerRefusedError) refused = { error, untilMs: clock.monotonic() + quietMs }
      throw error
    } finally {
      pending = undefined
    }
  }
  return {
    async get() {
      if (token !== undefined) return token
      if (refused !== undefined && clock.monotonic() < refused.untilMs) throw refused.error
      pending ??= fetchOnce()
      return pending
    },
    drop(dropped) {
      if (token === dropped) token = undefined
    },
  }
}

/** Key and secret are URL-encoded before they are joined (docs/spec-notes.md#tokens 'oauth2/token'). */
export function basicAuthorization(consumerKey: string, consumerSecret: string): string {
  return `Basic ${Buffer.from(`${percentEncode(consumerKey)}:${percentEncode(consumerSecret)}`).toString('base64')}`
}
