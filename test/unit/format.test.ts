/** Texts of durations. */
import { expect, test } from 'vitest'
import { duration } from '../../src/format.ts'

test.for([
  [400, '0.4 s'],
  [18_200, '18 s'],
  [119_600, '2 min 0 s'],
  [179_700, '3 min 0 s'],
  [185_000, '3 min 5 s'],
  [7_199_700, '2 h 0 min'],
  [7_440_000, '2 h 4 min'],
  [10_799_000, '3 h 0 min'],
] as const)('%i ms are %s', ([ms, text]) => {
  expect(duration(ms)).toBe(text)
})
