/** Corrects the time of signatures if the clock of this machine is wrong. */
import type { Clock } from '../../clock.ts'

/** Difference of the clocks in milliseconds below which no correction is needed. The service accepts 300 s (docs/spec-notes.md#signing). */
const clockToleranceMs = 30_000

/** Difference between the clocks of this machine and of the service. */
export interface ClockOffset {
  /** Returns the time for signatures in epoch milliseconds: the time of this machine plus the measured difference. */
  readonly now: () => number
  /** Corrects the offset if the answer is a 401 and its header `Date` (`date`) shows a wrong clock. */
  readonly update: (status: number, date: string | undefined) => void
  /** Returns the number of corrections. A refused request that was signed before the last correction may be sent again. */
  readonly corrections: () => number
}

/** Creates an offset of zero. It is corrected once, and again only after an answer with a status below 300. */
export function createClockOffset(clock: Clock): ClockOffset {
  let offsetMs = 0
  let isCorrected = false
  let corrections = 0
  return {
    now: () => clock.now() + offsetMs,
    update(status, date) {
      if (status < 300) isCorrected = false
      if (status !== 401 || isCorrected || date === undefined) return
      const serviceMs = Date.parse(date)
      if (Number.isNaN(serviceMs) || Math.abs(serviceMs - (clock.now() + offsetMs)) < clockToleranceMs) return
      offsetMs = serviceMs - clock.now()
      isCorrected = true
      corrections += 1
    },
    corrections: () => corrections,
  }
}
