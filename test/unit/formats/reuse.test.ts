import { expect, test } from 'vitest'
import { ByteQueue } from '../../../src/formats/byteQueue.ts'
import { readLimits } from '../../../src/formats/limits.ts'
import { openFormat } from '../../../src/formats/openFormat.ts'
import { definitionOf, feed } from './support.ts'

/** A source that reuses its buffers in the worst way: it overwrites the last chunk when the next one is requested. */
async function* spoiled(text: Buffer, chunkBytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < text.length; at += chunkBytes) {
    const chunk = Buffer.from(text.subarray(at, at + chunkBytes))
    yield chunk
    chunk.fill(0xff)
  }
}

const rows = Array.from({ length: 12_000 }, (_, i) => [`${i}`, 'ü€😀'.repeat(1 + (i % 7))] as const)
const files = {
  csv: `id,title\n${rows.map((row) => `${row.join(',')}\n`).join('')}`,
  jsonl: rows.map(([id, title]) => `${JSON.stringify({ id, title })}\n`).join(''),
  json: JSON.stringify(rows.map(([id, title]) => ({ id, title }))),
  xml: feed(...rows.map(([id, title]) => `<g:id>${id}</g:id><g:title><![CDATA[${title}]]></g:title>`)),
}

for (const [format, file] of Object.entries(files))
  test(`${format} keeps no chunk while the next is requested, wherever a character or a record is split`, async () => {
    const text = Buffer.from(file)
    // Larger than the part that is inspected to recognize the file; until then chunks are kept.
    for (const chunkBytes of [70_000, 70_001, 70_002, 70_003]) {
      const input = new ByteQueue(spoiled(text, chunkBytes))
      const opened = await openFormat(input, definitionOf(`feed.${format}`), { name: 'feed', limits: readLimits })
      const read = []
      for await (const group of opened.reader.rows) read.push(...group.map(({ cells }) => cells))
      expect(read).toEqual(rows)
    }
  })
