/**
 * Measures the rows per second and the memory of the readers of CSV, compressed CSV, JSON lines and XML. Compares them with `psql \copy` of
 * the same CSV into an unlogged table. Every read runs in a separate process, so that memory is not shared.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { RecordGate } from '../src/formats/formatReader.ts'
import { silentLogger } from '../src/log.ts'
import { hashSource } from '../src/sources/hashSource.ts'
import { openSource } from '../src/sources/openSource.ts'
import { sourceOf } from '../test/support/sourceDefinition.ts'
import { inChild } from './child.ts'
import { phoneOf, write, writeCustomers, writeFeed } from './data.ts'
import { seconds, times, type Bench } from './figure.ts'
import { copyFloor } from './floor.ts'

export const bench: Bench = async ({ rows, folder, database, report }) => {
  const csv = join(folder, 'crm.csv')
  await writeCustomers(csv, { rows })
  const lines = join(folder, 'crm.jsonl')
  await write(
    lines,
    '',
    rows,
    (at) => `{"customer_id":${100_000 + at},"email":"person${at}@example.com","phone":"${phoneOf(at)}","name":"Zoë Ünïcode ${at}"}\n`,
    '',
  )
  const feed = join(folder, 'feed.xml')
  await writeFeed(feed, rows / 5)
  execFileSync('gzip', ['-k', csv])
  const floor = await copyFloor(await database(), csv)
  report({ figure: `${floor.by} of ${rows} rows, unlogged`, measured: seconds(floor.seconds), ratio: '1' })
  for (const [figure, work, file, count] of [
    ['SHA-256 of the file (source gate)', 'hashing', csv, rows],
    ['CSV, every record known (record gate)', 'gated', csv, rows],
    ['CSV, cut and parsed', 'reading', csv, rows],
    ['CSV in gzip', 'reading', `${csv}.gz`, rows],
    ['JSON lines', 'reading', lines, rows],
    ['XML items, every one known', 'gated', feed, rows / 5],
    ['XML items', 'reading', feed, rows / 5],
  ] as const) {
    const read = await inChild('./read.ts', work, { file })
    report({
      figure,
      measured: `${seconds(read.seconds)}, ${read.megabytes} MB, ${Math.round(count / read.seconds / 1000)} k/s`,
      ratio: `${times(read.seconds / floor.seconds)} \\copy`,
    })
  }
}

export async function reading({ file }: { readonly file: string }): Promise<object> {
  return read(file)
}

/** Reads with a gate that computes no digest, so that only the reader is measured. */
export async function gated({ file }: { readonly file: string }): Promise<object> {
  return read(file, { beginShape: () => undefined, skips: () => true })
}

export async function hashing({ file }: { readonly file: string }): Promise<object> {
  const started = performance.now()
  await hashSource(sourceOf(file))
  return { seconds: (performance.now() - started) / 1000 }
}

async function read(file: string, gate?: RecordGate): Promise<object> {
  const started = performance.now()
  const source = await openSource(sourceOf(file), { env: {}, log: silentLogger, ...(gate ? { gate } : {}) })
  let rows = 0
  for await (const group of source.rows) rows += group.length
  return { seconds: (performance.now() - started) / 1000, rows }
}
