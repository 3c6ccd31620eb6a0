import { expect, test } from 'vitest'
import { ByteQueue } from '../../../src/formats/byteQueue.ts'
import { readLimits } from '../../../src/formats/limits.ts'
import { openFormat } from '../../../src/formats/openFormat.ts'
import { definitionOf } from './support.ts'

/** What a source does that uses its buffers again, at its worst: the last chunk is spoiled the moment the next is asked for. */
async function* spoiled(text: Buffer, chunkBytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < text.length; at += chunkBytes) {
    const chunk = Buffer.from(text.subarray(at, at + chunkBytes))
    yield chunk
    chunk.fill(0xff)
  }
}

test('plain CSV holds no chunk while the next is asked for, wherever a character or a record is cut', async () => {
  const rows = Array.from({ length: 12_000 }, (_, i) => [`${i}`, 'ü€😀'.repeat(i % 7)])
  const text = Buffer.from(`id,title\n${rows.map((row) => `${row.join(',')}\n`).join('')}`)
  // Larger than what is looked at to recognize the file; until then chunks are held.
  for (const chunkBytes of [70_000, 70_001, 70_002, 70_003]) {
    const opened = await openFormat(new ByteQueue(spoiled(text, chunkBytes)), definitionOf('feed.csv'), {
      name: 'feed',
      limits: readLimits,
    })
    const read = []
    for await (const group of opened.reader.rows) read.push(...group.map(({ cells }) => cells))
    expect(read).toEqual(rows)
  }
})
