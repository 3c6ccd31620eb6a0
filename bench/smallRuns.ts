/** Measures small runs of a process that has made others before, as `serve` and `worker` do: 20 people, `--rows N` for another number. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../src/db/database.ts'
import { loadPipeline } from '../src/pipeline/load.ts'
import { runPipeline } from '../src/sync/run/run.ts'
import { audienceYaml, withEngine, writePipeline } from './engine.ts'
import { type Bench } from './figure.ts'
import { startSandboxProcess } from './sandboxProcess.ts'
import { processorSeconds } from './serveProcess.ts'

export const bench: Bench = async ({ folder, database, report, small, givenRows }) => {
  const people = givenRows ?? 20
  const repeats = small ? 20 : 100
  const csv = join(folder, 'customers.csv')
  writePipeline(folder, 'customers', audienceYaml(csv, people))
  const sandbox = await startSandboxProcess()
  const setting = { databaseUrl: await database(), folder, pipeline: 'customers', serviceUrl: sandbox.url }
  try {
    await withEngine(setting, async (deps) => {
      const pipeline = await loadPipeline(join(folder, 'pipelines'), 'customers')
      let changes = 0
      const change = () => {
        const rows = Array.from(
          { length: people },
          (_, n) => `c${n},c${n}-${n === 0 ? ++changes : 0}@example.com,+1-212-555-01${(n % 90) + 10}\n`,
        )
        writeFileSync(csv, `customer_id,email,phone\n${rows.join('')}`)
      }
      const run = async () => {
        const { error } = await runPipeline(deps, pipeline, { trigger: 'manual' })
        if (error !== undefined) throw new Error(`${error.code}: ${error.message}`)
      }
      const measure = async (figure: string, work: () => Promise<void>) => {
        // After five executions Postgres and V8 have their caches.
        for (let n = 0; n < 5; n++) await work()
        const postgres = await backendSeconds(deps.db)
        const node = process.cpuUsage()
        const started = performance.now()
        for (let n = 0; n < repeats; n++) await work()
        const took = performance.now() - started
        const { user, system } = process.cpuUsage(node)
        const postgresMs = ((await backendSeconds(deps.db)) - postgres) * 1000
        const perRun = (ms: number) => `${(ms / repeats).toFixed(0)} ms`
        report({
          figure,
          measured: `${perRun(took)}; processor of Node ${perRun((user + system) / 1000)}, of Postgres ${perRun(postgresMs)}`,
        })
      }
      await measure(`run of ${people} people, one changed`, () => (change(), run()))
      await measure('the same without changes', run)
    })
  } finally {
    await sandbox.close()
  }
}

/** Returns the processor time in seconds of all connections to the database. Connections that ended count as nothing. */
async function backendSeconds(db: Database): Promise<number> {
  const rows = await db.query<{ pid: number }>('select pid from pg_stat_activity where datname = current_database()')
  return rows.reduce((sum, { pid }) => sum + processorSeconds(pid), 0)
}
