import { expect, test } from 'vitest'
import { classifyCompleteness, type EndFacts } from '../../../src/sources/completeness.ts'

const doubt = 'the feed changed on the server while it was read'
const facts: Omit<EndFacts, 'required'> = {
  format: { columns: ['id'], rowCount: 2, finalNewline: true, trailerRows: 2, notes: [] },
  transport: { proof: 'content-length met', doubt },
  containerProof: undefined,
  bytes: 20,
  sha256: 'ab',
}

test.for<[string, Partial<EndFacts> & Pick<EndFacts, 'required'>]>([
  ['auto', { required: { kind: 'auto' } }],
  ['a number of rows', { required: { kind: 'rows', count: 2 } }],
  ['a trailer', { required: { kind: 'trailer', pattern: '#{n}' } }],
  ['a completion marker', { required: { kind: 'marker', path: 'done' }, marker: { found: true } }],
  ['a manifest of rows', { required: { kind: 'manifest', path: 'm' }, marker: { found: true, rows: 2, bytes: 20 } }],
])('a source that changed while it was read is not complete: %s', ([, given]) => {
  expect(classifyCompleteness({ ...facts, ...given })).toEqual({ complete: false, proof: 'none', reason: doubt })
  expect(classifyCompleteness({ ...facts, ...given, transport: { proof: 'content-length met' } }).complete).toBe(true)
})

test('the digest of a manifest proves the read of a source that changed afterwards', () => {
  const required = { kind: 'manifest', path: 'm' } as const
  expect(classifyCompleteness({ ...facts, required, marker: { found: true, sha256: 'AB' } }).complete).toBe(true)
  expect(classifyCompleteness({ ...facts, required, marker: { found: true, sha256: 'cd' } }).complete).toBe(false)
})
