/** Controls how many requests this process keeps in flight, and when it pauses because the service does not answer. */
import type { Clock } from '../../clock.ts'
import { backoffMs, type Backoff } from '../../http/waitPolicy.ts'

export interface PaceSettings extends Backoff {
  readonly concurrency: number
  readonly httpTimeoutMs: number
}

/** Never fewer while all is well: a short push ends before its latency is known. */
const floor = 8
/** Part of the HTTP deadline that an answer may take on average before requests are taken away again. */
const easyPart = 1 / 6

/**
 * Concurrency follows latency: twice what the allowance needs at the time from the begin of an attempt to its answer, within floor and
 * cap. What an answer means is recorded outside of it. A service at its own limit answers later the more requests wait there: above a
 * part of the deadline the number falls as the latency rises, so that no request is given up for waiting behind the others.
 * While requests fail on the way (no connection, no answer, 5xx), one at a time after growing pauses: a service in
 * trouble gets a probe, not a storm (docs/guarantees.md#bounded-retry).
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

  /** Until a probe may go. */
  get stillMs(): number {
    return this.#failures === 0 ? 0 : Math.max(0, this.#stillUntil - this.#clock.monotonic())
  }

  /** Counts an answer, whatever it said, `latencyMs` after its attempt began. */
  answered(latencyMs: number): void {
    this.#failures = 0
    this.#latencyMs = this.#latencyMs === 0 ? latencyMs : this.#latencyMs * 0.8 + latencyMs * 0.2
  }

  failed(): void {
    // Failures of requests that were under way together count once.
    if (this.#failures > 0 && this.#clock.monotonic() < this.#stillUntil) return
    this.#failures++
    this.#stillUntil = this.#clock.monotonic() + backoffMs(this.#failures, this.#settings)
  }
}
