/**
 * Computes the ticks (scheduled times) of a cron expression, with croner. Pure. docs/schedules.md describes clock changes; decideTicks.ts
 * decides what happens at a tick.
 */
import { Cron } from 'croner'

/** Cron expression with its time zone. */
export interface CronTimes {
  /** Five or six fields; the first of six is seconds. */
  readonly cron: string
  /** IANA zone. */
  readonly timezone: string
}

/** Maximum number of due ticks that are returned. Older ticks are left out. */
const maxDueTicks = 1_000

/** Returns the ticks after `after`, up to `now` inclusive, oldest first; only the newest 1,000 if there are more. */
export function dueTicks(times: CronTimes, after: Date, now: Date): Date[] {
  const cron = cronOf(times)
  const first = cron.nextRun(after)
  if (first === null || first > now) return []
  // Searches backwards in growing steps. Listing all ticks of a year would be slow for a schedule of seconds.
  for (let spanMs = 60_000; ; spanMs *= 4) {
    const from = new Date(Math.max(after.getTime(), now.getTime() - spanMs))
    const due = listBetween(cron, from, now)
    if (due.length >= maxDueTicks || from.getTime() === after.getTime()) return due.slice(-maxDueTicks)
  }
}

/** Returns the next tick after `after`; undefined if there is none. */
export function nextTickAfter(times: CronTimes, after: Date): Date | undefined {
  return cronOf(times).nextRun(after) ?? undefined
}

/** Returns the last `count` ticks up to `now`, oldest first; fewer if there are fewer within the last 728 days. Cached. */
export function previousTicks(times: CronTimes, now: Date, count: number): readonly Date[] {
  const key = `${count} ${times.timezone} ${times.cron}`
  const at = now.getTime()
  const entry = previousCache.get(key)
  if (entry !== undefined && entry.from <= at && at < entry.until) return entry.ticks
  const ticks = searchBackwards(cronOf(times), now, count)
  if (previousCache.size > maxCached) previousCache.clear()
  previousCache.set(key, { ticks, from: at, until: nextTickAfter(times, now)?.getTime() ?? at })
  return ticks
}

/**
 * Returns the same as `nextTickAfter`, from a cache, because pages request it each second, and each poll of the scheduler. Computing a tick
 * takes 0.1 ms. Without the cache, a poll of 3,000 schedules would take 0.3 s.
 */
export function cachedNextTick(times: CronTimes, now: Date): Date | undefined {
  const key = `${times.timezone} ${times.cron}`
  const at = now.getTime()
  const entry = upcomingCache.get(key)
  if (entry !== undefined && entry.from <= at && at < entry.next.getTime()) return entry.next
  const next = nextTickAfter(times, now)
  if (upcomingCache.size > maxCached) upcomingCache.clear()
  if (next !== undefined) upcomingCache.set(key, { next, from: at })
  return next
}

const upcomingCache = new Map<string, { readonly next: Date; readonly from: number }>()

/**
 * Cache of previous ticks, which are valid until the next tick. The overview requests them for every pipeline each second, and computing
 * them takes 0.7 ms per pipeline.
 */
const previousCache = new Map<string, { readonly ticks: readonly Date[]; readonly from: number; readonly until: number }>()
/** Maximum number of entries of each cache by cron expression. A full cache is emptied. */
const maxCached = 10_000

/**
 * Returns the last `count` ticks up to `now`. Searches in growing steps, because there may be one per second or one per year. Then halves
 * the last step: it may contain a month of minutes, and listing them would take many seconds.
 */
function searchBackwards(cron: Cron, now: Date, count: number): readonly Date[] {
  const at = now.getTime()
  const hasEnough = (from: number) => listBetween(cron, new Date(from), now, count).length === count
  let spanMs = 60_000
  while (!hasEnough(at - spanMs) && spanMs <= 366 * dayMs) spanMs *= 4
  let [from, tooLate] = [at - spanMs, at]
  while (tooLate - from > 1_000 && hasEnough(from)) {
    const middle = Math.floor((from + tooLate) / 2)
    if (hasEnough(middle)) from = middle
    else tooLate = middle
  }
  return listBetween(cron, new Date(from), now).slice(-count)
}

