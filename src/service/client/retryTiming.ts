/** How long to wait before the next sending. Pure: tables of headers and times. */

export type Headers = Readonly<Record<string, string>>

/**
 * When the service says that the next request is welcome, in epoch milliseconds: the later of `Retry-After` and the reset
 * of whichever quota is used up. Undefined where it says nothing that can be read: fall back to `backoffMs`. Not capped.
 *
 * The account trio governs where it is present; the user trio is then an app-wide quota (spec/gaps.md 1).
 */
export function adviceMs(headers: Headers, nowMs: number): number | undefined {
  const after = headers['retry-after'] === undefined ? undefined : retryAfterMs(headers['retry-after'], nowMs)
  const times = after === undefined ? [] : [nowMs + after]
  const account = quota(headers, 'x-account-rate-limit', nowMs)
  const user = quota(headers, 'x-rate-limit', nowMs)
  const spent = [account, user].filter((one) => one?.remaining === 0)
  // A refusal with quota left comes of another scope (spec/gaps.md 1 'Window'); the governing reset is the best guess.
  for (const one of spent.length > 0 ? spent : [account ?? user]) {
    if (one?.resetMs !== undefined) times.push(one.resetMs)
  }
  return times.length === 0 ? undefined : Math.max(...times)
}

/**
 * Wait asked for by a `Retry-After` header, in milliseconds from `nowMs`. Undefined if unreadable; never negative.
 * Source: RFC 9110 section 10.2.3, delay-seconds or HTTP-date.
 */
export function retryAfterMs(header: string, nowMs: number): number | undefined {
  const value = header.trim()
  if (/^\d{1,12}$/.test(value)) return Number(value) * 1000
  const at = value.endsWith('GMT') ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}

/**
 * Capped exponential backoff with full jitter: anything from 0 to `baseMs · 2^attempt`, at most `capMs`.
 *
 * @param attempt how many sendings have failed before this one, from 0
 * @param random from 0 to below 1
 */
export function backoffMs(
  attempt: number,
  random: number,
  { baseMs = 1_000, capMs = 60_000 }: { readonly baseMs?: number; readonly capMs?: number } = {},
): number {
  return Math.floor(random * Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30)))
}

interface Quota {
  readonly remaining: number | undefined
  readonly resetMs: number | undefined
}

function quota(headers: Headers, prefix: string, nowMs: number): Quota | undefined {
  const [remaining, reset] = [headers[`${prefix}-remaining`], headers[`${prefix}-reset`]]
  if (remaining === undefined && reset === undefined) return undefined
  return {
    remaining: remaining !== undefined && /^\d+$/.test(remaining.trim()) ? Number(remaining) : undefined,
    resetMs: resetAtMs(reset, nowMs),
  }
}

/**
 * End of a quota's window, in epoch milliseconds. Epoch seconds by the documentation; seconds from now and epoch milliseconds
 * are told apart by their size. Undefined if unreadable.
 */
export function resetAtMs(reset: string | undefined, nowMs: number): number | undefined {
  if (reset === undefined || !/^\d{1,15}$/.test(reset.trim())) return undefined
  const value = Number(reset)
  if (value < 100_000_000) return nowMs + value * 1000
  return value < 100_000_000_000 ? value * 1000 : value
}
