/**
 * Runs are kept for 400 days (docs/retention.md), so a database may have a million of them. A run, a plan and retention must not read
 * them all. Without indexes, a run took 6.6 s with 100,000 runs. Retention took 51 s to delete 6,000 of 30,000.
 */
import { expect, test } from 'vitest'
import { dropRuns } from '../../../src/db/runRetention.ts'
import { loadOverviews } from '../../../src/sync/reports/overview.ts'
import { loadReview } from '../../../src/sync/reports/review.ts'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { copyLastRun } from '../../support/longHistory.ts'

const runs = 5_000

const peopleYaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { max_delete_percent: 100, min_rows: 0 }
`

test('a run, the next plan, overviews and retention do not read all stored runs', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest({ newDatabase: true })
  engine.pipeline('people', peopleYaml)
  const change = (n: number) => engine.write('people.csv', `id,mail\nann,ann${n}@example.com\nbob,bob@example.com\n`)
  for (const n of [0, 1]) {
    change(n)
    await engine.run('people')
  }
  // The last request, because the requests of the first load imply keys.
  await copyLastRun(engine.db, runs)

  const readsOf = async (work: () => Promise<unknown>) => {
    const before = await readRows(engine)
    await work()
    const after = await readRows(engine)
    // Postgres may read and sort 5,000 snapshots once. With more of them it uses their index.
    return [...after]
      .map(([table, rows]) => ({ table, rows: rows - (before.get(table) ?? 0) }))
      .filter(({ table, rows }) => rows > (table === 'snapshot' ? 1.5 : 0.5) * runs)
  }
  change(2)
  expect(await readsOf(() => engine.run('people'))).toEqual([])
  expect(await readsOf(() => engine.run('people'))).toEqual([])
  change(3)
  let planId = ''
  expect(await readsOf(async () => ({ planId } = await engine.plan('people')))).toEqual([])
  expect(await readsOf(() => loadReview(engine.db, planId))).toEqual([])
  expect(await readsOf(() => engine.apply(planId))).toEqual([])
  expect(await readsOf(() => loadOverviews(engine.db, [{ name: 'people', environment: undefined }], 20))).toEqual([])
  // Retention compares all runs with its limit, but reads each table a fixed number of times.
  const reads = await readsOf(() => dropRuns(engine.db, runs / 2))
  expect(reads.filter(({ rows }) => rows > 10 * runs)).toEqual([])
  const [left] = await engine.db.query<{ n: number }>('select count(*)::int as n from sluice.run')
  expect(left?.n).toBeLessThan(0.6 * runs)
})

/** Returns the rows that whole reads of each table returned so far. */
async function readRows({ db }: EngineUnderTest): Promise<ReadonlyMap<string, number>> {
  // A connection reports its counters at most once per second, unless it is asked to.
  await Promise.all(Array.from({ length: 20 }, () => db.query('select pg_stat_force_next_flush()')))
  const rows = await db.query<{ name: string; rows: number }>(
    `select relname as name, seq_tup_read::float8 as rows from pg_stat_user_tables where schemaname = 'sluice'`,
  )
  return new Map(rows.map(({ name, rows }) => [name, rows]))
}
