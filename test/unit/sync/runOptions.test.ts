/** Options of a run as they are stored, and as a worker of this version reads them. */
import { expect, test } from 'vitest'
import { readOptions } from '../../../src/db/runOptions.ts'

test('stored options come back as they were given', () => {
  const options = {
    full: true,
    approveDeletes: 12,
    source: 'a.csv',
    failedOnly: false,
    audit: 'repair',
    planId: 'p_1',
    anyWorker: true,
  } as const
  expect(readOptions(JSON.parse(JSON.stringify(options)))).toEqual(options)
})

test.for([[null], ['text'], [{}], [{ full: 'yes', approveDeletes: '3', audit: 'all', anyWorker: false, later: 1 }]])(
  'options of another version or type are left out: %j',
  ([stored]) => {
    expect(readOptions(stored)).toEqual({})
  },
)
