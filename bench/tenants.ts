/**
 * Measures many tenants in one database: one schema and one `sluice serve` per tenant, and one sandbox for all. First all tenants are idle.
 * Then every tenant has two due times: in the same second for up to 20 tenants, otherwise one tenant per second. `--rows N` sets the number
 * of tenants (default 20, with `--large` 200).
 */
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pLimit from 'p-limit'
import pg from 'pg'
import { prepareServerPaths } from '../src/db/embedded/serverPaths.ts'
import { startEmbedded, stopEmbedded } from '../src/db/embedded/server.ts'
import { createClient } from '../src/service/client/index.ts'
import { writeCustomers } from './data.ts'
import { audienceYaml, credentials, writePipeline } from './engine.ts'
import { mean, median, seconds, type Bench, type BenchContext } from './figure.ts'
import { startSandboxProcess, type SandboxProcess } from './sandboxProcess.ts'
import { buildPackage, megabytesOf, processorSeconds, serverUse, startServe, stopServe } from './serveProcess.ts'

const rows = 100
const idleSeconds = 60
/** Number of processes that start at the same time. */
const startsAtOnce = 4
/** Memory for the processes of all tenants and their server. If it is not enough, fewer tenants are started. */
const memoryMegabytes = 16_000
/** Free memory that is reserved for the runs. */
const reserveMegabytes = 4_000
/** Minimum of free memory, because other programs need memory too. With less, the bench fails. */
const leastMegabytes = 2_500
/** Number of tenants that may be due in the same second. 190 runs at a time need more than 12 GB. */
const mostTogether = 20
const minuteMs = 60_000
const account = '18ce54d4x5t'
const never = '0 3 1 1 *'

interface Tenant {
  readonly schema: string
  readonly folder: string
  readonly audience: string
  readonly csv: string
}

export const bench: Bench = async (context) => {
  const { folder, givenRows, large } = context
  buildPackage()
  const asked = givenRows ?? (large ? 200 : 20)
  const dataDir = join(folder, 'postgres')
  const { url } = await startEmbedded(dataDir, { keep: true, maxConnections: 100 + 12 * asked })
  const sandbox = await startSandboxProcess()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const served: ChildProcess[] = []
  const postgres = postmasterOf(dataDir)
  try {
    const tenants = await prepare(folder, asked, sandbox)
    await start(context, { url, sandbox, tenants, served, postgres })
    await measureIdle(context, { client, served, postgres })
    await measureRuns(context, { client, served, postgres, sandbox, tenants: tenants.slice(0, served.length) })
  } finally {
    await Promise.all(served.map(stopServe))
    await client.end()
    await sandbox.close()
    await stopEmbedded(dataDir)
  }
}

/** Creates for each tenant a folder with a pipeline, customers and an audience. */
async function prepare(folder: string, count: number, sandbox: SandboxProcess): Promise<readonly Tenant[]> {
  const csv = join(folder, 'customers.csv')
  await writeCustomers(csv, { rows })
  await sandbox.control('PUT', 'switches', { rate_limits: 'off' })
  const client = createClient({ baseUrl: sandbox.url, adsBaseUrl: sandbox.url, adsVersion: '12', ...credentials })
  const tenants: Tenant[] = []
  for (let n = 1; n <= count; n++) {
    const { id } = await client.audiences.create({ account_id: account, name: `tenant ${n}` })
    const tenant = { schema: `tenant_${n}`, folder: join(folder, `tenant_${n}`), audience: id, csv }
    schedule(tenant, never)
    tenants.push(tenant)
  }
  await client.close()
  await sandbox.control('PUT', 'switches', { rate_limits: 'on' })
  return tenants
}

function schedule({ folder, csv, audience }: Tenant, cron: string): void {
  writePipeline(folder, 'customers', `schedule: "${cron}"\n${audienceYaml(csv, rows, audience)}`)
}

interface Starting {
  readonly url: string
  readonly sandbox: SandboxProcess
  readonly tenants: readonly Tenant[]
  readonly served: ChildProcess[]
  readonly postgres: number
}

