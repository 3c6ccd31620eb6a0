/**
 * Time as it is passed in: no module below cli/ reads a clock on its own. Durable decisions (leases, ticks, grants) use the
 * database's clock instead (docs/guarantees.md#clocks); this one serves deadlines, signatures and what people read.
 */
export interface Clock {
  /** Wall clock, milliseconds since 1970. May jump. */
  readonly now: () => number
  /** Milliseconds since an arbitrary start; never jumps back. For deadlines and durations. */
  readonly monotonic: () => number
  /** Resolves after `ms`, or immediately when `signal` is aborted; never rejects, keeps no process alive after an abort. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal?.addEventListener('abort', done, { once: true })
    }),
}
