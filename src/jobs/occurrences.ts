/** When a schedule is due: croner's arithmetic, as instants. Pure; docs/schedules.md says what happens at clock changes. */
import { Cron } from 'croner'

export interface CronTimes {
  /** Five or six fields. */
  readonly cron: string
  /** IANA zone. */
  readonly timezone: string
}

/** So many missed ticks are listed one by one; what is older is one with the oldest of them. */
const listedAtMost = 1_000

/** Occurrences after `after`, up to and with `now`, in order: the newest 1,000 of them. */
export function dueOccurrences(times: CronTimes, after: Date, now: Date): Date[] {
  const cron = cronOf(times)
  const due: Date[] = []
  let at = after
  // A year of seconds after a long pause is not worth a walk: only the newest can ever be listed.
  const skipped = new Date(now.getTime() - 3_600_000)
  if (cron.nextRuns(listedAtMost + 1, after).length > listedAtMost) {
    const last = cron.nextRuns(listedAtMost + 1, after).at(-1)
    if (last !== undefined && last <= skipped) at = latestStart(cron, after, now)
  }
  for (;;) {
    const next = cron.nextRun(at)
    if (next === null || next > now) return due
    due.push(next)
    if (due.length > listedAtMost) due.shift()
    at = next
  }
}

/** The next occurrence after `after`; undefined when the expression names none any more. */
export function nextOccurrence(times: CronTimes, after: Date): Date | undefined {
  return cronOf(times).nextRun(after) ?? undefined
}

/**
 * Does a clock change of its zone touch this schedule? True when it names hours between 01 and 03 of a zone whose offset
 * changes within a year: such a time does not exist on one night and exists twice on another.
 */
export function isTouchedByClockChange(times: CronTimes, year = 2026): boolean {
  const fields = times.cron.trim().split(/\s+/)
  const hour = fields[fields.length - 4]
  if (hour === undefined || !hoursOf(hour).some((one) => one >= 1 && one <= 3)) return false
  const offsets = new Set(Array.from({ length: 12 }, (_, month) => offsetMinutes(times.timezone, new Date(Date.UTC(year, month, 1)))))
  return offsets.size > 1
}

const crons = new Map<string, Cron>()

function cronOf({ cron, timezone }: CronTimes): Cron {
  const key = `${timezone} ${cron}`
  let known = crons.get(key)
  if (known === undefined) {
    if (crons.size > 500) crons.clear()
    known = new Cron(cron, { timezone, paused: true })
    crons.set(key, known)
  }
  return known
}

/** A point from which at most about `listedAtMost` occurrences lead to now, found by halving. */
function latestStart(cron: Cron, after: Date, now: Date): Date {
  let from = after.getTime()
  let to = now.getTime()
  while (to - from > 1_000) {
    const middle = Math.floor((from + to) / 2)
    const last = cron.nextRuns(listedAtMost, new Date(middle)).at(-1)
    if (last !== undefined && last <= now) from = middle
    else to = middle
  }
  return new Date(from)
}

/** Fixed hours of a cron field; `*` and steps over the whole day name none in particular. */
function hoursOf(field: string): number[] {
  if (field.startsWith('*')) return []
  return field.split(',').flatMap((part) => {
    const [from, to] = (part.split('/')[0] ?? '').split('-').map(Number)
    if (from === undefined || Number.isNaN(from)) return []
    return Array.from({ length: Math.max(1, (to ?? from) - from + 1) }, (_, i) => from + i)
  })
}

function offsetMinutes(timezone: string, at: Date): number {
  const parts = Object.fromEntries(
    new Intl.DateTimeFormat('en-US', { timeZone: timezone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' })
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const local = Date.UTC(parts['year'] ?? 0, (parts['month'] ?? 1) - 1, parts['day'], parts['hour'], parts['minute'])
  return Math.round((local - at.getTime()) / 60_000)
}
