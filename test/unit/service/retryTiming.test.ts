/** Waits asked for by headers, and our own backoff (RFC 9110 10.2.3; spec/gaps.md 1). */
import { expect, test } from 'vitest'
import { adviceMs, backoffMs, retryAfterMs } from '../../../src/service/client/retryTiming.ts'

const now = Date.UTC(2026, 2, 1, 12)
const epochS = now / 1000

test.for([
  ['120', 120_000, 'seconds'],
  ['0', 0, 'none'],
  ['Sun, 01 Mar 2026 12:02:00 GMT', 120_000, 'a date to come'],
  ['Sun, 01 Mar 2026 11:59:00 GMT', 0, 'a date already past'],
  ['soon', undefined, 'words'],
  ['-5', undefined, 'negative'],
  ['1.5', undefined, 'a fraction'],
  ['', undefined, 'nothing'],
  ['99999999999999999999', undefined, 'a number beyond all times'],
] as const)('retryAfterMs(%s) is %s: %s', ([header, expected]) => {
  expect(retryAfterMs(header, now)).toBe(expected)
})

test.for([
  [{}, undefined, 'no header at all'],
  [{ 'retry-after': '5' }, 5_000, 'Retry-After alone'],
  [{ 'x-rate-limit-reset': `${epochS + 60}`, 'x-rate-limit-remaining': '0' }, 60_000, 'the reset in epoch seconds'],
  [{ 'x-rate-limit-reset': '60', 'x-rate-limit-remaining': '0' }, 60_000, 'the reset in seconds from now'],
  [{ 'x-rate-limit-reset': `${now + 60_000}`, 'x-rate-limit-remaining': '0' }, 60_000, 'the reset in milliseconds'],
  [{ 'retry-after': '5', 'x-rate-limit-reset': `${epochS + 60}` }, 60_000, 'the later: the reset'],
  [{ 'retry-after': '90', 'x-rate-limit-reset': `${epochS + 60}` }, 90_000, 'the later: Retry-After'],
  [{ 'x-rate-limit-remaining': '7', 'x-rate-limit-reset': `${epochS + 60}` }, 60_000, 'quota left and still refused: another scope'],
  [
    {
      'x-account-rate-limit-remaining': '0',
      'x-account-rate-limit-reset': `${epochS + 30}`,
      'x-rate-limit-remaining': '9',
      'x-rate-limit-reset': `${epochS + 900}`,
    },
    30_000,
    'the account trio governs',
  ],
  [
    {
      'x-account-rate-limit-remaining': '9',
      'x-account-rate-limit-reset': `${epochS + 30}`,
      'x-rate-limit-remaining': '0',
      'x-rate-limit-reset': `${epochS + 900}`,
    },
    900_000,
    'the app-wide quota is the one used up',
  ],
  [{ 'x-rate-limit-reset': 'later', 'x-rate-limit-remaining': '0' }, undefined, 'garbage'],
] as const)('advice of %o is %s ms: %s', ([headers, expected]) => {
  const advice = adviceMs(headers, now)
  expect(advice === undefined ? undefined : advice - now).toBe(expected)
})

test.for([
  [0, 0, 0],
  [0, 0.5, 500],
  [3, 0.5, 4_000],
  [10, 0.5, 30_000],
  [1_000, 0.999, 59_940],
] as const)('backoff before sending %i with chance %d is %i ms', ([attempt, random, expected]) => {
  expect(backoffMs(attempt, random)).toBe(expected)
})
