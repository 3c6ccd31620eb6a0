import { expect, test } from 'vitest'
import { isRejectsHeader, reasonIndexes } from '../../../src/mapping/rejectsFile.ts'
import { reasonColumns } from '../../../src/sync/reports/rejectsCsv.ts'

test('a rejects file that is corrected and rejected again has each column once', () => {
  let columns: readonly string[] = ['id', 'Line']
  for (let times = 1; times <= 3; times++) columns = [...columns, ...reasonColumns(columns)]
  expect(new Set(columns.map((column) => column.toLowerCase())).size).toBe(columns.length)
  expect(columns).toContain('reject_reject_code')
})

test('a corrected rejects file is recognized, also if the file has columns with the names of the reasons', () => {
  const own = ['id', 'line', 'reject_line', 'code']
  const columns = [...own, ...reasonColumns(own)]
  expect(columns.slice(own.length)).toEqual(['reject_reject_line', 'reject_code', 'field', 'message', 'hint'])
  expect(reasonIndexes(columns)).toEqual([4, 5, 6, 7, 8])
  expect(isRejectsHeader(columns.join(';'))).toBe(true)
  expect(reasonIndexes([...own, 'line', 'code', 'field', 'message', 'tip'])).toEqual([])
})
