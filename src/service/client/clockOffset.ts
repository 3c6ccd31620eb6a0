import type { Clock } from '../../clock.ts'

/** A difference below this is no reason to refuse a signature (the window is 300 s: docs/spec-notes.md#signing 'Nonce, time'). */
const clockToleranceMs = 30_000

export interface ClockOffset {
  /** The service's time as far as we know, epoch milliseconds: what signatures are stamped with. */
  readonly now: () => number
  /** Takes an answer's status and `Date` into account. */
  readonly update: (status: number, date: string | undefined) => void
  /** True once after a correction: worth one resend. */
  readonly takeCorrection: () => boolean
}

/**
 * Our clock against the service's, read from the `Date` of a refusal and only then: once, and again only after an accepted
 * request has shown that the correction held (docs/spec-notes.md#unknown 'timestamp window').
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
