/** A plain file is read through reused buffers: no row may contain bytes of another place in the file. */
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readLimits } from '../../../src/formats/limits.ts'
import { silentLogger } from '../../../src/log.ts'
import { openSource } from '../../../src/sources/openSource.ts'
import { definitionOf } from '../../unit/formats/support.ts'

test('rows are read right with characters and records across reused buffers', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-buffers-'))
  try {
    const rows = Array.from({ length: 60_000 }, (_, i) => [`${i}`, `Zoë "${i}"\n${'ü€😀'.repeat(i % 7)}`])
    // A record longer than two buffers makes the buffer of the splitter grow.
    rows[30_000] = ['long', 'ü'.repeat(400_000)]
    const path = join(folder, 'feed.csv')
    const text = `id,title\n${rows.map(([id, title]) => `${id},"${title?.replaceAll('"', '""')}"\n`).join('')}`
    await writeFile(path, text)
    const source = await openSource(definitionOf(path), { env: {}, log: silentLogger, limits: { ...readLimits, fieldBytes: 1_000_000 } })
    let at = 0
    for await (const group of source.rows) for (const { cells } of group) expect(cells).toEqual(rows[at++])
    expect(at).toBe(rows.length)
    expect(source.facts().sha256).toBe(createHash('sha256').update(text).digest('hex'))
  } finally {
    await rm(folder, { recursive: true })
  }
})
