/** A database with many stored runs, for tests and benches. */
import type { Database } from '../../src/db/database.ts'

/** Copies the last run with its plan, request and snapshot to each of `runs` days before. A tenth of the copies is of another pipeline. */
export async function copyLastRun(db: Database, runs: number): Promise<void> {
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
