/** Reads and writes times in the formats of the service (docs/spec-notes.md#echoes-and-cursors). */

/** Begin of the year 10000 in UTC, in milliseconds since 1970. */
const YEAR_10000_MS = 253_402_300_800_000
/** Maximum number of entries of each cache below. An upload has about two different times. */
const CACHE_SIZE = 64
// An upload has thousands of operations, nearly all with the same times. Without the caches, reading and writing the times took a third of
// the upload.
const parsedTexts = new Map<string, number>()
const writtenTimes = new Map<number, string>()

/**
 * Reads a date, or a date and time with `Z`, `±HHMM`, `±HH:MM`, `±HH` or no zone (UTC). Ignores fractions of a second. Returns milliseconds
 * since 1970; undefined for any other text.
 */
export function parseTimestamp(text: string): number | undefined {
  const cached = parsedTexts.get(text)
  if (cached !== undefined) return cached
  const parsed = parse(text)
  if (parsed === undefined) return undefined
  if (parsedTexts.size >= CACHE_SIZE) parsedTexts.clear()
  parsedTexts.set(text, parsed)
  return parsed
}

function parse(text: string): number | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(Z|[+-][01]\d(?::?[0-5]\d)?)?)?$/.exec(text)
  if (match === null) return undefined
  const [, year = '', month = '', day = '', hour = '0', minute = '0', second = '0', zone = 'Z'] = match
  const at = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))
  const date = new Date(at)
  // Date.UTC changes 31 April to 1 May, and the year 50 to 1950. Such dates are not accepted.
  const isValid =
    date.getUTCFullYear() === Number(year) &&
    date.getUTCMonth() === Number(month) - 1 &&
    date.getUTCDate() === Number(day) &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) < 60
  if (!isValid) return undefined
  const utc = at - offsetMs(zone)
  // A later year has more than four digits.
  return utc < YEAR_10000_MS ? utc : undefined
}

/** Formats milliseconds since 1970 as ISO 8601 with `Z`, rounded down to whole seconds. */
export function isoSeconds(ms: number): string {
  const cached = writtenTimes.get(ms)
  if (cached !== undefined) return cached
  const written = new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z')
  if (writtenTimes.size >= CACHE_SIZE) writtenTimes.clear()
  writtenTimes.set(ms, written)
  return written
}

/** Returns a time plus months in UTC, in milliseconds since 1970. A day beyond the end of a month becomes the last day of the month. */
export function addMonths(ms: number, months: number): number {
  const date = new Date(ms)
  const day = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() + months)
  date.setUTCDate(Math.min(day, new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()))
  return date.getTime()
}

function offsetMs(zone: string): number {
  if (zone === 'Z') return 0
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0')
  return (zone.startsWith('-') ? -1 : 1) * (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))) * 60_000
}
