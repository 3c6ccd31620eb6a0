/** Fetches and caches the app-only token (spec 5 rule 3; docs/spec-notes.md#tokens). */
import type { Clock } from '../../clock.ts'
import { percentEncode } from './encode.ts'
import { BearerRefusedError } from './serviceErrors.ts'
import type { CallOptions } from './typed.ts'

export interface Bearer {
  /**
   * Returns the cached token, or fetches a token. Concurrent callers share one request. A call with `retry: false` sends its own request,
   * only once.
   * @throws {BearerRefusedError} without a request, for a minute after the service refused a token with code 99
   */
  readonly get: (options?: CallOptions) => Promise<string>
  /** Removes `token` from the cache, because the token is no longer valid. Does nothing if the cache has another token. */
  readonly drop: (token: string) => void
}

/** Time after a refusal with code 99 in which `get` throws the same error without a request, because requests would prolong the refusal. */
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

/** Returns the header of basic authentication. Key and secret are URL-encoded before they are joined. */
export function basicAuthorization(consumerKey: string, consumerSecret: string): string {
  return `Basic ${Buffer.from(`${percentEncode(consumerKey)}:${percentEncode(consumerSecret)}`).toString('base64')}`
}
