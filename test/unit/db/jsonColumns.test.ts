/** JSON columns: stored values, and what this version reads. */
import { expect, test } from 'vitest'
import { decodeAlertDetail } from '../../../src/alerts/message.ts'
import { decodeAnswer } from '../../../src/db/attempts.ts'
import { decodeDetail } from '../../../src/db/auditLog.ts'
import { decodePlanCounts, decodePlanGuards, decodePlannedSets, decodeReview, decodeResync } from '../../../src/db/plans.ts'
import { decodeContent } from '../../../src/db/productSets.ts'
import { decodeCells, decodeFaults } from '../../../src/db/rejects.ts'
import {
  decodeColumns,
  decodeCounts,
  decodeError,
  decodeGuards,
  decodeMetricCounts,
  decodeProductSets,
  decodeProgress,
  decodeStages,
  decodeWarnings,
  readOptions,
} from '../../../src/db/runs/columns.ts'
import { decodeRowCounts, decodeSources } from '../../../src/db/snapshots.ts'
import { noCounts } from '../../../src/model/report.ts'
import { decodeQuality } from '../../../src/sync/read/readRecords.ts'

test('stored options are read as they were given', () => {
  const options = {
    full: true,
    approveDeletes: 12,
    source: 'a.csv',
    failedOnly: false,
    audit: 'repair',
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

test('reads the facts of both files of a joined source', () => {
  const joined = { ...facts, joined: { main: facts, file: { ...facts, notes: ['a note'], etag: '"1"' } } }
  expect(decodeSources([joined], 1)).toEqual([joined])
})

const counts = Object.fromEntries([...Object.keys(noCounts), 'filtered'].map((name, i) => [name, i + 1]))
const drift = Object.fromEntries(
  ['listed', 'same', 'changed', 'notListed', 'hidden', 'unmanaged', 'unresolved', 'waiting'].map((name, i) => [name, i + 1]),
)
const guard = { code: 'GUARD_DELETES', message: 'too many', hint: 'look', withheld: 3, examples: ['a'] }
const setChange = { name: 'Acme', action: 'replace', outcome: 'unresolved', code: 'PRODUCT_SET_UNRESOLVED', message: 'no answer' }
const setRule = { name: 'Acme', description: 'all', filters: [{ attribute: 'brand', operator: 'MATCH', value: 'Acme' }], brand: 'Acme' }
const fault = { code: 'PRICE_INVALID', field: 'price', message: 'is text', hint: 'write 1.00 EUR' }
const frequent = { counts: { a: 2 }, slack: 1 }
const allFacts = {
  ...facts,
  completeness: { complete: false, proof: 'none', reason: 'cut' },
  notes: ['a note'],
  quality: { members: 3, filled: { email: 2 }, brand: 'Acme', group: 'g' },
  joined: { main: facts, file: facts },
  etag: '"1"',
  lastModified: 'Thu, 01 Jan 2026 00:00:00 GMT',
}
const rowCounts = { read: 6, rejected: 1, duplicates: 1, suppressed: 1, filtered: 1, valid: 2 }
const progress = {
  stage: 'push',
  done: 1,
  total: 2,
  rejected: 3,
  waiting: 'for the service',
  stageStartedAt: '2026-01-01T00:00:00.000Z',
  at: '2026-01-01T00:00:01.000Z',
}
const failure = { code: 'INTERNAL', message: 'ended', where: 'a.csv', hint: 'report it' }
const content = {
  name: 'Acme',
  description: null,
  type: 'FILTERED',
  filters: setRule.filters,
  productKeys: ['k'],
  productIds: ['p-1'],
}
const alert = { code: 'RUN_FAILED', message: 'failed', hint: 'sluice show', runId: 'r_1', planId: 'p_1', counts: { rejected: 1 } }
const quality = {
  items: [['a', 'b', 'c']],
  sets: [
    [null, 2],
    [1, 2],
  ],
  currencies: ['EUR'],
  groups: frequent,
  identifiers: frequent,
  due: true,
}

/** Every decoder with a complete value; the test makes each field of it wrong in turn. */
const decoders = [
  [
    'run.counts',
    decodeCounts,
    { ...counts, settled: { confirmed: 1, refused: 2 }, drift },
    [{ valid: '1' }, { settled: { confirmed: 1 } }, { drift: { same: '1' } }],
  ],
  [
    'run.guards',
    decodeGuards,
    [guard, { ...guard, outOfStock: 2 }],
    [[{ ...guard, withheld: '3' }], [{ ...guard, examples: [1] }], [{ ...guard, outOfStock: '2' }]],
  ],
  ['run.warnings', decodeWarnings, [{ ...fault, count: 1, lines: [7] }], [[{ ...fault }], [{ ...fault, count: 1, lines: ['7'] }]]],
  ['run.stages', decodeStages, [{ stage: 'read', startedAt: progress.at, durationMs: 5 }], [[{ stage: 'read', durationMs: 5 }], null]],
  [
    'run.progress',
    decodeProgress,
    progress,
    [
      { ...progress, stage: 'rest' },
      { ...progress, total: '2' },
    ],
  ],
  ['run.columns', decodeColumns, ['id', 'email'], [[1], 'id']],
  [
    'run.error',
    decodeError,
    failure,
    [
      { ...failure, code: 'some text' },
      { ...failure, message: 1 },
    ],
  ],
  ['run.product_sets', decodeProductSets, [setChange], [[{ ...setChange, action: 'rename' }], [{ ...setChange, outcome: 'done' }]]],
  ['plan.counts', decodePlanCounts, counts, [{ creates: '1' }]],
  ['plan.guards', decodePlanGuards, [guard], [[{ ...guard, code: 1 }]]],
  ['plan.review', decodeReview, { updateFields: [{ field: 'price', count: 3 }] }, [{ updateFields: [{ field: 'price' }] }]],
  ['plan.review', decodeResync, { resync: ['p_1'] }, [{ resync: 'p_1' }, { resync: [1] }]],
  [
    'plan.product_sets',
    decodePlannedSets,
    { rules: [setRule], changes: [setChange] },
    [
      { rules: [], changes: [{}] },
      { rules: [{ ...setRule, filters: [{ attribute: 'brand' }] }], changes: [] },
    ],
  ],
  ['snapshot.sources', decodeSources, [allFacts], [[{ ...facts, columns: [1] }], [{ ...facts, completeness: { proof: '' } }]]],
  ['snapshot.counts', decodeRowCounts, rowCounts, [{ ...rowCounts, valid: null }]],
  ['reject.cells', decodeCells, ['a', ''], [[1]]],
  ['reject.more', decodeFaults, [fault], [[{ ...fault, hint: undefined }]]],
  ['attempt.answer', decodeAnswer, { confirmed: 1, codes: ['A'] }, ['text']],
  ['audit.detail', decodeDetail, { was: 1 }, [null]],
  [
    'run.counts',
    decodeMetricCounts,
    { ...counts, unconfirmed: { create: { refused: 1 } } },
    [{ read: '1' }, { unconfirmed: { create: { refused: '1' } } }],
  ],
  [
    'product_set.content',
    decodeContent,
    content,
    [
      { ...content, type: 'OTHER' },
      { ...content, productIds: [1] },
    ],
  ],
  [
    'alert.detail',
    decodeAlertDetail,
    alert,
    [
      { ...alert, counts: { rejected: '1' } },
      { ...alert, hint: null },
    ],
  ],
  [
    'record_quality.quality',
    decodeQuality,
    quality,
    [
      { ...quality, sets: [['1', 2]] },
      { ...quality, due: 1 },
    ],
  ],
] as const

test.for(decoders)('%s: reads every stored field, and rejects a field of another type', ([column, decode, whole, wrong]) => {
  const stored: unknown = JSON.parse(JSON.stringify(whole))
  expect(decode(stored, 7)).toEqual(whole)
  for (const value of wrong)
    expect(() => decode(value, 7)).toThrow(expect.objectContaining({ code: 'DATABASE_VALUE_INVALID', where: `${column}, row 7` }))
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

test('the audit of an earlier version is read under the present names', () => {
  const stored = { listed: 9, same: 4, changed: 1, gone: 2, hidden: 0, foreign: 3, unsettled: 5, waiting: 0 }
  const { drift: read } = decodeCounts({ ...noCounts, drift: stored }, 1)
  expect(read).toEqual({ listed: 9, same: 4, changed: 1, notListed: 2, hidden: 0, unmanaged: 3, unresolved: 5, waiting: 0 })
})

test('record_quality.quality: reads the name that `due` had on 26 November 2026', () => {
  const { due: _, ...rest } = quality
  expect(decodeQuality({ ...rest, needsFullRead: true }, 7)).toEqual({ ...rest, due: true })
})
