import type { Clock } from '../../clock.ts'

/** Difference of clocks below which no correction is needed. The service accepts 300 s (docs/spec-notes.md#signing). */
const clockToleranceMs = 30_000

/** Difference between the clocks of this machine and of the service. */
export interface ClockOffset {
  /** Returns the time for signatures in epoch milliseconds, by the service's clock as far as known. */
  readonly now: () => number
  /** Corrects the offset from the status and `Date` of an answer. */
  readonly update: (status: number, date: string | undefined) => void
  /** Returns true if the offset was corrected after the last call of this function. The caller may then send the request again. */
  readonly takeCorrection: () => boolean
}

/**
 * Measures the difference between the clocks of this machine and of the service, from the `Date` of a 401. Corrects the offset once, and
 * again only after an accepted request.
 */
export function createClockOffset(clock: Clock): ClockOffset {
  let offsetMs = 0
  let corrected = false
  let fresh = false
  return {
    now: () => clock.now() + offsetMs,
    update(status, date) {
      if (status < 300) corrected = false
      if (status !== 401 || corrected || date === undefined) return
      const serviceMs = Date.parse(date)
      if (Number.isNaN(serviceMs) || Math.abs(serviceMs - (clock.now() + offsetMs)) < clockToleranceMs) return
      offsetMs = serviceMs - clock.now()
      corrected = true
      fresh = true
    },
    takeCorrection() {
      const was = fresh
      fresh = false
      return was
    },
  }
}
