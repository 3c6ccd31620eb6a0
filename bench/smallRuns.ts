/** Measures small runs of a process that has made others before, as `serve` and `worker` do: 20 people, `--rows N` for another number. */
import type { Database } from '../src/db/database.ts'
import { withFewPeople } from './engine.ts'
import type { Bench } from './figure.ts'
import { processorSeconds } from './serveProcess.ts'

export const bench: Bench = async ({ folder, database, report, small, givenRows }) => {
  const people = givenRows ?? 20
  const repeats = small ? 20 : 100
  await withFewPeople({ folder, database }, people, async ({ deps, change, run }) => {
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
}

/** Returns the processor time in seconds of all connections to the database. Connections that ended count as nothing. */
async function backendSeconds(db: Database): Promise<number> {
  const rows = await db.query<{ pid: number }>('select pid from pg_stat_activity where datname = current_database()')
  return rows.reduce((sum, { pid }) => sum + processorSeconds(pid), 0)
}
