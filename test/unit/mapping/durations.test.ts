import { expect, test } from 'vitest'
import { addDuration } from '../../../src/mapping/instant.ts'

test.for([
  ['2027-01-31T12:00:00.000Z', 1, '2027-02-28T12:00:00.000Z'],
  ['2028-01-31T12:00:00.000Z', 1, '2028-02-29T12:00:00.000Z'],
  ['2027-08-31T23:59:59.000Z', 13, '2028-09-30T23:59:59.000Z'],
  ['2027-12-15T00:00:00.000Z', 13, '2029-01-15T00:00:00.000Z'],
  ['2028-02-29T00:00:00.000Z', 12, '2029-02-28T00:00:00.000Z'],
  ['2027-01-30T00:00:00.000Z', 1, '2027-02-28T00:00:00.000Z'],
] as const)('%s and %i months are %s', ([from, months, to]) => {
  expect(new Date(addDuration(Date.parse(from), { months })).toISOString()).toBe(to)
})

test('all units except months are fixed lengths of time', () => {
  expect(addDuration(1_000, { ms: 86_400_000 })).toBe(86_401_000)
})
