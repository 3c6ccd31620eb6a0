/**
 * Measures what docs/benchmarks.md promises, every figure as a ratio within one run. Data is invented on the spot, the
 * database is an embedded one with its own defaults, and nothing is asserted: what falls short says so.
 *
 *   npm run bench [NAME…] [-- --small --large --rows N --json]
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startEmbedded, stopEmbedded } from '../src/db/embedded/server.ts'
import { migrateDatabase } from '../src/db/migrate.ts'
import { table, type Bench, type Figure } from './figure.ts'

const benches: Readonly<Record<string, () => Promise<Bench>>> = {
  start: async () => (await import('./start.ts')).bench,
  phone: async () => (await import('./phone.ts')).bench,
  pack: async () => (await import('./pack.ts')).bench,
  budget: async () => (await import('./budget.ts')).bench,
  read: async () => (await import('./read.ts')).bench,
  sync: async () => (await import('./sync.ts')).bench,
  compare: async () => (await import('./compare.ts')).bench,
  command: async () => (await import('./command.ts')).bench,
  second: async () => (await import('./second.ts')).bench,
  xml: async () => (await import('./xml.ts')).bench,
  push: async () => (await import('./push.ts')).bench,
  latency: async () => (await import('./latency.ts')).bench,
  sandbox: async () => (await import('./sandbox.ts')).bench,
  webhooks: async () => (await import('./webhooks.ts')).bench,
  schedules: async () => (await import('./schedules.ts')).bench,
  dashboard: async () => (await import('./dashboard.ts')).bench,
  idle: async () => (await import('./idle.ts')).bench,
  tenants: async () => (await import('./tenants.ts')).bench,
  growth: async () => (await import('./growth.ts')).bench,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    small: { type: 'boolean', default: false },
    large: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    rows: { type: 'string' },
  },
})
const givenRows = values.rows === undefined ? undefined : Number(values.rows)
process.exitCode = await main(positionals.length === 0 ? Object.keys(benches) : positionals)

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !(name in benches))
  if (unknown !== undefined) {
    process.stderr.write(`there is no bench "${unknown}". There are: ${Object.keys(benches).join(', ')}\n`)
    return 2
  }
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  const dataDir = join(folder, 'postgres')
  const results: { bench: string; load: number; figures: Figure[] }[] = []
  let failed = false
  // Stopped by hand: the server and the data must not stay.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(
      signal,
      () =>
        void stopEmbedded(dataDir)
          .then(() => rm(folder, { recursive: true, force: true }))
          .finally(() => process.exit(130)),
    )
  }
  try {
    const { url } = await startEmbedded(dataDir, { keep: true })
    print(
      `Node ${process.versions.node}, ${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), load ${loadavg()[0]?.toFixed(1)}\n`,
    )
    for (const name of names) {
      const figures: Figure[] = []
      const load = loadavg()[0] ?? 0
      print(`\n${name} (load ${load.toFixed(1)})\n`)
      const own = await mkdtemp(join(folder, `${name}-`))
      try {
        const bench = await benches[name]?.()
        await bench?.({
          small: values.small,
          large: values.large,
          rows: givenRows ?? (values.small ? 100_000 : 1_000_000),
          givenRows,
          folder: own,
          database: () => newDatabase(url),
          say: (figure) => {
            figures.push(figure)
            process.stderr.write(`  ${figure.figure}: ${figure.measured}\n`)
          },
        })
      } catch (error) {
        failed = true
        process.stderr.write(`  ${name} broke: ${String(error)}\n`)
      } finally {
        await rm(own, { recursive: true, force: true })
      }
      results.push({ bench: name, load, figures })
      print(`${table(figures)}\n`)
    }
  } finally {
    await stopEmbedded(dataDir)
    await rm(folder, { recursive: true, force: true })
  }
  if (values.json) process.stdout.write(`${JSON.stringify({ node: process.versions.node, cores: availableParallelism(), results })}\n`)
  return failed ? 1 : 0
}

function print(text: string): void {
  if (!values.json) process.stdout.write(text)
}

async function newDatabase(url: string): Promise<string> {
  const name = `bench_${randomBytes(4).toString('hex')}`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  const own = new URL(url)
  own.pathname = `/${name}`
  await migrateDatabase(own.href)
  return own.href
}
