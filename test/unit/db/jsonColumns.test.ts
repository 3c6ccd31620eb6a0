/** JSON columns as they are stored, and as this version reads them. */
import { expect, test } from 'vitest'
import { decodePlannedSets } from '../../../src/db/plans.ts'
import { decodeCells } from '../../../src/db/rejects.ts'
import { decodeCounts, decodeError, decodeGuards, decodeProgress, decodeWarnings, readOptions } from '../../../src/db/runColumns.ts'
import { decodeRowCounts, decodeSources } from '../../../src/db/snapshots.ts'
import { noCounts } from '../../../src/model/report.ts'

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

test('counts and texts that an earlier version did not store have their defaults', () => {
  expect(decodeCounts({}, 1)).toEqual(noCounts)
  expect(decodeGuards([{ code: 'GUARD_DELETES', message: 'too many' }], 1)).toEqual([
    { code: 'GUARD_DELETES', message: 'too many', hint: '', withheld: 0, examples: [] },
  ])
  expect(decodeWarnings([{ code: 'A', message: 'b', count: 1 }], 1)).toEqual([{ code: 'A', field: '', message: 'b', count: 1, lines: [] }])
  expect(decodeError({ code: 'INTERNAL', message: 'ended' }, 1)).toEqual({ code: 'INTERNAL', message: 'ended', where: null, hint: '' })
  expect(decodeProgress(null, 1)).toBeNull()
})

test('keys that this version does not know are left out', () => {
  expect(decodeCounts({ read: 3, unconfirmed: { create: { refused: 1 } }, later: 'x' }, 1)).toEqual({ ...noCounts, read: 3 })
})

const facts = {
  uri: 'a.csv',
  bytes: 1,
  sha256: '00',
  format: 'csv',
  encoding: 'utf-8',
  compression: 'none',
  columns: ['id'],
  finalNewline: null,
  completeness: { complete: true, proof: 'file unchanged while read' },
}

test('facts of both files of a joined source are read', () => {
  const joined = { ...facts, joined: { main: facts, file: { ...facts, notes: ['a note'], etag: '"1"' } } }
  expect(decodeSources([joined], 1)).toEqual([joined])
})

test.for([
  ['run.counts, row 7', () => decodeCounts({ read: 'secret' }, 7)],
  ['run.counts, row 7', () => decodeCounts('secret', 7)],
  ['run.guards, row 7', () => decodeGuards([{ code: 'secret' }], 7)],
  ['run.guards, row 7', () => decodeGuards(null, 7)],
  ['run.error, row 7', () => decodeError({ code: 'secret text', message: '' }, 7)],
  ['run.progress, row 7', () => decodeProgress({ stage: 'secret', done: 1, at: '', stageStartedAt: '' }, 7)],
  ['plan.product_sets, row p_1', () => decodePlannedSets({ rules: [{ name: 'secret' }], changes: [] }, 'p_1')],
  ['snapshot.sources, row 7', () => decodeSources([{ ...facts, bytes: 'secret' }], 7)],
  ['snapshot.counts, row 7', () => decodeRowCounts({ read: 1 }, 7)],
  ['reject.cells, row of run 7, line 3', () => decodeCells(['a', { secret: 1 }], 'of run 7, line 3')],
] as const)('a wrong value names table, column and row, and is not shown: %s', ([where, decode]) => {
  expect(decode).toThrow(expect.objectContaining({ code: 'DATABASE_VALUE_INVALID', where }))
  expect(decode).not.toThrow(/secret/)
})
