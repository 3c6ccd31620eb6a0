import { Cron } from 'croner'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { dueTicks, isTouchedByClockChange, nextTickAfter, previousTicks } from '../../../src/jobs/cronTicks.ts'

const berlin = 'Europe/Berlin'
const newYork = 'America/New_York'
/** Local spring and autumn changes of 2026: Berlin 29 March and 25 October, New York 8 March and 1 November. */
const iso = (dates: readonly Date[]) => dates.map((date) => date.toISOString().slice(0, 16))
const due = (cron: string, timezone: string, from: string, to: string) => iso(dueTicks({ cron, timezone }, new Date(from), new Date(to)))

describe('an hour that does not exist', () => {
  test.for([
    [berlin, '2026-03-29T00:00:00Z', '2026-03-29T12:00:00Z', '2026-03-29T01:30'],
    [newYork, '2026-03-08T00:00:00Z', '2026-03-08T20:00:00Z', '2026-03-08T07:30'],
  ] as const)('in %s a fixed time inside of it runs once', ([timezone, from, to]) => {
    const ran = due('30 2 * * *', timezone, from, to)
    expect(ran.length).toBe(1)
  })

  test.for([
    ['0 2,14 * * *', ['01:00', '12:00']],
    ['0,30 2 * * *', ['01:00']],
    ['0,30 2,14 * * *', ['01:00', '12:00', '12:30']],
  ] as const)('the times of %s inside of it run once, after the gap', ([cron, times]) => {
    const ran = due(cron, berlin, '2026-03-28T23:00:00Z', '2026-03-29T20:00:00Z')
    expect(ran).toEqual(times.map((time) => `2026-03-29T${time}`))
  })

  test('K2: hourly schedules continue without a gap and without a repeat', () => {
    expect(due('0 * * * *', berlin, '2026-03-28T23:30:00Z', '2026-03-29T04:30:00Z')).toEqual(
      [0, 1, 2, 3, 4].map((hour) => `2026-03-29T0${hour}:00`),
    )
  })
})

describe('an hour that exists twice', () => {
  test.for([
    [berlin, '2026-10-24T22:00:00Z', '2026-10-25T12:00:00Z'],
    [newYork, '2026-11-01T00:00:00Z', '2026-11-01T20:00:00Z'],
  ] as const)('in %s a fixed time inside of it runs once, the first time', ([timezone, from, to]) => {
    const ran = due('30 1 * * *', timezone === berlin ? newYork : timezone, from, to)
    expect(ran.length).toBe(1)
    expect(due('30 2 * * *', berlin, '2026-10-24T22:00:00Z', '2026-10-25T12:00:00Z')).toEqual(['2026-10-25T00:30'])
  })

  test('several fixed times inside of it run once each, the first time', () => {
    expect(due('0 2,14 * * *', berlin, '2026-10-24T22:00:00Z', '2026-10-25T20:00:00Z')).toEqual(['2026-10-25T00:00', '2026-10-25T13:00'])
    expect(due('0,30 2 * * *', berlin, '2026-10-24T22:00:00Z', '2026-10-25T20:00:00Z')).toEqual(['2026-10-25T00:00', '2026-10-25T00:30'])
  })

  test('K2: hourly and half-hourly schedules run in both', () => {
    const everyHour = Array.from({ length: 24 }, (_, hour) => hour).join()
    for (const cron of ['0 0-23 * * *', `0 ${everyHour} * * *`])
      expect(due(cron, berlin, '2026-10-24T23:30:00Z', '2026-10-25T03:30:00Z').length).toBe(4)
    expect(due('0 * * * *', berlin, '2026-10-24T23:30:00Z', '2026-10-25T03:30:00Z').length).toBe(4)
    expect(due('*/30 * * * *', newYork, '2026-11-01T04:45:00Z', '2026-11-01T07:45:00Z').length).toBe(6)
  })

  test('a schedule of every two hours leaves out the hour that does not exist, and runs in both that exist twice', () => {
    for (const cron of ['0 */2 * * *', '0 0-23/2 * * *']) {
      expect(due(cron, berlin, '2026-03-28T22:30:00Z', '2026-03-29T02:30:00Z')).toEqual(['2026-03-28T23:00', '2026-03-29T02:00'])
      expect(due(cron, berlin, '2026-10-24T21:30:00Z', '2026-10-25T03:30:00Z')).toEqual([
        '2026-10-24T22:00',
        '2026-10-25T00:00',
        '2026-10-25T01:00',
        '2026-10-25T03:00',
      ])
    }
  })

  test('a change by half an hour is handled too', () => {
    expect(due('*/30 * * * *', 'Australia/Lord_Howe', '2026-04-04T14:00:00Z', '2026-04-04T17:00:00Z').length).toBeGreaterThanOrEqual(6)
  })
})

