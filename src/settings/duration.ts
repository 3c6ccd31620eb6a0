import type { Duration } from '../model/pipeline.ts'

const unitMs = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const
const form = /^\s*(\d{1,7})\s*(seconds?|minutes?|hours?|days?|months?)\s*$/i

/** `13 months`, `30 days`, `90 seconds`. Undefined for anything else, zero included. */
export function parseDuration(text: string): Duration | undefined {
  const match = form.exec(text)
  if (match === null) return undefined
  const count = Number(match[1])
  const unit = (match[2] ?? '').toLowerCase().replace(/s$/, '')
  if (count === 0) return undefined
  return unit === 'month' ? { months: count } : { ms: count * unitMs[unit as keyof typeof unitMs] }
}

/** Shortest span a duration can stand for: months of 28 days. */
export function shortestMs(duration: Duration): number {
  return 'months' in duration ? duration.months * 28 * unitMs.day : duration.ms
}

/** Renewals begin at most half a life before its end: the lesser of the two. */
export function atMostHalf(renewBefore: Duration, expiresIn: Duration): Duration {
  const half = Math.floor(shortestMs(expiresIn) / 2)
  const longest = 'months' in renewBefore ? renewBefore.months * 31 * unitMs.day : renewBefore.ms
  return longest <= half ? renewBefore : { ms: half }
}
