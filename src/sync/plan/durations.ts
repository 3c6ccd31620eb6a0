/** Durations of a pipeline (`expires_in`, `renew_before`) in milliseconds. */
import type { Duration } from '../../model/pipeline.ts'

/** Calendar months, clamped to the month's end: 31 January and one month is 28 or 29 February. */
export function addDuration(fromMs: number, duration: Duration): number {
  if ('ms' in duration) return fromMs + duration.ms
  const from = new Date(fromMs)
  const to = new Date(fromMs)
  to.setUTCDate(1)
  to.setUTCMonth(from.getUTCMonth() + duration.months)
  const lastDay = new Date(Date.UTC(to.getUTCFullYear(), to.getUTCMonth() + 1, 0)).getUTCDate()
  to.setUTCDate(Math.min(from.getUTCDate(), lastDay))
  return to.getTime()
}

/** Months as 30 days: for distances, where the day of the month does not matter. */
export function durationMs(duration: Duration): number {
  return 'ms' in duration ? duration.ms : duration.months * 30 * 86_400_000
}