describe('due ticks', () => {
  test('are those after the last decided tick, up to and including now', () => {
    expect(due('*/15 * * * *', 'UTC', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z')).toEqual([
      '2026-01-01T00:15',
      '2026-01-01T00:30',
      '2026-01-01T00:45',
      '2026-01-01T01:00',
    ])
    expect(due('*/15 * * * *', 'UTC', '2026-01-01T01:00:00Z', '2026-01-01T01:14:59Z')).toEqual([])
  })

  test('of six fields include seconds', () => {
    expect(
      dueTicks({ cron: '*/5 * * * * *', timezone: 'UTC' }, new Date('2026-01-01T00:00:00Z'), new Date('2026-01-01T00:00:20Z')).length,
    ).toBe(4)
  })

  test('after months of one per second are only the newest, found quickly', () => {
    const now = new Date('2026-06-01T00:00:00Z')
    const listed = dueTicks({ cron: '* * * * * *', timezone: 'UTC' }, new Date('2026-01-01T00:00:00Z'), now)
    expect(listed.length).toBe(1_000)
    expect(listed.at(-1)).toEqual(now)
  })

  test('a clock that jumps back makes no tick due twice', () => {
    expect(due('* * * * *', 'UTC', '2026-01-01T12:00:00Z', '2026-01-01T10:00:00Z')).toEqual([])
  })

  test('K2: 29 February comes every four years, and 30 February never', () => {
    expect(nextTickAfter({ cron: '0 2 29 2 *', timezone: 'UTC' }, new Date('2026-01-01T00:00:00Z'))?.toISOString()).toBe(
      '2028-02-29T02:00:00.000Z',
    )
    expect(nextTickAfter({ cron: '0 2 30 2 *', timezone: 'UTC' }, new Date('2026-01-01T00:00:00Z'))).toBeUndefined()
  })
})

test.for([
  ['30 2 * * *', berlin, true],
  ['0 1-3 * * *', newYork, true],
  ['0 6 * * *', berlin, false],
  ['30 2 * * *', 'UTC', false],
  ['*/15 * * * *', berlin, false],
  ['30 2 * * *', 'Asia/Tokyo', false],
  ['0 30 2 * * *', berlin, true],
  ['0 30 1 * * *', berlin, false],
  ['30 2 1 * *', berlin, true],
  // The clocks change at midnight.
  ['30 0 * * *', 'Africa/Cairo', true],
  ['30 0 * * *', 'Asia/Beirut', true],
  ['30 0 * * *', 'America/Santiago', true],
  ['30 0 * * *', 'Atlantic/Azores', true],
  ['30 23 * * *', 'Africa/Cairo', true],
  ['30 2 * * *', 'Africa/Cairo', false],
  // The clocks change by half an hour.
  ['15 2 * * *', 'Australia/Lord_Howe', true],
  ['45 2 * * *', 'Australia/Lord_Howe', false],
  ['0 0-23/6 * * *', berlin, false],
  ['0 0-23/2 * * *', berlin, true],
  ['0 0,2 * * *', berlin, true],
  // Every hour has no fixed time.
  ['0 0-23 * * *', berlin, false],
  ['0 */2 * * *', berlin, false],
] as const)('%s in %s is affected by clock changes: %s', ([cron, timezone, expected]) => {
  expect(isTouchedByClockChange({ cron, timezone }, new Date('2026-11-26T00:00:00Z'))).toBe(expected)
})

describe('previous ticks', () => {
  const times = { cron: '*/15 * * * *', timezone: 'UTC' }
  const previous = (now: string) => iso(previousTicks(times, new Date(now), 2))

  test('change with the next tick, forward and back in time', () => {
    expect(previous('2026-01-01T00:31:00Z')).toEqual(['2026-01-01T00:15', '2026-01-01T00:30'])
    expect(previous('2026-01-01T00:44:59Z')).toEqual(['2026-01-01T00:15', '2026-01-01T00:30'])
    expect(previous('2026-01-01T00:45:00Z')).toEqual(['2026-01-01T00:30', '2026-01-01T00:45'])
    expect(previous('2026-01-01T00:29:00Z')).toEqual(['2026-01-01T00:00', '2026-01-01T00:15'])
  })

  test('of a yearly expression are those of the last year', () => {
    expect(iso(previousTicks({ cron: '0 3 1 2 *', timezone: 'UTC' }, new Date('2026-03-01T00:00:00Z'), 1))).toEqual(['2026-02-01T03:00'])
  })
})

test('the last ticks of a schedule for one month are found without listing the month', () => {
  const searches = vi.spyOn(Cron.prototype, 'nextRun')
  onTestFinished(() => searches.mockRestore())
  expect(previousTicks({ cron: '* * * 2 *', timezone: 'UTC' }, new Date('2026-12-30T12:00:00Z'), 3)).toEqual([
    new Date('2026-02-28T23:57:00Z'),
    new Date('2026-02-28T23:58:00Z'),
    new Date('2026-02-28T23:59:00Z'),
  ])
  // The month has 40,320 ticks.
  expect(searches.mock.calls.length).toBeLessThan(1_000)
})
