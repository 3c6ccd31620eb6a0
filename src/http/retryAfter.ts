/**
 * Computes the wait before the next request: the wait that a response requests (`Retry-After` and others), else a growing backoff.
 * The client, push and sources share it.
 */

/** Headers by name in lower case. */
export type Headers = Readonly<Record<string, string>>

/**
 * Returns the milliseconds during which no request may be sent to the endpoints of the same limit. Undefined if the response requests no
 * wait. Not capped.
 *
 * - `Retry-After` applies to every status that means "try later" (`isTryLater`). RFC 9110 defines it for 503, RFC 6585 for 429.
 * - An exhausted quota (`remaining` 0) requires a wait until its reset, for any status.
 * - If no quota is exhausted, a 429 is about another limit. The reset of the account's quota, else of the user's quota, is the best
 *   estimate of its end.
 */
export function requestedWaitMs(answer: { readonly status: number; readonly headers: Headers }, nowMs: number): number | undefined {
  const { status, headers } = answer
  const now = serviceNow(headers, nowMs)
  const waits: (number | undefined)[] = []
  if (isTryLater(status) && headers['retry-after'] !== undefined) waits.push(retryAfterMs(headers['retry-after'], now))

  const quotas = [readQuota(headers, 'x-account-rate-limit', now), readQuota(headers, 'x-rate-limit', now)].filter(
    (quota) => quota !== undefined,
  )
  const exhausted = quotas.filter(({ remaining }) => remaining === 0)
  // `quotas` has the account's quota first.
  const applied = exhausted.length === 0 && status === 429 ? quotas.slice(0, 1) : exhausted
  waits.push(...applied.map(({ resetInMs }) => resetInMs))

  const known = waits.filter((wait) => wait !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

/** Returns the number of requests per window: the account's limit if the response has it, else the user's; undefined without either. */
export function readLimit(headers: Headers): number | undefined {
  return wholeNumber(headers['x-account-rate-limit-limit'] ?? headers['x-rate-limit-limit'])
}

/** Date in the form of `asctime`, which names no zone and is in UTC (RFC 9110 section 5.6.7). */
const asctimeDate = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/

/**
 * Returns the wait that a `Retry-After` header requests, in milliseconds from `nowMs`. Undefined if unreadable; never negative. If the
 * header has several numbers of seconds, returns the longest wait.
 * Source: RFC 9110 section 10.2.3, delay-seconds or HTTP-date in any of its three forms.
 */
export function retryAfterMs(header: string, nowMs: number): number | undefined {
  const value = header.trim()
  if (/^\d+(?:, ?\d+)*$/.test(value)) return Math.max(...value.split(',').map(Number)) * 1000
  const date = asctimeDate.test(value) ? `${value} GMT` : value
  const at = date.endsWith('GMT') ? Date.parse(date) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}

/**
 * Longest requested wait in milliseconds that client and push follow. A longer wait may be a mistake of the service, so a request is tried
 * after this time. Sources have their own limit, `longestWaitMs` (`sourceRetryLimit.ts`).
 */
export const longestRequestedWaitMs = 15 * 60_000

/** Bounds of a backoff in milliseconds: the first wait and the longest one. */
export interface Backoff {
  readonly backoffMinMs: number
  readonly backoffMaxMs: number
}

/** Returns a random wait in milliseconds up to `longestBackoffMs` (full jitter). So callers that failed together do not retry together. */
export function backoffMs(attempt: number, backoff: Backoff, random: () => number = Math.random): number {
  return Math.ceil(random() * longestBackoffMs(attempt, backoff))
}

/** Returns `min · 2^(attempt − 1)` milliseconds, at most `max`. `attempt`: number of failed attempts, from 1; 0 counts as 1. */
export function longestBackoffMs(attempt: number, { backoffMinMs, backoffMaxMs }: Backoff): number {
  return Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.min(30, Math.max(0, attempt - 1)))
}

/** Returns true for a status whose `Retry-After` is followed, because the same request may succeed later. */
function isTryLater(status: number): boolean {
  return status === 408 || status === 423 || status === 429 || status >= 500
}

/** Quota of one scope in the headers. */
interface Quota {
  readonly remaining: number | undefined
  readonly resetInMs: number | undefined
}

/** Reads the quota of the headers with this prefix; undefined if they have neither a remaining number nor a reset. */
function readQuota(headers: Headers, prefix: string, now: number): Quota | undefined {
  const resetAt = resetAtMs(headers[`${prefix}-reset`], now)
  const remaining = wholeNumber(headers[`${prefix}-remaining`])
  if (remaining === undefined && resetAt === undefined) return undefined
  return { remaining, resetInMs: resetAt === undefined ? undefined : Math.max(0, resetAt - now) }
}

/**
 * Returns the end of a quota's window in epoch milliseconds. The documented unit is epoch seconds. Seconds from now and epoch milliseconds
 * are recognized by their size.
 */
function resetAtMs(reset: string | undefined, nowMs: number): number | undefined {
  const value = wholeNumber(reset)
  if (value === undefined) return undefined
  if (value < 100_000_000) return nowMs + value * 1000
  return value < 100_000_000_000 ? value * 1000 : value
}

/** Returns the time in `Date`, else `nowMs`. With the time of the service, a wrong local clock does not change a wait. */
function serviceNow(headers: Headers, nowMs: number): number {
  const date = Date.parse(headers['date'] ?? '')
  return Number.isNaN(date) ? nowMs : date
}

/** Returns a whole number of at most 15 digits; undefined for any other text. */
function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text.trim()) ? Number(text) : undefined
}
