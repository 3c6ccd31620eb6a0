/**
 * Measures whole commands: `sluice run` in one process and a sandbox in another, from the start of Node to the exit code. The runs are
 * a first sync, the same file again, 1 % and 3 % changed, and the plan of a first sync. Each reports processor time, the log of
 * Postgres and memory.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { writeCustomers } from './data.ts'
import { environmentOf } from './engine.ts'
import { seconds, times, type Bench } from './figure.ts'
import { customersWithFloor } from './floor.ts'
import { startSandboxProcess, type SandboxProcess } from './sandboxProcess.ts'
import { processorSeconds } from './serveProcess.ts'

const latencyMs = 300
const defaultRows = 100_000
const launcher = fileURLToPath(new URL('../bin/sluice.js', import.meta.url))

interface Observed {
  readonly seconds: number
  readonly megabytes: number
  /** Seconds until the first request with users reached the service; undefined without such a request. */
  readonly firstRequest: number | undefined
  readonly requests: number
  readonly nodeSeconds: number
  readonly postgresSeconds: number
  readonly walMegabytes: number
}

export const bench: Bench = async ({ givenRows, folder, database, report }) => {
  const rows = givenRows ?? defaultRows
  const { csv, databaseUrl, floor } = await customersWithFloor(rows, { folder, database, report })
  const sandbox = await startSandboxProcess()
  try {
    await sandbox.control('POST', 'faults', { match: { path: '/users' }, fault: { kind: 'delay', ms: latencyMs }, times: 'always' })
    const before = await diskBytes(databaseUrl)
    const measure = async (figure: string, target?: number, of: Partial<Setting> = {}) => {
      const run = await runCommand({ command: 'run', folder, databaseUrl, sandbox, checkpoint: true, ...of })
      report({
        figure: `${figure}, whole command`,
        measured: `${seconds(run.seconds)}, ${run.megabytes} MB, ${run.requests} requests`,
        ratio: `${times(run.seconds / floor.seconds)} \\copy`,
        ...(target === undefined ? {} : { target: `${target} x`, met: run.seconds <= target * floor.seconds }),
      })
      report({
        figure: `${figure}, what it cost`,
        measured: `Node ${seconds(run.nodeSeconds)}, Postgres ${seconds(run.postgresSeconds)} of processor, ${run.walMegabytes.toFixed(1)} MB of log`,
        ...(run.firstRequest === undefined ? {} : { ratio: `first request after ${times(run.firstRequest / floor.seconds)} \\copy` }),
      })
      return run
    }
    const first = await measure(`first sync at ${latencyMs} ms latency`, 25)
    report({
      figure: 'a first sync, for each user',
      measured: `${Math.round((first.walMegabytes * 1e6) / rows)} B of log, ${Math.round(((await diskBytes(databaseUrl)) - before) / rows)} B on disk`,
      target: '500 B of log, 288 B on disk',
    })
    await measure('nothing changed', 0.5)
    await writeCustomers(csv, { rows, changeEvery: 100 })
    const onePercent = await measure('1 % changed', 2)
    report({
      figure: '1 % changed, for each changed row',
      measured: `${((onePercent.walMegabytes * 1000) / (rows / 100)).toFixed(1)} kB of log`,
      target: '6 kB',
      met: onePercent.walMegabytes * 1000 <= 6 * (rows / 100),
    })
    await writeCustomers(csv, { rows, changeEvery: 33 })
    await measure('3 % changed')
    await writeCustomers(csv, { rows })
    const back = await measure('3 % changed back, no checkpoint just before', undefined, { checkpoint: false })
    report({
      figure: '3 % changed back, for each changed row',
      measured: `${((back.walMegabytes * 1000) / Math.ceil(rows / 33)).toFixed(1)} kB of log`,
    })
    // Last, because autovacuum works on the tables of a load for a while.
    await measure('plan of a first sync', 10, { command: 'plan', databaseUrl: await database() })
  } finally {
    await sandbox.close()
  }
}

