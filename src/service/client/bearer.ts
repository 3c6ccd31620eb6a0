/** Fetches and caches the app-only token (spec 5 rule 3; docs/spec-notes.md#tokens). */
import type { Clock } from '../../clock.ts'
import { percentEncode } from './encode.ts'
import type { Credentials } from './sender.ts'
import { BearerRefusedError, UnreachableError } from './serviceErrors.ts'
import type { CallOptions } from './typed.ts'

/** Cache of the app-only token. */
export interface Bearer {
  /**
   * Returns the cached token, or fetches a token. Concurrent callers share one request. The request ends early if the
   * `options.signal` of every caller is aborted. `options.timeoutMs` does not limit it. A call with `retry: false` sends its own request, only once.
   * @throws {UnreachableError} if `options.signal` is aborted
   * @throws {BearerRefusedError} without a request, for a minute after the service refused a token with code 99
   */
  readonly get: (options?: CallOptions) => Promise<string>
  /** Removes `token` from the cache, because the token is no longer valid. Does nothing if the cache has another token. */
  readonly drop: (token: string) => void
  /** Drops the token that a refused request was sent with. Returns false if the request had other credentials. */
  readonly dropRefused: (credentials: Credentials) => boolean
}

/**
 * Milliseconds after a refusal with code 99 in which `get` sends no request and throws the same error. A request would prolong the refusal.
 */
const quietMs = 60_000

/** Token request that several calls share. */
interface SharedRequest {
  readonly token: Promise<string>
  readonly controller: AbortController
  callers: number
}

export function createBearer(fetchToken: (options: CallOptions) => Promise<string>, clock: Clock): Bearer {
  let token: string | undefined
  let pending: SharedRequest | undefined
  let refusal: { readonly error: BearerRefusedError; readonly untilMs: number } | undefined

  const fetchOnce = async (options: CallOptions) => {
    try {
      token = await fetchToken(options)
      return token
    } catch (error) {
      if (error instanceof BearerRefusedError) refusal = { error, untilMs: clock.monotonic() + quietMs }
      throw error
    }
  }
  const drop = (dropped: string) => {
    if (token === dropped) token = undefined
  }
  return {
    async get(options = {}) {
      if (token !== undefined) return token
      if (refusal !== undefined && clock.monotonic() < refusal.untilMs) throw refusal.error
      if (options.retry === false) return fetchOnce(options)
      if (options.signal?.aborted === true) throw cancelledError()
      if (pending === undefined) {
        const controller = new AbortController()
        pending = { token: fetchOnce({ signal: controller.signal }), controller, callers: 0 }
      }
      const shared = pending
      shared.callers += 1
      try {
        return await unlessAborted(shared.token, options.signal)
      } finally {
        shared.callers -= 1
        if (shared.callers === 0) {
          // No effect on a request that is over.
          shared.controller.abort()
          if (pending === shared) pending = undefined
        }
      }
    },
    drop,
    dropRefused(credentials) {
      if (!isAppOnly(credentials)) return false
      drop(credentials.authorization.slice('Bearer '.length))
      return true
    },
  }
}

export function isAppOnly(credentials: Credentials): credentials is Extract<Credentials, { readonly kind: 'header' }> {
  return credentials.kind === 'header' && credentials.authorization.startsWith('Bearer ')
}

/** Returns the result of `shared`. @throws {UnreachableError} when `signal` is aborted; `shared` is not affected */
async function unlessAborted(shared: Promise<string>, signal: AbortSignal | undefined): Promise<string> {
  if (signal === undefined) return shared
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(cancelledError())
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([shared, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function cancelledError(): UnreachableError {
  return new UnreachableError('nothing was sent: the call was cancelled while it waited for an app-only token', {
    where: 'POST /oauth2/token',
    hint: 'Call again.',
  })
}

/** Returns the header of basic authentication. Key and secret are URL-encoded before they are joined. */
export function basicAuthorization(consumerKey: string, consumerSecret: string): string {
  return `Basic ${Buffer.from(`${percentEncode(consumerKey)}:${percentEncode(consumerSecret)}`).toString('base64')}`
}
