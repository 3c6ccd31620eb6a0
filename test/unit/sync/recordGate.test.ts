/** Known records of the gate: only equal bytes with an equal shape. */
import { expect, test } from 'vitest'
import { readCsv } from '../../../src/formats/csv/readCsv.ts'
import { readLimits } from '../../../src/formats/limits.ts'
import { KnownDigests } from '../../../src/sync/read/knownDigests.ts'
import { DigestGate } from '../../../src/sync/read/recordGate.ts'

const key = Buffer.alloc(16, 7)

function gateOf(known: KnownDigests): DigestGate {
  const gate = new DigestGate(key)
  gate.setKnown(known)
  return gate
}

test('a record with the bytes of the shape of its file is not known, even if an outdated digest is zeros', () => {
  const known = new KnownDigests(1)
  known.add(0, Buffer.alloc(16, 1), Buffer.alloc(2), [0])
  const gate = gateOf(known)
  gate.beginShape('json')
  const record = Buffer.from('shape json')
  expect(gate.skips(record, 0, record.length, 1)).toBe(false)
})

/** Digests of the data rows of one file. */
async function digestsOf(text: string, gate: DigestGate, trailer?: string): Promise<Uint8Array> {
  const dialect = { delimiter: ',', quote: '"', header: ['id'], headerLine: 1, skipThroughLine: 1, notes: [] }
  const chunks = (async function* () {
    yield Buffer.from(text)
  })()
  const reader = readCsv(chunks, dialect, { name: 'ids.csv', limits: readLimits, gate, ...(trailer === undefined ? {} : { trailer }) })
  const digests: Uint8Array[] = []
  for await (const rows of reader.rows) for (const { line } of rows) digests.push(Buffer.from(gate.digestOf(line) ?? []))
  if (trailer !== undefined) expect(reader.end().trailerRows).toBe(1)
  return Buffer.concat(digests)
}

test('a record that is data in one source may be the trailer of another', async () => {
  const text = 'id\nA\n#rows=1\n'
  const digests = await digestsOf(text, new DigestGate(key))
  const known = new KnownDigests(2)
  known.add(0, digests, Buffer.alloc(digests.length / 8), [])
  await digestsOf(text, gateOf(known), '#rows={n}')
})
