/** The app-only token: fetched once, shared by all who wait for it, never decoded (spec 5 rule 3; docs/spec-notes.md#tokens). */
import type { Clock } from '../../clock.ts'
import { percentEncode } from './encode.ts'
import { BearerRefusedError } from './serviceErrors.ts'
import type { CallOptions } from './typed.ts'

export interface Bearer {
  /** Returns the token in use, or a new one. Concurrent callers share one request; a call with `retry: false` sends its own, once. */
  readonly get: (options?: CallOptions) => Promise<string>
  /** The service no longer takes `token`: the next `get` requests another, unless another call already did. */
  readonly drop: (token: string) => void
}

/** After code 99 further requests only make it worse: for this long the refusal is repeated from memory. */
const quietMs = 60_000

export function createBearer(fetchToken: (options: CallOptions) => Promise<string>, clock: Clock): Bearer {
  let token: string | undefined
  let pending: Promise<string> | undefined
  let refused: { readonly error: BearerRefusedError; readonly untilMs: number } | undefined

  const fetchOnce = async (options: CallOptions) => {
    try {
      token = await fetchToken(options)
      return token
    } catch (error) {
      if (error instanceof BearerRefusedError) refused = { error, untilMs: clock.monotonic() + quietMs }
      throw error
    }
  }
  return {
    async get(options = {}) {
      if (token !== undefined) return token
      if (refused !== undefined && clock.monotonic() < refused.untilMs) throw refused.error
      if (options.retry === false) return fetchOnce(options)
      pending ??= fetchOnce({}).finally(() => (pending = undefined))
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
