import type { Duration } from '../../model/pipeline.ts'

/** Adds a duration to a time in epoch milliseconds. Months are calendar months in UTC: 31 January plus one month is 28 or 29 February. */
export function addDuration(fromMs: number, duration: Duration): number {
  if ('ms' in duration) return fromMs + duration.ms
  const from = new Date(fromMs)
  const to = new Date(fromMs)
  // First the first day of the month, because setting the month would overflow on a day that the new month lacks.
  to.setUTCDate(1)
  to.setUTCMonth(from.getUTCMonth() + duration.months)
  const lastDay = new Date(Date.UTC(to.getUTCFullYear(), to.getUTCMonth() + 1, 0)).getUTCDate()
  to.setUTCDate(Math.min(from.getUTCDate(), lastDay))
  return to.getTime()
}

/** Returns a duration in milliseconds, with 30 days for each month. */
export function durationMs(duration: Duration): number {
  return 'ms' in duration ? duration.ms : duration.months * 30 * 86_400_000
}