/** Starts as many processes as the memory allows. Each migrates its schema. */
async function start({ report }: BenchContext, { url, sandbox, tenants, served, postgres }: Starting): Promise<void> {
  const slots = pLimit(startsAtOnce)
  const took: number[] = []
  const startOne = async ({ schema, folder }: Tenant) => {
    const started = performance.now()
    served.push(await startServe({ folder, databaseUrl: url, serviceUrl: sandbox.url, schema }))
    took.push((performance.now() - started) / 1000)
  }
  const first = tenants.slice(0, 10)
  await Promise.all(first.map((tenant) => slots(() => startOne(tenant))))
  const each = mean(served.map(({ pid }) => megabytesOf(pid).proportional)) + postgresMegabytes(postgres) / served.length
  const left = Math.min(memoryMegabytes - served.length * each, availableMegabytes() - reserveMegabytes)
  const fitting = Math.min(tenants.length, served.length + Math.max(0, Math.floor(left / each)))
  await Promise.all(tenants.slice(10, fitting).map((tenant) => slots(() => startOne(tenant))))
  report({
    figure: `${served.length} tenants started, ${startsAtOnce} at a time, each with its migrations`,
    measured: `${seconds(median(took))} each, ${seconds(Math.max(...took))} at most`,
    ...(fitting < tenants.length ? { ratio: `${tenants.length} do not fit: ${each.toFixed(0)} MB each`, met: false } : {}),
  })
}

interface Measuring {
  readonly client: pg.Client
  readonly served: readonly ChildProcess[]
  readonly postgres: number
}

async function measureIdle({ report }: BenchContext, { client, served, postgres }: Measuring): Promise<void> {
  await delay(20_000)
  const processes = () => served.reduce((sum, { pid }) => sum + processorSeconds(pid), 0)
  const use = serverUse(client)
  const [before, nodeBefore, postgresBefore] = [await use(), processes(), postgresSeconds(postgres)]
  const connections: number[] = []
  const started = performance.now()
  while (performance.now() - started < idleSeconds * 1000) {
    connections.push((await use()).connections)
    await delay(1_000)
  }
  const took = (performance.now() - started) / 1000
  const [after, node, server] = [await use(), processes() - nodeBefore, postgresSeconds(postgres) - postgresBefore]
  const memory = served.map(({ pid }) => megabytesOf(pid))
  report({ figure: 'all idle: transactions per second', measured: ((after.transactions - before.transactions) / took).toFixed(1) })
  report({
    figure: 'all idle: connections, on average and at most',
    measured: `${mean(connections).toFixed(0)}, ${Math.max(...connections)}`,
  })
  report({ figure: 'all idle: processor of Node', measured: `${((node / took) * 100).toFixed(1)} % of a core` })
  report({ figure: 'all idle: processor of Postgres', measured: `${((server / took) * 100).toFixed(1)} % of a core` })
  report({
    figure: 'all idle: memory of Node',
    measured: `${(memory.reduce((sum, { proportional }) => sum + proportional, 0) / 1000).toFixed(1)} GB`,
    ratio: `${mean(memory.map(({ proportional }) => proportional)).toFixed(0)} MB each, ${mean(memory.map(({ resident }) => resident)).toFixed(0)} MB resident`,
  })
  report({ figure: 'all idle: memory of Postgres', measured: `${(postgresMegabytes(postgres) / 1000).toFixed(1)} GB` })
}

interface RunLine {
  readonly schema: string
  readonly scheduled_for: Date
  readonly status: string
  readonly started_s: number
  readonly finished_s: number
}

