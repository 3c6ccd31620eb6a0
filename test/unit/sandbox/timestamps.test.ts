/** Dates that the service accepts and prints (docs/spec-notes.md#echoes-and-cursors). */
import { expect, test } from 'vitest'
import { addMonths, isoSeconds, parseTimestamp } from '../../../src/sandbox/timestamps.ts'

test.for([
  ['2027-01-31', '2027-01-31T00:00:00Z'],
  ['2027-01-31T10:20:30Z', '2027-01-31T10:20:30Z'],
  ['2027-01-31T10:20:30.999Z', '2027-01-31T10:20:30Z'],
  ['2027-01-31T10:20:30+0130', '2027-01-31T08:50:30Z'],
  ['2027-01-31T10:20:30-01:30', '2027-01-31T11:50:30Z'],
  ['2027-01-31T23:20-02', '2027-02-01T01:20:00Z'],
  ['2028-02-29', '2028-02-29T00:00:00Z'],
  ['2027-02-29', undefined],
  ['2027-13-01', undefined],
  ['2027-01-31T24:00:00Z', undefined],
  ['0050-01-31', undefined],
  ['0000-01-31T00:00:00Z', undefined],
  ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
  ['9999-12-31T23:59:59-00:01', undefined],
  ['2027-01-31T10:20:30+24:00', undefined],
  ['2027-01-31T10:20:30+0160', undefined],
  ['31.01.2027', undefined],
  ['', undefined],
] as const)('%s reads as %s', ([text, expected]) => {
  const at = parseTimestamp(text)
  expect(at === undefined ? undefined : isoSeconds(at)).toBe(expected)
})

test('months are added with the day clamped to the end of the month', () => {
  expect(isoSeconds(addMonths(Date.parse('2027-01-31T12:00:00Z'), 13))).toBe('2028-02-29T12:00:00Z')
  expect(isoSeconds(addMonths(Date.parse('2026-12-15T00:00:00Z'), 13))).toBe('2028-01-15T00:00:00Z')
})
