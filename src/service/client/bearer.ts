/** Fetches and caches the app-only token (spec 5 rule 3; docs/spec-notes.md#tokens). */
import type { Clock } from '../../clock.ts'
import { percentEncode } from './encode.ts'
import type { Proof } from './sender.ts'
import { BearerRefusedError } from './serviceErrors.ts'
import type { CallOptions } from './typed.ts'

/** Cache of the app-only token. */
export interface Bearer {
  /**
   * Returns the cached token, or fetches a token.
   *
   * Concurrent callers share one request, which is retried and ignores their options. A call with `retry: false` sends its own request
   * once, with its own options.
   *
   * @throws {BearerRefusedError} if the service refuses a token with code 99, and for a minute after that without a request
   * @throws {ServiceError} if the request fails otherwise
   */
  readonly get: (options?: CallOptions) => Promise<string>
  /** Removes `token` from the cache, because the token is no longer valid. Does nothing if the cache has another token. */
  readonly drop: (token: string) => void
  /** Drops the token that a refused request was sent with. Returns false if the request had other credentials. */
  readonly dropRefused: (proof: Proof) => boolean
}

/** Time after a refusal with code 99 in which `get` throws the same error without a request, because requests would prolong the refusal. */
const quietMs = 60_000

/** Creates an empty cache. `fetchToken`: requests a token from the service, with the options of a call. */
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
  const drop = (dropped: string) => {
    if (token === dropped) token = undefined
  }
  return {
    async get(options = {}) {
      if (token !== undefined) return token
      if (refused !== undefined && clock.monotonic() < refused.untilMs) throw refused.error
      if (options.retry === false) return fetchOnce(options)
      pending ??= fetchOnce({}).finally(() => (pending = undefined))
      return pending
    },
    drop,
    dropRefused(proof) {
      if (proof.kind !== 'header' || !proof.authorization.startsWith('Bearer ')) return false
      drop(proof.authorization.slice('Bearer '.length))
      return true
    },
  }
}

/** Returns the value of the `Authorization` header for basic authentication. Key and secret are URL-encoded before they are joined. */
export function basicAuthorization(consumerKey: string, consumerSecret: string): string {
  return `Basic ${Buffer.from(`${percentEncode(consumerKey)}:${percentEncode(consumerSecret)}`).toString('base64')}`
}
