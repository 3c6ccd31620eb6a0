import { describe, expect, test } from 'vitest'
import { backoffMs, longestBackoffMs, requestedWaitMs, readLimit, retryAfterMs } from '../../../src/http/retryAfter.ts'

const now = Date.UTC(2026, 2, 1, 12, 0, 0)
const date = new Date(now).toUTCString()
const in10Minutes = String(now / 1000 + 600)

const retryAfter = { seconds: '30', date: 'Sun, 01 Mar 2026 12:00:45 GMT', garbage: 'soon', absent: undefined } as const
const quota = {
  absent: {},
  'with requests left': { 'x-rate-limit-limit': '1500', 'x-rate-limit-remaining': '1200', 'x-rate-limit-reset': in10Minutes },
  spent: { 'x-rate-limit-limit': '1500', 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': in10Minutes },
} as const

const none = undefined
/** Seconds to wait by status and quota: with Retry-After in seconds, as a date, unreadable, absent. */
const table: Record<number, Record<keyof typeof quota, readonly (number | undefined)[]>> = {
  429: { absent: [30, 45, none, none], 'with requests left': [600, 600, 600, 600], spent: [600, 600, 600, 600] },
  503: { absent: [30, 45, none, none], 'with requests left': [30, 45, none, none], spent: [600, 600, 600, 600] },
  500: { absent: [30, 45, none, none], 'with requests left': [30, 45, none, none], spent: [600, 600, 600, 600] },
  200: { absent: [none, none, none, none], 'with requests left': [none, none, none, none], spent: [600, 600, 600, 600] },
}

describe('the wait that an answer requests', () => {
  const cases = Object.entries(table).flatMap(([status, byQuota]) =>
    Object.entries(byQuota).flatMap(([state, waits]) =>
      (Object.keys(retryAfter) as (keyof typeof retryAfter)[]).map(
        (form, at) => [Number(status), form, state as keyof typeof quota, waits[at]] as const,
      ),
    ),
  )
  test.for(cases)('%i with Retry-After %s and the quota %s: %s s', ([status, form, state, seconds]) => {
    const value = retryAfter[form]
    const headers = { date, ...quota[state], ...(value === undefined ? {} : { 'retry-after': value }) }
    expect(requestedWaitMs({ status, headers }, now + 7)).toBe(seconds === undefined ? undefined : seconds * 1000)
  })

  test.for([
    ['Retry-After is later than the reset', { 'retry-after': '900', ...quota.spent }, 900_000],
    ['the reset counts seconds from now', { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': '300' }, 300_000],
    ['the reset is in milliseconds', { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': String(now + 300_000) }, 300_000],
    ['the reset is past', { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': String(now / 1000 - 5) }, 0],
    ['the reset is unreadable', { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': 'later' }, undefined],
    ['the account quota is spent: it governs', { ...accountQuota('0', 30), ...userQuota('9', 900) }, 30_000],
    ['both have requests left: the account quota governs', { ...accountQuota('9', 30), ...userQuota('9', 900) }, 30_000],
    ['the quota of the whole application is spent', { ...accountQuota('9', 30), ...userQuota('0', 900) }, 900_000],
  ] as const)('429, %s', ([, headers, expected]) => {
    expect(requestedWaitMs({ status: 429, headers: { date, ...headers } }, now)).toBe(expected)
  })

  test("counts from the service's clock if the answer has its time, else from the clock of this machine", () => {
    const reset = { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': String(now / 1000 - 3_600 + 30) }
    expect(requestedWaitMs({ status: 429, headers: { date: new Date(now - 3_600_000).toUTCString(), ...reset } }, now)).toBe(30_000)
    expect(requestedWaitMs({ status: 429, headers: { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': in10Minutes } }, now)).toBe(
      600_000,
    )
  })
})

function accountQuota(remaining: string, resetS: number) {
  return { 'x-account-rate-limit-remaining': remaining, 'x-account-rate-limit-reset': String(now / 1000 + resetS) }
}

function userQuota(remaining: string, resetS: number) {
  return { 'x-rate-limit-remaining': remaining, 'x-rate-limit-reset': String(now / 1000 + resetS) }
}

test.for([
  ['120', 120_000, 'seconds'],
  ['0', 0, 'none'],
  ['Sun, 01 Mar 2026 12:02:00 GMT', 120_000, 'a date to come'],
  ['Sun, 01 Mar 2026 11:59:00 GMT', 0, 'a date already past'],
  ['Sunday, 01-Mar-26 12:02:00 GMT', 120_000, 'a date of RFC 850'],
  ['Sun Mar  1 12:02:00 2026', 120_000, 'a date of asctime'],
  ['60, 120', 120_000, 'two headers'],
  ['soon', undefined, 'words'],
  ['-5', undefined, 'negative'],
  ['1.5', undefined, 'a fraction'],
  ['', undefined, 'nothing'],
  ['99999999999999999999', 1e23, 'a number beyond all times, which the caller caps'],
] as const)('Retry-After "%s" requests %s ms: %s', ([header, expected]) => {
  expect(retryAfterMs(header, now)).toBe(expected)
})

test('the limit of the account applies if the answer has one', () => {
  expect(readLimit({ 'x-rate-limit-limit': '100' })).toBe(100)
  expect(readLimit({ 'x-rate-limit-limit': '100', 'x-account-rate-limit-limit': '7' })).toBe(7)
  expect(readLimit({ 'x-rate-limit-limit': 'many' })).toBeUndefined()
})

test('backoff doubles up to its maximum and is random over its whole length', () => {
  const backoff = { backoffMinMs: 1_000, backoffMaxMs: 60_000 }
  expect([1, 2, 3, 7, 1_000].map((attempt) => longestBackoffMs(attempt, backoff))).toEqual([1_000, 2_000, 4_000, 60_000, 60_000])
  expect(backoffMs(5, backoff, () => 0)).toBe(0)
  expect(backoffMs(3, backoff, () => 0.5)).toBe(2_000)
})
