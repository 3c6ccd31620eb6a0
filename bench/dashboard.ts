/**
 * Measures the pages of `sluice serve` with a long history: 100,000 runs of 100 pipelines and a million records (`--rows N`, ten
 * million with `--large`). The server runs in a separate process. Reports the time to the first byte, processor time, bytes over the wire
 * and the cost of a poll.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { environmentOf } from './engine.ts'
import { median, type Bench } from './figure.ts'
import { startSandboxProcess } from './sandboxProcess.ts'
import { processorSeconds } from './serveProcess.ts'

const launcher = fileURLToPath(new URL('../bin/sluice.js', import.meta.url))
const pipelines = 100
const calls = 60

export const bench: Bench = async ({ database, folder, givenRows, large, report, small }) => {
  const runs = small ? 10_000 : 100_000
  const records = givenRows ?? (large ? 10_000_000 : small ? 100_000 : 1_000_000)
  const directory = join(folder, 'pipelines')
  await mkdir(directory)
  for (let n = 0; n < pipelines; n++) await writeFile(join(directory, `shop-${n}.yaml`), definition(n))
  const databaseUrl = await database()
  const sandbox = await startSandboxProcess()
  try {
    await fillHistory(databaseUrl, { origin: sandbox.url, runs, records })
    const server = await startServe(folder, databaseUrl, sandbox.url)
    try {
      const pages: readonly (readonly [string, string])[] = [
        ['/', 'overview'],
        ['/pipelines/shop-7', 'pipeline'],
        [`/runs/r_${runs}`, 'run'],
        ['/system', 'system'],
        ['/metrics', 'metrics'],
      ]
      for (const [path, name] of pages) {
        const { p95, middle, bytes, processorMs } = await measure(server, path)
        report({
          figure: `${name}, time to the first byte, p95 of ${calls}`,
          measured: `${p95.toFixed(0)} ms, median ${middle.toFixed(0)} ms, processor ${processorMs.toFixed(0)} ms, ${(bytes / 1000).toFixed(1)} kB compressed`,
          ...(path === '/metrics' ? {} : { target: '100 ms', met: p95 <= 100 }),
        })
      }
      const search = await measure(server, '/records', (n) => `pipeline=shop-0&key=SKU-${1 + ((n * 7919) % records)}`)
      report({
        figure: `search of one of ${records.toLocaleString('en-US')} records, p95 of ${calls}`,
        measured: `${search.p95.toFixed(0)} ms, median ${search.middle.toFixed(0)} ms`,
        target: '200 ms',
        met: search.p95 <= 200,
      })
      const poll = await measurePolls(server.port)
      report({
        figure: 'poll of an unchanged page (304)',
        measured: `p95 ${poll.p95.toFixed(1)} ms, median ${poll.middle.toFixed(1)} ms`,
        target: '5 ms',
        met: poll.middle <= 5,
      })
    } finally {
      await server.stop()
    }
  } finally {
    await sandbox.close()
  }
}

interface Measured {
  readonly p95: number
  readonly middle: number
  readonly bytes: number
  /** Processor time of the server per call, without the database. NaN if the system does not report it. */
  readonly processorMs: number
}

/** Measures requests of a page. `form`: sent by POST instead, for the n-th call. */
async function measure(
  server: { readonly port: number; readonly processorMs: () => number },
  path: string,
  form?: (n: number) => string,
): Promise<Measured> {
  const times: number[] = []
  let bytes = 0
  const ask = (n: number) => call(server.port, path, form === undefined ? {} : { form: form(n) })
  for (let n = 0; n < 5; n++) await ask(n)
  const before = server.processorMs()
  for (let n = 0; n < calls; n++) {
    const answer = await ask(n)
    times.push(answer.firstByteMs)
    bytes = answer.bytes
  }
  return { ...spread(times), bytes, processorMs: (server.processorMs() - before) / calls }
}

/** Polls like a page, with the ETag of the last answer. The ETag changes every 15 s, because a page shows ages. */
async function measurePolls(port: number): Promise<{ p95: number; middle: number }> {
  const times: number[] = []
  let { etag } = await call(port, '/')
  while (times.length < calls) {
    const answer = await call(port, '/', etag === undefined ? {} : { etag })
    if (answer.status === 304) times.push(answer.firstByteMs)
    else etag = answer.etag
  }
  return spread(times)
}

function spread(times: readonly number[]): { p95: number; middle: number } {
  const sorted = times.toSorted((a, b) => a - b)
  return { p95: sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN, middle: median(sorted) }
}

