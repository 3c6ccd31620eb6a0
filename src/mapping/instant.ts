/**
 * Parses dates and times of ISO 8601, also with a space instead of `T` or before the offset. `Date.parse` would turn 30 February into March
 * and accept many other notations (docs/inputs.md, cases 79 and 128).
 */
import type { Duration } from '../model/pipeline.ts'

/** Point in time, and its ISO 8601 text. */
export interface Instant {
  /** Milliseconds since 1970; fractions of a second are dropped. */
  readonly ms: number
  /** Like `2026-03-01T00:00:00+01:00`, with `Z` for offset zero. */
  readonly text: string
}

const isoForm = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,]\d{1,9})?)?[ ]?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/

/**
 * Parses a trimmed date or time. Returns undefined for:
 *
 * - any other text, and years before 1900
 * - a date without a time, unless `dateWithoutTime` is set. Then it is midnight UTC, whatever the zone.
 * - a time without an offset, unless `zone` (IANA name) is set. Then it is a time in that zone.
 */
export function parseInstant(text: string, dateWithoutTime?: 'utc-midnight', zone?: string): Instant | undefined {
  const match = isoForm.exec(text)
  if (match === null) return undefined
  const [, year = '', month = '', day = '', hour, minute = '00', second = '00', offset] = match
  if (hour === undefined && dateWithoutTime === undefined) return undefined
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day))
  // `Date.UTC` turns 30 February into March.
  const computed = new Date(midnight)
  if (computed.getUTCMonth() !== Number(month) - 1 || computed.getUTCDate() !== Number(day) || Number(year) < 1900) return undefined
  if (hour === undefined) return { ms: midnight, text: `${year}-${month}-${day}T00:00:00Z` }
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  const localMs = midnight + (Number(hour) * 3600 + Number(minute) * 60 + Number(second)) * 1000
  const usedOffset = writtenOrZoneOffset(offset, zone, localMs)
  if (usedOffset === undefined) return undefined
  return { ms: localMs - usedOffset.minutes * 60_000, text: `${year}-${month}-${day}T${hour}:${minute}:${second}${usedOffset.text}` }
}

/** Difference of a local time from UTC. `text`: `+01:00`, or `Z` for zero. */
interface Offset {
  readonly minutes: number
  readonly text: string
}

const utcOffset: Offset = { minutes: 0, text: 'Z' }

/** Returns the written offset, else the offset of the zone. Undefined if both are missing, or if the written offset is not valid. */
function writtenOrZoneOffset(written: string | undefined, zone: string | undefined, localMs: number): Offset | undefined {
  if (written !== undefined) return written.toUpperCase() === 'Z' ? utcOffset : readOffset(written)
  if (zone === undefined) return undefined
  return zone === 'UTC' ? utcOffset : offsetIn(zone, localMs)
}

const formatsByZone = new Map<string, Intl.DateTimeFormat>()

/**
 * Returns the offset of a zone at a local time. `localMs`: that time, as if it were UTC. If the clock shows the time twice (end of summer
 * time), takes the offset of the later instant. If the clock skips the time, takes the offset before the change.
 */
function offsetIn(zone: string, localMs: number): Offset | undefined {
  let format = formatsByZone.get(zone)
  if (format === undefined)
    formatsByZone.set(zone, (format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })))
  const offsetAt = (instantMs: number) => {
    const name = format.formatToParts(instantMs).find(({ type }) => type === 'timeZoneName')?.value
    // `GMT+01:00`, or only `GMT` for offset zero. Drops the seconds of `GMT+00:09:21` (Paris in 1900): ISO 8601 has none in offsets.
    return readOffset(name?.replace('GMT', '').slice(0, 6) || '+00:00')
  }
  // No zone changes its offset twice within two days.
  const later = offsetAt(localMs + dayMs)
  if (later === undefined || offsetAt(localMs - later.minutes * 60_000)?.minutes === later.minutes) return later
  return offsetAt(localMs - dayMs)
}

const dayMs = 86_400_000

/** Parses `+01:00`, `+0100` or `+01`. Returns undefined for more than 14 hours or 59 minutes. */
function readOffset(text: string): Offset | undefined {
  const hours = text.slice(1, 3)
  const minutes = text.slice(3).replace(':', '') || '00'
  if (Number(hours) > 14 || Number(minutes) > 59) return undefined
  const total = Number(hours) * 60 + Number(minutes)
  if (total === 0) return utcOffset
  return { minutes: text.startsWith('-') ? -total : total, text: `${text.slice(0, 1)}${hours}:${minutes}` }
}

/** Adds a duration to a time in milliseconds since 1970. Months are calendar months in UTC: 31 January plus one month is 28 or 29 February. */
export function addDuration(fromMs: number, duration: Duration): number {
  if ('ms' in duration) return fromMs + duration.ms
  const from = new Date(fromMs)
  const to = new Date(fromMs)
  to.setUTCDate(1)
  // Day 0 is the last day of the month before.
  to.setUTCMonth(from.getUTCMonth() + duration.months + 1, 0)
  to.setUTCDate(Math.min(to.getUTCDate(), from.getUTCDate()))
  return to.getTime()
}
