/** How many requests this process keeps in flight, and when it holds still because the service does not answer. */
import type { Clock } from '../../clock.ts'

export interface PaceSettings {
  readonly concurrency: number
  readonly backoffMinMs: number
  readonly backoffMaxMs: number
}

/** Never fewer while all is well: a first burst should not wait for measurements. */
const floor = 4

/**
 * Concurrency follows latency: twice what the allowance needs at the time that one batch takes, within floor and cap.
 * While requests fail on the way (no connection, no answer, 5xx), one at a time after growing pauses: a service in
 * trouble gets a probe, not a storm (I15, C7).
 */
export class Pace {
  readonly #clock: Clock
  readonly #settings: PaceSettings
  readonly #perMs: number
  #batchMs = 0
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
    return Math.min(this.#settings.concurrency, Math.max(floor, Math.ceil(this.#perMs * this.#batchMs * 2)))
  }

  get failuresInRow(): number {
    return this.#failures
  }

  /** Until a probe may go. */
  get stillMs(): number {
    return this.#failures === 0 ? 0 : Math.max(0, this.#stillUntil - this.#clock.monotonic())
  }

  /** An answer came, whatever it said. `batchMs`: from the grant to the books. */
  answered(batchMs: number): void {
    this.#failures = 0
    this.#batchMs = this.#batchMs === 0 ? batchMs : this.#batchMs * 0.8 + batchMs * 0.2
  }

  failed(): void {
    // Those that were under way together tell the same thing once.
    if (this.#failures > 0 && this.#clock.monotonic() < this.#stillUntil) return
    this.#failures++
    this.#stillUntil = this.#clock.monotonic() + backoffMs(this.#failures, this.#settings)
  }
}

/** Capped exponential, full jitter: a random time up to `min · 2^(attempt − 1)`. */
export function backoffMs(attempt: number, settings: Pick<PaceSettings, 'backoffMinMs' | 'backoffMaxMs'>, random = Math.random): number {
  const ceiling = Math.min(settings.backoffMaxMs, settings.backoffMinMs * 2 ** Math.min(30, attempt - 1))
  return Math.ceil(random() * ceiling)
}
