import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RunError } from '../../../src/errors.ts'
import { formatTokens } from '../../support/formatTokens.ts'
import { read } from './support.ts'
import { zipOf } from './zipOf.ts'

const csv = 'id,title,price\n1,"a, b",1.00 USD\n2,"c ""d""",2.00 USD\n'
const seeds = {
  csv: Buffer.from(csv),
  jsonl: Buffer.from('{"id":"1","price":{"value":1.50}}\n{"id":"2","images":["a","b"]}\n'),
  json: Buffer.from('[{"id":"1","title":"]"},{"id":"2"}]'),
  xml: readFileSync(new URL('../../fixtures/feeds/rss.xml', import.meta.url)),
  gzip: gzipSync(csv),
  zip: zipOf([{ name: 'a.csv', content: csv }]),
  'zip described': zipOf([{ name: 'a.csv', content: csv, described: true }]),
} as const

const token = fc.constantFrom(...formatTokens)
const edit = fc.record({
  at: fc.nat({ max: 5000 }),
  remove: fc.nat({ max: 8 }),
  insert: fc.oneof(
    token,
    fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
  ),
})

for (const [name, seed] of Object.entries(seeds)) {
  test(`${name} with any bytes changed is read or rejected with a code, the same in chunks of any size`, { tags: ['long'] }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 4 }), fc.integer({ min: 1, max: 50 }), async (edits, chunkBytes) => {
        let bytes = seed
        for (const { at, remove, insert } of edits) {
          const start = at % (bytes.length + 1)
          bytes = Buffer.concat([bytes.subarray(0, start), insert, bytes.subarray(start + remove)])
        }
        expect(await outcome(bytes, chunkBytes)).toEqual(await outcome(bytes, 65_536))
      }),
      { numRuns: Number(process.env['SLUICE_FUZZ_RUNS'] ?? 120) },
    )
  })
}

async function outcome(bytes: Buffer, chunkBytes: number): Promise<unknown> {
  try {
    const { rows } = await read(bytes, { chunkBytes })
    return rows.map((row) => [
      row.line,
      row.columns.filter((_, at) => row.cells[at] !== undefined),
      row.cells.filter((cell) => cell !== undefined),
      row.fault?.code,
    ])
  } catch (error) {
    if (error instanceof RunError && error.hint !== '') return 'refused'
    throw error
  }
}
