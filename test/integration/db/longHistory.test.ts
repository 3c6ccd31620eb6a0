/**
 * Runs are kept for 400 days (docs/retention.md), so a database may have a million of them. A run, a plan and retention must not read
 * them all. Without indexes, a run took 6.6 s with 100,000 runs. Retention took 51 s to delete 6,000 of 30,000.
 */
import { expect, test } from 'vitest'
import { dropRuns } from '../../../src/db/runRetention.ts'
import { loadOverviews } from '../../../src/sync/reports/overview.ts'
import { loadReview } from '../../../src/sync/reports/review.ts'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'

const runs = 5_000

const peopleYaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { max_delete_percent: 100, min_rows: 0 }
`

test('a run, the next plan, overviews and retention do not read all stored runs', async () => {
  await using engine = await engineUnderTest({ newDatabase: true })
  engine.pipeline('people', peopleYaml)
  const change = (n: number) => engine.write('people.csv', `id,mail\nann,ann${n}@example.com\nbob,bob@example.com\n`)
  for (const n of [0, 1]) {
    change(n)
    await engine.run('people')
  }
  // The last request, because the requests of the first load imply keys.
  await repeatLastRun(engine)

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

/** Copies the last run with its plan, request and snapshot to each of the days before. A tenth of the copies is of another pipeline. */
async function repeatLastRun({ db }: EngineUnderTest): Promise<void> {
  const columns = await db.query<{ name: string; columns: string[] }>(
    `select c.relname as name, array_agg(a.attname::text) as columns from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'sluice'::regnamespace and a.attnum > 0 and not a.attisdropped group by 1`,
  )
  const first = 1_000_000
  const id = `${first} + g`
  const pipeline = `case when g % 10 = 0 then 'other' else x.pipeline end`
  const copies: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    run: { id, pipeline, plan_id: `'p_' || g`, snapshot_id: id },
    snapshot: { id, run_id: id },
    plan: { id: `'p_' || g`, pipeline, run_id: id, snapshot_id: id },
    // Later requests confirmed its memberships again.
    batch: { id, plan_id: `'p_' || g`, expires_at: 'null' },
    attempt: { id, batch_id: id, run_id: id },
  }
  // Only times are moved. The copies refer to each other.
  const times = /(?<!_until)_at$|^lease_until$/
  await db.transaction(async (tx) => {
    await tx.query('set local session_replication_role = replica')
    for (const [table, values] of Object.entries(copies)) {
      const names = columns.find(({ name }) => name === table)?.columns ?? []
      const selected = names.map(
        (name) => values[name] ?? (times.test(name) ? `x.${name} - (${runs} - g) * interval '1 day'` : `x.${name}`),
      )
      await tx.query(
        `insert into ${table} (${names.join(', ')}) overriding system value
         select ${selected.join(', ')} from (select * from ${table} order by id desc limit 1) x cross join generate_series(1, ${runs}) g`,
      )
      if (table !== 'plan') await tx.query(`select setval(pg_get_serial_sequence('${table}', 'id'), ${2 * first})`)
    }
  })
  await db.execute('analyze')
}

/** Returns the rows that whole reads of each table returned so far. */
async function readRows({ db }: EngineUnderTest): Promise<ReadonlyMap<string, number>> {
  // A connection reports its counters at most once per second, unless it is asked to.
  await Promise.all(Array.from({ length: 20 }, () => db.query('select pg_stat_force_next_flush()')))
  const rows = await db.query<{ name: string; rows: number }>(
    `select relname as name, seq_tup_read::float8 as rows from pg_stat_user_tables where schemaname = 'sluice'`,
  )
  return new Map(rows.map(({ name, rows }) => [name, rows]))
}
