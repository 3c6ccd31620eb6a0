import { setTimeout } from 'node:timers/promises'

/**
 * Clock of this machine, for deadlines, signatures and times that users read. Callers pass it in, so that tests can set the time.
 * Leases, ticks, and grants of the rate limit use the database's clock instead (docs/guarantees.md#clocks).
 */
export interface Clock {
  /** Wall clock, milliseconds since 1970. May jump. */
  readonly now: () => number
  /** Milliseconds since an arbitrary start; never jumps back. For deadlines and durations. */
  readonly monotonic: () => number
  /** Resolves after `ms`, or when `signal` aborts. Never rejects. Keeps the process alive until then. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Rejects only if `signal` aborts.
  sleep: (ms, signal) => setTimeout(ms, undefined, { signal }).catch(() => undefined),
}
