/**
 * The reading path (performance.md): rows a second and memory of CSV, packed CSV, JSON lines and XML, against
 * `psql \copy` of the same CSV into an unlogged table. Ratios are printed, nothing is asserted. Every reading runs in a
 * process of its own, so that memory is its own.
 *
 *   node bin/node24.js bench/read.ts [rows, default 1000000]
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { silentLogger } from '../src/log.ts'
import type { SourceDefinition } from '../src/pipeline/definition.ts'
import { hashSource } from '../src/sources/hashSource.ts'
import { openSource } from '../src/sources/openSource.ts'
import { startEmbedded, stopEmbedded } from '../src/store/embedded/server.ts'

const [, , mode, path] = process.argv
if (mode === 'read' && path !== undefined) await measure(path)
else if (mode === 'hash' && path !== undefined) await measureHash(path)
else if (mode === 'gate' && path !== undefined) await measure(path, true)
else await main(Number(mode ?? 1_000_000))

async function main(rows: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  try {
    const csv = join(folder, 'crm.csv')
    await write(csv, 'customer_id,email,phone,name\n', rows, (at) => `"${100_000 + at}","person${at}@example.com","+1-415-555-01${String(at % 100).padStart(2, '0')}","Zoë Ünïcode ${at} of Example Street"\n`, '')
    const lines = join(folder, 'crm.jsonl')
    await write(lines, '', rows, (at) => `{"customer_id":${100_000 + at},"email":"person${at}@example.com","phone":"+1-415-555-01${String(at % 100).padStart(2, '0')}","name":"Zoë Ünïcode ${at}"}\n`, '')
    const feed = join(folder, 'feed.xml')
    const text = 'Long description with <b>tags</b>. '.repeat(24)
    await write(feed, '<?xml version="1.0"?>\n<rss xmlns:g="http://base.google.com/ns/1.0"><channel>\n', rows / 5, (at) => `<item><g:id>SKU${at}</g:id><g:title>Product ${at} &amp; more</g:title><g:description><![CDATA[${text}]]></g:description><g:link>https://shop.example.com/p/${at}</g:link><g:image_link>https://shop.example.com/i/${at}.jpg</g:image_link><g:price>${at % 100}.99 USD</g:price><g:availability>in stock</g:availability><g:brand>Example</g:brand><g:condition>new</g:condition></item>\n`, '</channel></rss>\n')
    execFileSync('gzip', ['-k', csv])
    const copySeconds = await copy(folder, csv)
    print('psql \\copy, unlogged', copySeconds, rows, undefined, copySeconds)
    for (const [what, run, file, count] of [
      ['SHA-256 of the file (source gate)', 'hash', csv, rows],
      ['CSV, every record known (record gate)', 'gate', csv, rows],
      ['CSV', 'read', csv, rows],
      ['CSV in gzip', 'read', `${csv}.gz`, rows],
      ['JSON lines', 'read', lines, rows],
      ['XML items, every one known', 'gate', feed, rows / 5],
      ['XML items', 'read', feed, rows / 5],
    ] as const) {
      const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), run, file], { encoding: 'utf8' })
      const { seconds, megabytes } = JSON.parse(child.stdout) as { seconds: number; megabytes: number }
      print(what, seconds, count, megabytes, copySeconds)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function measure(file: string, gated = false): Promise<void> {
  const start = performance.now()
  let peak = 0
  // The cheapest gate there is, so that what is measured is the reading and not a digest.
  const gate = { begin: () => undefined, known: () => true }
  const source = await openSource(definitionOf(file), { env: {}, log: silentLogger, ...(gated ? { gate } : {}) })
  for await (const _ of source.rows) peak = Math.max(peak, process.memoryUsage.rss())
  report(start, Math.max(peak, process.memoryUsage.rss()))
}

async function measureHash(file: string): Promise<void> {
  const start = performance.now()
  await hashSource(definitionOf(file))
  report(start, process.memoryUsage.rss())
}

function report(start: number, rss: number): void {
  process.stdout.write(JSON.stringify({ seconds: (performance.now() - start) / 1000, megabytes: rss / 1_000_000 }))
}

/** Seconds of the middle of three loads. */
async function copy(folder: string, csv: string): Promise<number> {
  const dataDir = join(folder, 'postgres')
  const { url } = await startEmbedded(dataDir, { keep: true })
  try {
    const times = [0, 1, 2].map(() => {
      execFileSync('psql', [url, '-qc', 'drop table if exists raw; create unlogged table raw (customer_id text, email text, phone text, name text)'], { stdio: ['ignore', 'ignore', 'ignore'] })
      const start = performance.now()
      execFileSync('psql', [url, '-qc', `\\copy raw from '${csv}' csv header`])
      return (performance.now() - start) / 1000
    })
    return times.toSorted((a, b) => a - b)[1] ?? 0
  } finally {
    await stopEmbedded(dataDir)
  }
}

function print(what: string, seconds: number, rows: number, megabytes: number | undefined, floor: number): void {
  const figures = [`${seconds.toFixed(2)} s`, `${Math.round(rows / seconds / 1000)} k rows/s`, `${(seconds / floor).toFixed(2)} x \\copy`, megabytes === undefined ? '' : `${Math.round(megabytes)} MB`]
  process.stdout.write(`${what.padEnd(40)}${figures.map((figure) => figure.padEnd(16)).join('')}\n`)
}

async function write(file: string, head: string, rows: number, row: (at: number) => string, tail: string): Promise<void> {
  const out = createWriteStream(file)
  let block = head
  for (let at = 0; at < rows; at++) {
    block += row(at)
    if (block.length < 1_000_000) continue
    if (!out.write(block)) await new Promise<void>((resolve) => out.once('drain', () => resolve()))
    block = ''
  }
  out.end(block + tail)
  await finished(out)
}

function definitionOf(uri: string): SourceDefinition {
  return { uri, format: 'auto', complete: { kind: 'auto' }, encoding: 'auto', compression: 'auto', csv: { delimiter: 'auto', quote: '"', headerRow: 'auto' }, allowPrivate: false }
}