interface Answered {
  readonly status: number | undefined
  readonly firstByteMs: number
  readonly bytes: number
  readonly etag: string | undefined
}

function call(port: number, path: string, options: { readonly etag?: string; readonly form?: string } = {}): Promise<Answered> {
  const { etag, form } = options
  return new Promise((resolve, reject) => {
    const started = performance.now()
    const headers = {
      'accept-encoding': 'gzip',
      ...(etag === undefined ? {} : { 'if-none-match': etag }),
      ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    }
    const method = form === undefined ? 'GET' : 'POST'
    const sent = request({ host: '127.0.0.1', port, path, headers, method }, (answer) => {
      const firstByteMs = performance.now() - started
      let bytes = 0
      if (answer.statusCode !== 200 && answer.statusCode !== 304) reject(new Error(`${path} answered ${answer.statusCode}`))
      answer.on('data', (part: Buffer) => (bytes += part.length))
      answer.on('end', () => resolve({ status: answer.statusCode, firstByteMs, bytes, etag: answer.headers.etag }))
    })
    sent.on('error', reject)
    sent.end(form)
  })
}

async function startServe(folder: string, databaseUrl: string, serviceUrl: string) {
  const port = await freePort()
  const child = spawn(process.execPath, [launcher, 'serve', '--port', String(port)], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...environmentOf({ home: folder, databaseUrl, serviceUrl }),
      SLUICE_LOG_LEVEL: 'error',
    },
  })
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()))
  for (;;) {
    const up = await call(port, '/health').then(
      () => true,
      () => false,
    )
    if (up) break
    if (child.exitCode !== null) throw new Error(`serve ended with ${child.exitCode}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return {
    port,
    processorMs: () => processorMsOf(child.pid),
    stop() {
      child.kill('SIGTERM')
      return ended
    },
  }
}

/** Returns the processor time of a process; NaN if the system does not report it. */
function processorMsOf(pid: number | undefined): number {
  try {
    return processorSeconds(pid) * 1000
  } catch {
    return Number.NaN
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** Stores ended runs of every status, newest last, and records of one catalog. */
async function fillHistory(
  databaseUrl: string,
  size: { readonly origin: string; readonly runs: number; readonly records: number },
): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query(`set search_path to sluice`)
    const hash = randomBytes(8)
    await client.query(
      `insert into destination (service, kind, account_id, target_id)
       select $1, 'catalog', '', (100000 + n)::text from generate_series(0, ${pipelines - 1}) n`,
      [size.origin],
    )
    await client.query(
      `insert into run (pipeline, destination_id, trigger, status, counts, stages, created_at, started_at, finished_at)
       select 'shop-' || n % ${pipelines}, (select min(id) from destination) + n % ${pipelines}, 'schedule',
         (array['succeeded', 'succeeded', 'succeeded', 'partial', 'withheld', 'failed', 'skipped'])[1 + n / ${pipelines} % 7],
         '{"read": 10240, "rejected": 31, "valid": 10209, "create": 12, "update": 122, "delete": 4, "unchanged": 10071, "confirmed": 138}',
         '[{"stage":"read","startedAt":"2026-11-21T03:00:00.000Z","durationMs":4100},{"stage":"push","startedAt":"2026-11-21T03:00:04.100Z","durationMs":9000}]',
         at, at, at + interval '18 seconds'
       from generate_series(1, $1::int) n, lateral (select statement_timestamp() - ($1 - n) * interval '30 seconds' as at) t`,
      [size.runs],
    )
    await client.query(
      `insert into record (destination_id, key, hash, line, snapshot_id) select (select min(id) from destination), convert_to('SKU-' || n, 'UTF8'), $2, n, 1 from generate_series(1, $1::int) n`,
      [size.records, hash],
    )
    await client.query(
      `insert into remote (destination_id, key, group_key, desired_hash, synced_hash, synced_at)
       select destination_id, key, key, hash, hash, statement_timestamp() from record`,
    )
    await client.query('analyze')
  } finally {
    await client.end()
  }
}

function definition(n: number): string {
  return `source: { url: ./shop-${n}.csv }
map: { id: id, title: title, description: description, link: link, image_link: image_link, price: price, availability: availability }
destination: { kind: catalog, catalog_id: "${100_000 + n}" }
schedule: "${n % 60} ${Math.floor(n / 60) % 24} 1 1 *"
`
}
