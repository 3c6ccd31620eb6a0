/** Controls the number of requests in flight, and the waits while requests fail. */
import type { Clock } from '../../clock.ts'
import { backoffMs, type Backoff } from '../../http/retryAfter.ts'

/** Settings of a push that its pace depends on. */
export interface PaceSettings extends Backoff {
  readonly concurrency: number
  readonly httpTimeoutMs: number
}

/**
 * Number of requests in flight at the start of a push. Without failures and slow answers, the number stays at least this high, unless
 * the setting `concurrency` is lower.
 */
const baseSlots = 8
/** Part of the HTTP timeout that answers may take on average. If they take longer, the number of requests in flight is reduced. */
const latencyPart = 1 / 6
/** Minimum gain of a raise: with twice the requests in flight, the rate of answers must rise by half. */
const enoughGain = 0.5
/**
 * Factors of a raise: `firstGrowth` until a raise brought too few answers, `laterGrowth` afterwards. When each raise only doubled the
 * number, a short push ended before the right number was found: 400 requests to a service with 2 s latency used 71 % of the allowance.
 */
const firstGrowth = 4
const laterGrowth = 2
/** Number of measurements after a raise that brought too few answers, until a larger number is tried again. */
const holdMeasurements = 10

/** Number of successive failures after which the service counts as unreachable. */
export const unreachableAfter = 16

/** Number of requests in flight with its measured rate. */
interface Level {
  readonly slots: number
  /** Answers per millisecond; 0 if not measured. */
  readonly rate: number
}

/**
 * Raises the number of requests in flight as long as more requests bring more answers. The maximum is twice what the allowance needs at
 * the present latency, within `concurrency`.
 *
 * With more requests an overloaded service answers later, which would raise that maximum further. So a raise must also bring more answers:
 * with 1,000,000 users to a service on the same two cores, answers took 5 s instead of 0.3 s without this rule, and one request in ten
 * missed its deadline.
 *
 * If answers take longer than a part of the deadline (`latencyPart`), the number falls. While requests fail (no connection, no answer, 5xx,
 * 408), one request at a time is sent after growing waits (docs/guarantees.md#bounded-retry).
 */
export class Pace {
  readonly #clock: Clock
  readonly #settings: PaceSettings
  readonly #perMs: number
  #latencyMs = 0
  #failures = 0
  #backoffUntil = 0
  #slots = baseSlots
  /** Level before the last raise. */
  #below: Level = { slots: baseSlots, rate: 0 }
  readonly #meter = new RateMeter()
  /** Number of measurements until a larger number is tried again. */
  #hold = 0
  #growth = firstGrowth

  constructor(clock: Clock, settings: PaceSettings, allowance: { readonly limit: number; readonly windowMs: number }) {
    this.#clock = clock
    this.#settings = settings
    this.#perMs = allowance.limit / allowance.windowMs
  }

  /** Number of requests that may be in flight now. */
  get slots(): number {
    if (this.#failures > 0) return this.#clock.monotonic() < this.#backoffUntil ? 0 : 1
    const maxLatencyMs = this.#settings.httpTimeoutMs * latencyPart
    const share = this.#latencyMs > maxLatencyMs ? maxLatencyMs / this.#latencyMs : 1
    return Math.max(1, Math.ceil(Math.min(this.#slots, this.#settings.concurrency) * share))
  }

  /** Number of failures since the last answer that was not a failure. Concurrent failures count once. */
  get failuresInRow(): number {
    return this.#failures
  }

  /** True after `unreachableAfter` successive failures. Then the push ends. */
  get isUnreachable(): boolean {
    return this.#failures >= unreachableAfter
  }

  /** Milliseconds until the next request may be sent after a failure; 0 without failures. */
  get backoffLeftMs(): number {
    return this.#failures === 0 ? 0 : Math.max(0, this.#backoffUntil - this.#clock.monotonic())
  }

  /** Registers an answer other than 5xx and 408. `latencyMs`: time of its attempt, without waits for a grant. */
  answered(latencyMs: number): void {
    this.#failures = 0
    this.#latencyMs = this.#latencyMs === 0 ? latencyMs : this.#latencyMs * 0.8 + latencyMs * 0.2
    const rate = this.#meter.add(latencyMs, this.#clock.monotonic(), this.slots)
    if (rate !== undefined) this.#decide(rate)
  }

  /**
   * Starts a new measurement, because slots are free and there is no batch to send. The old measurement would show the lack of batches and
   * not the speed of the service.
   */
  starved(): void {
    this.#meter.restart(0)
  }

  /** Registers a failed request: no connection, no answer, 5xx or 408. */
  failed(): void {
    this.#meter.restart(0)
    // Failures of concurrent requests count once.
    if (this.#failures > 0 && this.#clock.monotonic() < this.#backoffUntil) return
    this.#failures++
    this.#backoffUntil = this.#clock.monotonic() + backoffMs(this.#failures, this.#settings)
  }

  /** Raises, lowers or keeps the number of slots after a measurement. */
  #decide(rate: number): void {
    const below = this.#below
    const maxSlots = Math.max(baseSlots, Math.min(this.#settings.concurrency, Math.ceil(this.#perMs * this.#latencyMs * 2)))
    if (this.#slots > below.slots && rate < below.rate * (1 + (this.#slots / below.slots - 1) * enoughGain)) {
      this.#change(below.slots, { slots: below.slots, rate: 0 })
      this.#hold = holdMeasurements
      this.#growth = laterGrowth
    } else if (maxSlots < this.#slots) this.#change(maxSlots, { slots: maxSlots, rate: 0 })
    else if (this.#hold > 0) this.#hold--
    else if (maxSlots > this.#slots) this.#change(Math.min(maxSlots, this.#slots * this.#factor), { slots: this.#slots, rate })
  }

  /**
   * Factor of the next raise. After it, the answers of an overloaded service take that many times longer. If they would take more than half
   * of the HTTP timeout, the factor is `laterGrowth`.
   */
  get #factor(): number {
    return this.#latencyMs * this.#growth * 2 > this.#settings.httpTimeoutMs ? laterGrowth : this.#growth
  }

  #change(slots: number, below: Level): void {
    const before = this.slots
    this.#slots = slots
    this.#below = below
    // The answers to requests that were sent before the change are not measured.
    this.#meter.restart(before)
  }
}

/** Measures the rate of answers. */
class RateMeter {
  /** Number of answers to skip before the measurement. */
  #skip = 0
  #count = 0
  #since: number | undefined

  /**
   * Registers an answer at `now`, `latencyMs` after its attempt started. Returns the answers per millisecond once `enough` were measured;
   * otherwise undefined.
   */
  add(latencyMs: number, now: number, enough: number): number | undefined {
    if (this.#skip > 0) {
      this.#skip--
      if (this.#skip === 0) this.#since = now
      return undefined
    }
    this.#since ??= now - latencyMs
    if (++this.#count < enough) return undefined
    const rate = this.#count / Math.max(1, now - this.#since)
    this.#count = 0
    this.#since = now
    return rate
  }

  /** Starts a new measurement after `skip` answers. */
  restart(skip: number): void {
    this.#skip = skip
    this.#count = 0
    this.#since = skip === 0 ? undefined : this.#since
  }
}