async function measureRuns(
  { report }: BenchContext,
  { client, postgres, sandbox, tenants }: Measuring & { readonly sandbox: SandboxProcess; readonly tenants: readonly Tenant[] },
): Promise<void> {
  // The files are read again every 15 s.
  const first = (Math.floor(Date.now() / minuteMs) + 2) * minuteMs
  const spreadMs = tenants.length > mostTogether ? 1_000 : 0
  // One minute longer than the time over which the tenants are spread.
  const betweenMs = (Math.ceil((tenants.length * spreadMs) / minuteMs) + 1) * minuteMs
  const due = [first, first + betweenMs]
  const dueTimes = tenants.map((_, n) => due.map((time) => new Date(time + n * spreadMs)))
  for (const [n, tenant] of tenants.entries()) {
    const part = (read: (time: Date) => number) => [...new Set(dueTimes[n]?.map(read))].join(',')
    schedule(
      tenant,
      `${part((time) => time.getUTCSeconds())} ${part((time) => time.getUTCMinutes())} ${part((time) => time.getUTCHours())} * * *`,
    )
  }
  let connections = 0
  let megabytes = 0
  const use = serverUse(client)
  const deadline = first + betweenMs + 5 * minuteMs
  let runs: readonly RunLine[] = []
  let nextLook = first
  while (Date.now() < deadline) {
    connections = Math.max(connections, (await use()).connections)
    if (availableMegabytes() < leastMegabytes) throw new Error('the machine runs out of memory')
    if (Date.now() >= first && Date.now() % 5_000 < 500) megabytes = Math.max(megabytes, postgresMegabytes(postgres))
    if (Date.now() >= nextLook) {
      runs = await scheduledRuns(client, tenants)
      if (runs.length >= due.length * tenants.length && runs.every(({ status }) => status === 'succeeded')) break
      nextLook = Date.now() + 5_000
    }
    await delay(500)
  }
  const expected = new Set(tenants.flatMap(({ schema }, n) => dueTimes[n]?.map((time) => `${schema} ${time.toISOString()}`) ?? []))
  const found = runs
    .filter(({ status }) => status === 'succeeded')
    .map(({ schema, scheduled_for }) => `${schema} ${scheduled_for.toISOString()}`)
  const once = [...expected].filter((tick) => found.filter((other) => other === tick).length === 1).length
  report({
    figure: `due times of ${tenants.length} tenants, ${spreadMs > 0 ? 'one a second' : 'in the same second'}, run exactly once`,
    measured: `${once} of ${expected.size}, ${runs.length} runs`,
    target: 'all',
    met: once === expected.size && runs.length === expected.size,
  })
  for (const [nth, name] of [`first syncs of ${rows} people`, 'second runs, nothing changed'].entries()) {
    const of = runs.filter(({ scheduled_for }) => (nth === 0) === scheduled_for.getTime() < first + betweenMs)
    const late = of.map(({ started_s }) => started_s).toSorted((a, b) => a - b)
    const ended = of.map(({ finished_s }) => finished_s)
    report({
      figure: `${name}: begun after their due time`,
      measured: `${seconds(median(late))}, p95 ${seconds(late[Math.floor(late.length * 0.95)] ?? Number.NaN)}, at most ${seconds(Math.max(...late))}`,
      ratio: `ended after ${seconds(median(ended))}, at most ${seconds(Math.max(...ended))}`,
    })
  }
  report({
    figure: 'most connections, memory of Postgres during the runs',
    measured: `${connections}, ${(megabytes / 1000).toFixed(1)} GB`,
  })
  const violations = (await sandbox.control('GET', 'violations')) as readonly unknown[]
  const stats = Object.entries((await sandbox.control('GET', 'stats')) as Record<string, { readonly most_in_60_s: number }>)
  const uploads = Math.max(0, ...stats.filter(([name]) => name.includes('users')).map(([, { most_in_60_s }]) => most_in_60_s))
  const counts = await Promise.all(
    tenants.map(async ({ audience }) => (await sandbox.control('GET', `audiences/${audience}`)) as { readonly members: number }),
  )
  const whole = counts.filter(({ members }) => members === rows).length
  report({
    figure: 'audiences complete, rules of the service broken, most uploads in any 60 s',
    measured: `${whole} of ${tenants.length}, ${violations.length}, ${uploads}`,
    target: 'all, 0, 1,500',
    met: whole === tenants.length && violations.length === 0 && uploads <= 1_500,
  })
}

async function scheduledRuns(client: pg.Client, tenants: readonly Tenant[]): Promise<readonly RunLine[]> {
  const lines: RunLine[] = []
  for (const { schema } of tenants) {
    const { rows: found } = await client.query<RunLine>(
      `select '${schema}' as schema, scheduled_for, status, extract(epoch from started_at - scheduled_for)::float8 as started_s,
         extract(epoch from finished_at - scheduled_for)::float8 as finished_s
       from ${schema}.run where trigger = 'schedule'`,
    )
    lines.push(...found)
  }
  return lines
}

function postmasterOf(dataDir: string): number {
  return Number.parseInt(readFileSync(join(prepareServerPaths(dataDir).data, 'postmaster.pid'), 'utf8'), 10)
}

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

/** Returns the processor time of the server in seconds, including ended processes. */
function postgresSeconds(postmaster: number): number {
  const ended = processorSeconds(postmaster, { endedChildren: true })
  return childrenOf(postmaster).reduce((sum, pid) => sum + ifAlive(() => processorSeconds(pid)), ended)
}

function postgresMegabytes(postmaster: number): number {
  return childrenOf(postmaster).reduce((sum, pid) => sum + ifAlive(() => megabytesOf(pid).proportional), 0)
}

function availableMegabytes(): number {
  return Number(/^MemAvailable:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) / 1024
}

/** Returns the value, or 0 if the process has ended. */
function ifAlive(read: () => number): number {
  try {
    return read()
  } catch {
    return 0
  }
}
