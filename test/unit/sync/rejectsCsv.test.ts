import { expect, test } from 'vitest'
import { reasonColumns } from '../../../src/sync/reports/rejectsCsv.ts'

test('a rejects file that is corrected and rejected again has each column once', () => {
  let columns: readonly string[] = ['id', 'Line']
  for (let times = 1; times <= 3; times++) columns = [...columns, ...reasonColumns(columns)]
  expect(new Set(columns.map((column) => column.toLowerCase())).size).toBe(columns.length)
  expect(columns).toContain('reject_reject_code')
})
