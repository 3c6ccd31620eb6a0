/** What the headers of an answer say about waiting and about the budget (spec/gaps.md 1). Pure. */

type Headers = Readonly<Record<string, string>>

/**
 * Milliseconds that the service asks us to wait, counted from now: the later of `retry-after` and the reset of the limit.
 * Undefined when it gives no readable advice. Its own `date` is the clock where there is one, so that ours may be off.
 */
export function adviceMs(headers: Headers, nowMs: number): number | undefined {
  const now = serviceNow(headers, nowMs)
  const waits = [retryAfterMs(headers['retry-after'], now), resetMs(headers, now)].filter((wait) => wait !== undefined)
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

/** Seconds, or an HTTP date (RFC 9110 10.2.3); one already past asks for nothing. */
function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const seconds = wholeNumber(header.trim())
  if (seconds !== undefined) return seconds * 1000
  const at = header.endsWith('GMT') ? Date.parse(header) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

function resetMs(headers: Headers, now: number): number | undefined {
  const reset = wholeNumber(headers['x-account-rate-limit-reset'] ?? headers['x-rate-limit-reset'])
  if (reset === undefined) return undefined
  // Epoch seconds as documented; some servers count down instead.
  return reset < 1_000_000_000 ? reset * 1000 : Math.max(0, reset * 1000 - now)
}

function serviceNow(headers: Headers, nowMs: number): number {
  const date = Date.parse(headers['date'] ?? '')
  return Number.isNaN(date) ? nowMs : date
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
