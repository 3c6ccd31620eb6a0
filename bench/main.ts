/**
 * Runs the benches behind docs/benchmarks.md. Figures are ratios within one run. The data is invented, and the database is a new embedded
 * Postgres with its default settings. A missed target is reported as SHORT and does not fail the command.
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
  files: async () => (await import('./files.ts')).bench,
  phone: async () => (await import('./phone.ts')).bench,
  pack: async () => (await import('./pack.ts')).bench,
  budget: async () => (await import('./budget.ts')).bench,
  read: async () => (await import('./read.ts')).bench,
  sync: async () => (await import('./sync.ts')).bench,
  compare: async () => (await import('./compare.ts')).bench,
  command: async () => (await import('./command.ts')).bench,
  runs: async () => (await import('./smallRuns.ts')).bench,
  second: async () => (await import('./second.ts')).bench,
  xml: async () => (await import('./xml.ts')).bench,
  push: async () => (await import('./push.ts')).bench,
  latency: async () => (await import('./latency.ts')).bench,
  sandbox: async () => (await import('./sandbox.ts')).bench,
  webhooks: async () => (await import('./webhooks.ts')).bench,
  schedules: async () => (await import('./schedules.ts')).bench,
  history: async () => (await import('./history.ts')).bench,
  dashboard: async () => (await import('./dashboard.ts')).bench,
  idle: async () => (await import('./idle.ts')).bench,
  tenants: async () => (await import('./tenants.ts')).bench,
  growth: async () => (await import('./growth.ts')).bench,
}

const usage = `Usage: npm run bench [-- NAME… --small --large --rows N --json]

Runs the named benches, or all: ${Object.keys(benches).join(', ')}

  --small   a tenth of the data
  --large   also the cases that take long, such as 10,000,000 rows
  --rows N  number of rows, runs or tenants, instead of the bench's default
  --json    print the results as JSON
`

/** Reads the arguments of the command line. @throws {Error} if they are not valid */
function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      small: { type: 'boolean', default: false },
      large: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      rows: { type: 'string' },
    },
  })
  const unknown = positionals.find((name) => !(name in benches))
  if (unknown !== undefined) throw new Error(`unknown bench "${unknown}"`)
  if (values.rows !== undefined && !/^[1-9]\d*$/.test(values.rows))
    throw new Error(`--rows "${values.rows}" is not a positive whole number`)
  const names = positionals.length === 0 ? Object.keys(benches) : positionals
  return { ...values, names, givenRows: values.rows === undefined ? undefined : Number(values.rows) }
}

type Arguments = ReturnType<typeof readArguments>

async function main(): Promise<number> {
  let args: Arguments
  try {
    args = readArguments()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\nhint: npm run bench -- --help\n`)
    return 2
  }
  if (args.help) {
    process.stdout.write(usage)
    return 0
  }
  return runBenches(args)
}

async function runBenches({ names, small, large, json, givenRows }: Arguments): Promise<number> {
  const print = (text: string) => {
    if (!json) process.stdout.write(text)
  }
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  const dataDir = join(folder, 'postgres')
  const results: { bench: string; load: number; figures: Figure[] }[] = []
  let failed = false
  // After Ctrl-C, the server and the data must not remain.
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
      const benchFolder = await mkdtemp(join(folder, `${name}-`))
      try {
        const bench = await benches[name]?.()
        await bench?.({
          small,
          large,
          rows: givenRows ?? (small ? 100_000 : 1_000_000),
          givenRows,
          folder: benchFolder,
          database: () => newDatabase(url),
          report: (figure) => {
            figures.push(figure)
            process.stderr.write(`  ${figure.figure}: ${figure.measured}\n`)
          },
        })
      } catch (error) {
        failed = true
        process.stderr.write(`  ${name} failed: ${String(error)}\n`)
      } finally {
        await rm(benchFolder, { recursive: true, force: true })
      }
      results.push({ bench: name, load, figures })
      print(`${table(figures)}\n`)
    }
  } finally {
    await stopEmbedded(dataDir)
    await rm(folder, { recursive: true, force: true })
  }
  if (json) process.stdout.write(`${JSON.stringify({ node: process.versions.node, cores: availableParallelism(), results })}\n`)
  return failed ? 1 : 0
}

async function newDatabase(url: string): Promise<string> {
  const name = `bench_${randomBytes(4).toString('hex')}`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  const newUrl = new URL(url)
  newUrl.pathname = `/${name}`
  await migrateDatabase(newUrl.href)
  return newUrl.href
}

process.exitCode = await main()