/**
 * Returns true if a change of the clocks in this zone affects a time of day of this schedule. Then that time does not exist, or exists
 * twice, on a day of this year or the next one. Ignores the days of the cron expression, because the days of clock changes differ from year
 * to year.
 *
 * Returns false for an hour field that begins with `*` or contains every hour.
 */
export function isTouchedByClockChange({ cron, timezone }: CronTimes, now: Date): boolean {
  const fields = cron.trim().split(/\s+/)
  const hour = fields[fields.length - 4]
  if (hour === undefined || hour.startsWith('*')) return false
  // Local times are computed as if they were UTC, in which no hour is missing or repeated.
  const daily = (time: string) => cronOf({ cron: `${time} * * *`, timezone: 'UTC' })
  const midnight = Date.UTC(2026, 0, 1)
  if (listBetween(daily(`0 0 ${hour}`), new Date(midnight - 1), new Date(midnight + dayMs - 1)).length === 24) return false
  const times = daily(fields.slice(0, -3).join(' '))
  const year = now.getUTCFullYear()
  // Cached, because thousands of schedules may be checked often.
  const changes = cached(changesCache, `${timezone} ${year}`, () => findClockChanges(timezone, year))
  return changes.some(({ from, until }) => {
    const next = times.nextRun(new Date(from - 1))
    return next !== null && next.getTime() < until
  })
}

/** Local times that a clock change leaves out or repeats, as if they were UTC. */
interface ClockChange {
  readonly from: number
  readonly until: number
}

const dayMs = 86_400_000
const changesCache = new Map<string, readonly ClockChange[]>()

/** Finds the days of a year and the next one on which the offset from UTC changes. Then finds the minute of each change by bisection. */
function findClockChanges(timezone: string, year: number): readonly ClockChange[] {
  const offsetMs = offsetOf(timezone)
  const changes: ClockChange[] = []
  for (let day = Date.UTC(year, 0, 1); day < Date.UTC(year + 2, 0, 1); day += dayMs) {
    const [before, after] = [offsetMs(day), offsetMs(day + dayMs)]
    if (before === after) continue
    let [from, until] = [day, day + dayMs]
    while (until - from > minuteMs) {
      const middle = from + Math.floor((until - from) / minuteMs / 2) * minuteMs
      if (offsetMs(middle) === before) from = middle
      else until = middle
    }
    changes.push({ from: until + Math.min(before, after), until: until + Math.max(before, after) })
  }
  return changes
}

const cronCache = new Map<string, Cron>()

/** Returns the parsed expression, from a cache. */
function cronOf({ cron, timezone }: CronTimes): Cron {
  const fixedTimeRule = listsTimes(cron) ? 'no-wildcard' : 'single-value'
  return cached(cronCache, `${timezone} ${cron}`, () => new Cron(cron, { timezone, paused: true, fixedTimeRule }))
}

/**
 * Returns true if the expression lists its times of day, such as `0 2,14 * * *`. Each is then a fixed time when the clocks change. False
 * for ranges, steps and a list of every hour, which are intervals.
 */
function listsTimes(cron: string): boolean {
  const times = cron.trim().split(/\s+/).slice(0, -3)
  return times.every((field) => /^\d+(?:,\d+)*$/.test(field)) && new Set(times.at(-1)?.split(',').map(Number)).size < 24
}

function cached<Value>(cache: Map<string, Value>, key: string, make: () => Value): Value {
  const value = cache.get(key) ?? make()
  if (!cache.has(key)) {
    if (cache.size > maxCached) cache.clear()
    cache.set(key, value)
  }
  return value
}

/** Returns the first `limit` ticks after `after`, up to `now` inclusive, oldest first. */
function listBetween(cron: Cron, after: Date, now: Date, limit = Number.POSITIVE_INFINITY): Date[] {
  const due: Date[] = []
  for (let next = cron.nextRun(after); next !== null && next <= now && due.length < limit; next = cron.nextRun(next)) due.push(next)
  return due
}

const minuteMs = 60_000

/** Returns a function that returns the offset of a zone from UTC at an instant, in milliseconds. */
function offsetOf(timezone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })
  return (at) => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
    const local = Date.UTC(parts['year'] ?? 0, (parts['month'] ?? 1) - 1, parts['day'], parts['hour'], parts['minute'])
    return local - Math.floor(at / minuteMs) * minuteMs
  }
}
