/** Random histories that one engine plays one after the other. */
import type { Parameters } from 'fast-check'
import type { Database } from '../../src/db/database.ts'
import type { RunReport } from '../../src/model/report.ts'
import type { EngineUnderTest, RunOptions } from './engine.ts'

/**
 * Returns the settings of fast-check for `count` histories, in `npm run test:quick` for a fifth of them. SLUICE_RUNS plays more of them,
 * SLUICE_SEED repeats those of a failure, and SLUICE_SHRINK looks for the shortest one that fails.
 */
export function histories(count: number): Pick<Parameters, 'endOnFailure' | 'numRuns' | 'seed'> {
  const { MODE, SLUICE_RUNS, SLUICE_SEED, SLUICE_SHRINK } = process.env
  return {
    endOnFailure: SLUICE_SHRINK === undefined,
    numRuns: Number(SLUICE_RUNS ?? (MODE === 'quick' ? Math.ceil(count / 5) : count)),
    ...(SLUICE_SEED ? { seed: Number(SLUICE_SEED) } : {}),
  }
}

/**
 * Calls `round`, which returns the reports of its runs, until every run succeeds and sends nothing. Makes at most `most` calls. A further
 * call would read the same files again. The test still checks that the next runs send nothing.
 */
export async function untilQuiet(most: number, round: () => Promise<readonly Pick<RunReport, 'status' | 'counts'>[]>): Promise<void> {
  for (let i = 0; i < most; i++) if ((await round()).every(({ status, counts }) => status === 'succeeded' && counts.requests === 0)) return
}

/** Runs the pipelines one after the other. */
export async function runEach(engine: EngineUnderTest, names: readonly string[], options: RunOptions = {}): Promise<RunReport[]> {
  const reports: RunReport[] = []
  for (const name of names) reports.push(await engine.run(name, options))
  return reports
}

/** Tables that are kept between histories, because they belong to the process of the test. */
const kept = new Set(['migration', 'worker', 'budget', 'budget_slot'])

/**
 * Deletes every run and destination, and all that belongs to them. These deletes take 3 ms of processor time. A `truncate` of these tables
 * creates their files again and takes 67 ms (2 cores, Postgres 18.4, data in memory).
 */
export async function emptyDatabase(db: Database): Promise<void> {
  const rows = await db.query<{ name: string }>('select tablename as name from pg_tables where schemaname = $1', [db.schema])
  const deletes = rows.flatMap(({ name }) => (kept.has(name) ? [] : [`delete from ${db.schema}.${name};`]))
  // Without checks of foreign keys and triggers, so the order is free.
  await db.execute(`begin; set local session_replication_role = replica; ${deletes.join(' ')} commit`)
}

/** Restores the first state of engines: no runs, and a sandbox without calls. */
export async function forgetAll(...engines: readonly Pick<EngineUnderTest, 'db' | 'sandbox'>[]): Promise<void> {
  for (const { db, sandbox } of engines) {
    await sandbox.control.reset()
    await emptyDatabase(db)
  }
}
