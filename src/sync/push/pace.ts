/** Controls the number of requests in flight, and pauses while the service does not answer. */
import type { Clock } from '../../clock.ts'
import { backoffMs, type Backoff } from '../../http/waitPolicy.ts'

export interface PaceSettings extends Backoff {
  readonly concurrency: number
  readonly httpTimeoutMs: number
}

/** Minimum of requests in flight without failures, because a short push ends before its latency is known. */
const floor = 8
/** Part of the HTTP deadline that an answer may take on average before the number is reduced. */
const easyPart = 1 / 6

/**
 * Concurrency follows latency: twice the number that the allowance needs for the time from the start of an attempt to its answer,
 * within floor and cap. Recording the answer is not included. An overloaded service answers later with more requests: above a part
 * of the deadline the number falls as the latency rises, so that no request runs into its deadline behind the others. While requests
 * fail (no connection, no answer, 5xx), one request at a time is sent after growing pauses (docs/guarantees.md#bounded-retry).
 */
export class Pace {
  readonly #clock: Clock
  readonly #settings: PaceSettings
  readonly #perMs: number
  #latencyMs = 0
  #failures = 0
  #stillUntil = 0

  constructor(clock: Clock, settings: PaceSettings, allowance: { readonly limit: number; readonly windowMs: number }) {
    this.#clock = clock
    this.#settings = settings
    this.#perMs = allowance.limit / allowance.windowMs
  }

  /** Requests that may be in flight now. */
  get slots(): number {
    if (this.#failures > 0) return this.#clock.monotonic() < this.#stillUntil ? 0 : 1
    const needed = Math.max(floor, Math.ceil(this.#perMs * this.#latencyMs * 2))
    const easyMs = this.#settings.httpTimeoutMs * easyPart
    const share = this.#latencyMs > easyMs ? easyMs / this.#latencyMs : 1
    return Math.max(1, Math.ceil(Math.min(this.#settings.concurrency, needed) * share))
  }

  get failuresInRow(): number {
    return this.#failures
  }

  /** Milliseconds until the next probe. */
  get stillMs(): number {
    return this.#failures === 0 ? 0 : Math.max(0, this.#stillUntil - this.#clock.monotonic())
  }

  /** Counts any answer, `latencyMs` after its attempt started. */
  answered(latencyMs: number): void {
    this.#failures = 0
    this.#latencyMs = this.#latencyMs === 0 ? latencyMs : this.#latencyMs * 0.8 + latencyMs * 0.2
  }

  failed(): void {
    // Failures of concurrent requests count once.
    if (this.#failures > 0 && this.#clock.monotonic() < this.#stillUntil) return
    this.#failures++
    this.#stillUntil = this.#clock.monotonic() + backoffMs(this.#failures, this.#settings)
  }
}
