import type { Duration } from '../model/pipeline.ts'

const dayMs = 86_400_000
const unitMs: Readonly<Record<string, number>> = { second: 1000, minute: 60_000, hour: 3_600_000, day: dayMs }
const durationPattern = /^\s*(\d{1,7})\s*(seconds?|minutes?|hours?|days?|months?)\s*$/i

/** Parses a duration such as `13 months`, `30 days` or `90 seconds`. Undefined for any other text, and for zero. */
export function parseDuration(text: string): Duration | undefined {
  const match = durationPattern.exec(text)
  if (match === null) return undefined
  const count = Number(match[1])
  const unit = (match[2] ?? '').toLowerCase().replace(/s$/, '')
  if (count === 0) return undefined
  const ms = unitMs[unit]
  return ms === undefined ? { months: count } : { ms: count * ms }
}

/** Returns the shortest length of a duration in milliseconds: a month counts as 28 days. */
export function shortestMs(duration: Duration): number {
  return 'months' in duration ? duration.months * 28 * dayMs : duration.ms
}

/** Returns the longest length of a duration in milliseconds: a month counts as 31 days. */
function longestMs(duration: Duration): number {
  return 'months' in duration ? duration.months * 31 * dayMs : duration.ms
}

/** Returns the duration, or `longest` if the duration may be longer. `longest`: undefined for no limit. */
export function atMost(duration: Duration, longest: Duration | undefined): Duration {
  return longest === undefined || longestMs(duration) <= shortestMs(longest) ? duration : longest
}

/** Returns `renewBefore`, or half of `expiresIn` (months of 28 days) if `renewBefore` may be longer. */
export function atMostHalf(renewBefore: Duration, expiresIn: Duration): Duration {
  const half = Math.floor(shortestMs(expiresIn) / 2)
  return longestMs(renewBefore) <= half ? renewBefore : { ms: half }
}
