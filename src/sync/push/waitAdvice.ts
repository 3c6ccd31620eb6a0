/** What the headers of an answer say about waiting and about the budget (spec/gaps.md 1). Pure. */
import { resetAtMs, retryAfterMs } from '../../service/client/retryTiming.ts'

type Headers = Readonly<Record<string, string>>

/**
 * Milliseconds that the service asks us to wait, counted from now: the later of `retry-after` and the reset of the limit.
 * Undefined when it gives no readable advice. Its own `date` is the clock where there is one, so that ours may be off.
 */
export function adviceMs(headers: Headers, nowMs: number): number | undefined {
  const now = serviceNow(headers, nowMs)
  const after = headers['retry-after']
  const waits = [after === undefined ? undefined : retryAfterMs(after, now), resetMs(headers, now)].filter((wait) => wait !== undefined)
  return waits.length === 0 ? undefined : Math.max(...waits)
}

export interface StatedLimit {
  readonly limit?: number
  readonly remaining?: number
  /** Milliseconds until the window ends. */
  readonly resetMs?: number
}

/** The trio that governs: the account's where it is sent, else the user's. */
export function statedLimit(headers: Headers, nowMs: number): StatedLimit {
  const prefix = headers['x-account-rate-limit-limit'] === undefined ? 'x-rate-limit' : 'x-account-rate-limit'
  const limit = wholeNumber(headers[`${prefix}-limit`])
  const remaining = wholeNumber(headers[`${prefix}-remaining`])
  const reset = resetMs(headers, serviceNow(headers, nowMs))
  return {
    ...(limit === undefined ? {} : { limit }),
    ...(remaining === undefined ? {} : { remaining }),
    ...(reset === undefined ? {} : { resetMs: reset }),
  }
}

function resetMs(headers: Headers, now: number): number | undefined {
  const at = resetAtMs(headers['x-account-rate-limit-reset'] ?? headers['x-rate-limit-reset'], now)
  return at === undefined ? undefined : Math.max(0, at - now)
}

function serviceNow(headers: Headers, nowMs: number): number {
  const date = Date.parse(headers['date'] ?? '')
  return Number.isNaN(date) ? nowMs : date
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