interface Setting {
  readonly command: 'run' | 'plan'
  readonly folder: string
  readonly databaseUrl: string
  readonly sandbox: SandboxProcess
  /** Starts with a checkpoint. After a checkpoint, Postgres logs each changed page whole. */
  readonly checkpoint: boolean
}

async function runCommand({ command, folder, databaseUrl, sandbox, checkpoint }: Setting): Promise<Observed> {
  const seen = await newestRequest(sandbox)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    // Without a checkpoint, the command might also write earlier changes to the disk.
    if (checkpoint) await client.query('checkpoint')
    const { rows: places } = await client.query<{ folder: string }>(`select current_setting('data_directory') as folder`)
    const postmaster = Number(readFileSync(join(places[0]?.folder ?? '', 'postmaster.pid'), 'utf8').split('\n')[0])
    const walBefore = await walBytes(client)
    const postgresBefore = processorSeconds(postmaster, { endedChildren: true })
    const startedAt = Date.now()
    const started = performance.now()
    const observed = await observe(command, { folder, databaseUrl, serviceUrl: sandbox.url })
    const took = (performance.now() - started) / 1000
    await backendsEnded(client, databaseUrl)
    const requests = await requestsAfter(sandbox, seen)
    const first = requests[0]
    return {
      ...observed,
      seconds: took,
      requests: requests.length,
      firstRequest: first === undefined ? undefined : (Date.parse(first.time) - startedAt) / 1000,
      postgresSeconds: processorSeconds(postmaster, { endedChildren: true }) - postgresBefore,
      walMegabytes: ((await walBytes(client)) - walBefore) / 1e6,
    }
  } finally {
    await client.end()
  }
}

/** Runs `sluice run` or `sluice plan`, and polls its peak memory and processor time until it ends. */
async function observe(
  command: Setting['command'],
  { folder, databaseUrl, serviceUrl }: { readonly folder: string; readonly databaseUrl: string; readonly serviceUrl: string },
): Promise<Pick<Observed, 'megabytes' | 'nodeSeconds'>> {
  mkdirSync(join(folder, 'home'), { recursive: true })
  const child = spawn(process.execPath, [launcher, command, 'customers', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...environmentOf({ home: join(folder, 'home'), databaseUrl, serviceUrl }),
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
    },
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (part: string) => (stderr += part))
  let megabytes = 0
  let nodeSeconds = 0
  const poll = setInterval(() => {
    try {
      const [, kilobytes = '0'] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
      megabytes = Math.max(megabytes, Math.round(Number(kilobytes) / 1024))
      nodeSeconds = Math.max(nodeSeconds, processorSeconds(child.pid, { endedChildren: true }))
    } catch {
      // The process has just ended, or the system is not Linux.
    }
  }, 20)
  const [code] = (await once(child, 'close')) as [number | null]
  clearInterval(poll)
  if (code !== 0) throw new Error(`sluice ${command} ended with ${code}: ${stderr.slice(-500)}`)
  return { megabytes, nodeSeconds }
}

/**
 * Waits until the server has ended the connections of a command. Before, it may drop a large stage. Only after the end does their processor
 * time count.
 */
async function backendsEnded(client: pg.Client, databaseUrl: string): Promise<void> {
  for (let i = 0; i < 100; i++) {
    const { rowCount } = await client.query(
      `select from pg_stat_activity where datname = $1 and backend_type = 'client backend' and pid <> pg_backend_pid()`,
      [new URL(databaseUrl).pathname.slice(1)],
    )
    if (rowCount === 0) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function walBytes(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes`)
  return Number(rows[0]?.bytes)
}

async function diskBytes(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes')
    return Number(rows[0]?.bytes)
  } finally {
    await client.end()
  }
}

interface Line {
  readonly seq: number
  readonly time: string
  readonly path: string
}

async function requestsAfter(sandbox: SandboxProcess, seq: number): Promise<Line[]> {
  const lines = (await sandbox.control('GET', `ledger?after=${seq}`)) as Line[]
  return lines.filter(({ path }) => path.endsWith('/users'))
}

async function newestRequest(sandbox: SandboxProcess): Promise<number> {
  return ((await sandbox.control('GET', 'ledger?after=0')) as Line[]).at(-1)?.seq ?? 0
}
