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

test('digests that were taken use no memory, also if the parser is always some records ahead', () => {
  const gate = new DigestGate(key)
  const ahead = 10
  const record = Buffer.from('record')
  const before = process.memoryUsage().arrayBuffers
  let taken = 0
  for (let line = 1; line <= 300_000; line++) {
    gate.skips(record, 0, record.length, line)
    if (line > ahead && gate.digestOf(line - ahead) !== undefined) taken++
  }
  expect(taken).toBe(300_000 - ahead)
  // The digests of all lines would take 7 MB.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2_000_000)
})

test('the digests of records that the parser returns later are those of their lines', () => {
  const digestAt = (line: number, ahead: number): string => {
    const gate = new DigestGate(key)
    let digest: Uint8Array | undefined
    for (let read = 1; read <= line + ahead; read++) {
      const record = Buffer.from(`record ${read}`)
      gate.skips(record, 0, record.length, read)
      if (read > ahead) digest = gate.digestOf(read - ahead)
    }
    return Buffer.from(digest ?? []).toString('hex')
  }
  for (const ahead of [1, 100, 1_023, 1_024, 1_025, 3_000]) expect(digestAt(4_000, ahead)).toBe(digestAt(4_000, 0))
})
