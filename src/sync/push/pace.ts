/** Controls the number of requests in flight, and the waits while requests fail. */
import type { Clock } from '../../clock.ts'
import { backoffMs, type Backoff } from '../../http/retryAfter.ts'

export interface PaceSettings extends Backoff {
  readonly concurrency: number
  readonly httpTimeoutMs: number
}

/**
 * Number of requests in flight at the start of a push. Also the minimum while requests do not fail and answers are not slow. A lower
 * `concurrency` wins.
 */
const initialSlots = 8
/** Share of the HTTP timeout that answers may take on average. If they take longer, fewer requests are in flight. */
const latencyShare = 1 / 6
/** Minimum gain of a raise: twice the requests in flight must bring 1.5 times the answers. */
const enoughGain = 0.5
/**
 * Factors of a raise: `firstGrowth` until a raise brought too few answers, `laterGrowth` afterwards. Growth by 2 alone is too slow for a
 * short push: 400 requests to a service with 2 s latency used 71 % of the rate limit.
 */
const firstGrowth = 4
const laterGrowth = 2
/** Number of measurements after a raise that brought too few answers, until a larger number is tried again. */
const holdMeasurements = 10

/** Number of successive failures after which the service counts as unreachable. */
export const unreachableAfter = 16

/** Number of requests in flight, with the rate of answers that was measured at it. */
interface Level {
  readonly slots: number
  /** Answers per millisecond; 0 if not measured. */
  readonly rate: number
}

/**
 * Limits the number of requests in flight:
 *
 * - The number rises as long as more requests bring more answers. An overloaded service answers later instead. Without this rule, answers
 *   took 5 s instead of 0.3 s, and 10 % timed out (1,000,000 users, service on the same two cores).
 * - The maximum is twice the number of requests that use up the rate limit at the present latency, but at least `initialSlots`. It is
 *   never above `concurrency`.
 * - The number falls if answers take longer than `latencyShare` of the HTTP timeout.
 * - While requests fail (no connection, no answer, 5xx, 408), one request at a time is sent after growing waits
 *   (docs/guarantees.md#bounded-retry).
 */
export class Pace {
  readonly #clock: Clock
  readonly #settings: PaceSettings
  /** Number of requests per millisecond that the rate limit permits. */
  readonly #allowedPerMs: number
  /** Moving average of the latency; 0 before the first answer. */
  #latencyMs = 0
  #failures = 0
  /** End of the wait after the last failure, by the monotonic clock. */
  #backoffUntil = 0
  /** Number of requests in flight by the measurements. `slots` lowers it for slow answers and failures. */
  #targetSlots = initialSlots
  /** Level before the last raise. After a decrease: the present number, without a rate. */
  #lowerLevel: Level = { slots: initialSlots, rate: 0 }
  readonly #meter = new RateMeter()
  /** Number of measurements until a larger number is tried again. */
  #holdLeft = 0
  #growth = firstGrowth

  constructor(clock: Clock, settings: PaceSettings, rateLimit: { readonly limit: number; readonly windowMs: number }) {
    this.#clock = clock
    this.#settings = settings
    this.#allowedPerMs = rateLimit.limit / rateLimit.windowMs
  }

  /** Number of requests that may be in flight now. */
  get slots(): number {
    if (this.#failures > 0) return this.#clock.monotonic() < this.#backoffUntil ? 0 : 1
    const maxLatencyMs = this.#settings.httpTimeoutMs * latencyShare
    const share = this.#latencyMs > maxLatencyMs ? maxLatencyMs / this.#latencyMs : 1
    return Math.max(1, Math.ceil(Math.min(this.#targetSlots, this.#settings.concurrency) * share))
  }

  /** Number of failures since the last answer that was not a failure. Failures of concurrent requests count once. */
  get failuresInRow(): number {
    return this.#failures
  }

  /** True after `unreachableAfter` successive failures. */
  get isUnreachable(): boolean {
    return this.#failures >= unreachableAfter
  }

  /** Milliseconds until the next request may be sent after a failure; 0 without failures. */
  get backoffLeftMs(): number {
    return this.#failures === 0 ? 0 : Math.max(0, this.#backoffUntil - this.#clock.monotonic())
  }

  /** Registers an answer other than 5xx and 408. `latencyMs`: time of its attempt, without waits for a grant. */
  noteAnswer(latencyMs: number): void {
    this.#failures = 0
    this.#latencyMs = this.#latencyMs === 0 ? latencyMs : this.#latencyMs * 0.8 + latencyMs * 0.2
    const rate = this.#meter.add(latencyMs, this.#clock.monotonic(), this.slots)
    if (rate !== undefined) this.#adjustTarget(rate)
  }

  /**
   * Starts a new measurement with the next request. Must be called if slots stay free for lack of batches, or the rate limit delays a
   * request. The rate then says nothing about the service. At 2 s latency, only 32 instead of 64 requests were in flight for 40 s after the
   * first 1,500.
   */
  restartMeasurement(): void {
    this.#meter.restart(this.slots)
  }

  /** Registers a failed request: no connection, no answer, 5xx or 408. */
  noteFailure(): void {
    this.#meter.restart(0)
    // A failure during the backoff is of a concurrent request.
    if (this.#failures > 0 && this.#clock.monotonic() < this.#backoffUntil) return
    this.#failures++
    this.#backoffUntil = this.#clock.monotonic() + backoffMs(this.#failures, this.#settings)
  }

  /** Raises, lowers or keeps `#targetSlots` after a measurement. `rate`: answers per millisecond. */
  #adjustTarget(rate: number): void {
    const slots = this.#targetSlots
    const lower = this.#lowerLevel
    const maxSlots = Math.max(initialSlots, Math.min(this.#settings.concurrency, Math.ceil(this.#allowedPerMs * this.#latencyMs * 2)))
    const raise = slots / lower.slots
    const enoughRate = lower.rate * (1 + (raise - 1) * enoughGain)
    if (raise > 1 && rate < enoughRate) {
      this.#setTarget(lower.slots, { slots: lower.slots, rate: 0 })
      this.#holdLeft = holdMeasurements
      this.#growth = laterGrowth
    } else if (maxSlots < slots) this.#setTarget(maxSlots, { slots: maxSlots, rate: 0 })
    else if (this.#holdLeft > 0) this.#holdLeft--
    else if (maxSlots > slots) this.#setTarget(Math.min(maxSlots, slots * this.#factor), { slots, rate })
  }

  /**
   * Factor of the next raise. An overloaded service may answer later by this factor. If such an answer would take more than half of the
   * HTTP timeout, the factor is `laterGrowth`.
   */
  get #factor(): number {
    return this.#latencyMs * this.#growth * 2 > this.#settings.httpTimeoutMs ? laterGrowth : this.#growth
  }

  #setTarget(slots: number, lowerLevel: Level): void {
    const inFlight = this.slots
    this.#targetSlots = slots
    this.#lowerLevel = lowerLevel
    // The answers to requests that were sent before the change are not measured.
    this.#meter.restart(inFlight)
  }
}

class RateMeter {
  /** Number of answers to skip before the measurement. */
  #skip = 0
  #count = 0
  /** Start of the measurement; undefined before it. */
  #since: number | undefined

  /**
   * Counts an answer at `now`, `latencyMs` after its attempt started. Returns the answers per millisecond once `enough` were counted, and
   * starts the next measurement; otherwise returns undefined.
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
    this.#since = undefined
  }
}
