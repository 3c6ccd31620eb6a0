import { describe, expect, test } from 'vitest'
import { adviceMs, statedLimit } from '../../../src/sync/push/waitAdvice.ts'

const now = Date.UTC(2026, 2, 1, 12, 0, 0)
const date = new Date(now).toUTCString()
const in5Minutes = String(now / 1000 + 300)

describe('how long to wait', () => {
  test.for([
    ['seconds', { 'retry-after': '120' }, 120_000],
    ['a date', { 'retry-after': 'Sun, 01 Mar 2026 12:01:00 GMT' }, 60_000],
    ['a date already past', { 'retry-after': 'Sun, 01 Mar 2026 11:59:00 GMT' }, 0],
    ['a reset in epoch seconds', { 'x-rate-limit-reset': in5Minutes }, 300_000],
    ['a reset that counts down', { 'x-rate-limit-reset': '300' }, 300_000],
    ['a reset in epoch milliseconds, as the client reads it', { 'x-rate-limit-reset': String(now + 300_000) }, 300_000],
    ['a reset of long ago, no count of years', { 'x-rate-limit-reset': '999999999' }, 0],
    ['a reset already past', { 'x-rate-limit-reset': String(now / 1000 - 5) }, 0],
    ['the later of both', { 'retry-after': '10', 'x-rate-limit-reset': in5Minutes }, 300_000],
    ['the account before the user', { 'x-account-rate-limit-reset': '60', 'x-rate-limit-reset': in5Minutes }, 60_000],
    [
      'its own clock, not ours',
      { date: new Date(now - 3_600_000).toUTCString(), 'x-rate-limit-reset': String(now / 1000 - 3_600 + 30) },
      30_000,
    ],
    ['a negative number', { 'retry-after': '-5' }, undefined],
    ['words', { 'retry-after': 'soon' }, undefined],
    ['a number beyond all', { 'retry-after': '99999999999999999999' }, undefined],
    ['nothing', {}, undefined],
  ] as const)('%s', ([, headers, expected]) => {
    expect(adviceMs({ date, ...headers }, now + 7)).toBe(expected)
  })

  test('without a date of the service our own clock counts', () => {
    expect(adviceMs({ 'x-rate-limit-reset': in5Minutes }, now)).toBe(300_000)
  })
})

test("the limit that governs is the account's where it is stated", () => {
  expect(statedLimit({ date, 'x-rate-limit-limit': '100', 'x-rate-limit-remaining': '5', 'x-rate-limit-reset': in5Minutes }, now)).toEqual({
    limit: 100,
    remaining: 5,
    resetMs: 300_000,
  })
  expect(
    statedLimit({ date, 'x-rate-limit-limit': '100', 'x-account-rate-limit-limit': '7', 'x-account-rate-limit-remaining': '0' }, now),
  ).toEqual({ limit: 7, remaining: 0 })
  expect(statedLimit({ date, 'x-rate-limit-limit': 'many' }, now)).toEqual({})
})
