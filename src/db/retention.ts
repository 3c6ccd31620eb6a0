/** Deletes data that is no longer needed (docs/retention.md). Every statement is safe to repeat. */
import type { Database } from './database.ts'
import type { Row } from './row.ts'
import { keysOf } from './entries.ts'
import { dropOutdatedKeys, eraseImpliedKeys, storeKeysOfBatches } from './impliedKeys.ts'
import { defaultKeepRunsDays, dropRuns } from './runRetention.ts'
import { kindsWhere } from '../destinations/index.ts'
import { dropOldAlerts } from './alerts.ts'
import { dropOldLines } from './audit.ts'
import { supersedeStale } from './plans.ts'
import { dropOldCells, dropOldRejects } from './rejects.ts'
import { dropOldTicks } from './schedules.ts'
import { dropOldEvents } from './webhookEvents.ts'
import { dropOldWorkers } from './workers.ts'

const openBatches = `('pending', 'in_flight', 'ambiguous', 'parked')`

/** Deletes expired data; `keepRunsDays` is for runs. Returns the number of rows by kind. */
export async function applyRetention(
  db: Database,
  { keepRunsDays = defaultKeepRunsDays }: { readonly keepRunsDays?: number } = {},
): Promise<Readonly<Record<string, number>>> {
  return {
    plans: await dropStalePlans(db),
    // Frozen bodies contain digests. They are not sent again after their batch is settled.
    bodies: await dropBodies(db),
    operations: await dropOperations(db),
    // The merchant's own cells are deleted first, the reasons and lines later.
    cells: await dropOldCells(db),
    rejects: await dropOldRejects(db),
    // A key without desired or confirmed content: never sent, or late requests could have restored it and did not.
    keys: await db.execute(
      `delete from remote where held <= 0 and synced_hash is null and (late_until is null or late_until <= statement_timestamp())
       and not exists (select from batch b cross join ${keysOf('b.id')} k
         where b.status in ${openBatches} and b.destination_id = remote.destination_id and k.key = remote.key)`,
    ),
    runs: await dropRuns(db, keepRunsDays),
    audit: await dropOldLines(db),
    alerts: await dropOldAlerts(db),
    events: await dropOldEvents(db),
    ticks: await dropOldTicks(db),
    workers: await dropOldWorkers(db),
  }
}

async function dropBodies(db: Database): Promise<number> {
  const over = `b.status in ('settled', 'split', 'superseded') and b.settled_at < statement_timestamp() - interval '7 days'`
  const whole = await db.execute(`update batch b set body = null where b.body is not null and ${over}`)
  const templates = await db.execute(
    `update batch_entries e set template = null from batch b where b.id = e.batch_id and e.template is not null and ${over}`,
  )
  return whole + templates
}

/** Ends stale plans with their unsent batches. */
async function dropStalePlans(db: Database): Promise<number> {
  return db.transaction(async (tx) => {
    const plans = await supersedeStale(tx)
    const unsent = `plan_id = any($1) and status = 'pending' and attempts = 0`
    const batches = await tx.query<Row<'batch', 'id'>>(`select id from batch where ${unsent} and load_id is not null and not keys_stored`, [
      plans,
    ])
    await storeKeysOfBatches(
      tx,
      batches.map(({ id }) => id),
    )
    await tx.execute(`update batch set status = 'superseded', settled_at = statement_timestamp(), reason = 'stale_plan' where ${unsent}`, [
      plans,
    ])
    return plans.length
  })
}

/**
 * Deletes operations of ended plans: those of people after a month, because they contain digests; those of products, which `explain`
 * shows, after a year. A plan with an open batch keeps all of its operations, because its counts come from its batches.
 */
async function dropOperations(db: Database): Promise<number> {
  const kept = `case when d.kind = any($1) then interval '12 months' else interval '30 days' end`
  const done = `select b.id from batch b join destination d on d.id = b.destination_id
     where b.status in ('settled', 'split', 'superseded')
       and b.settled_at < statement_timestamp() - ${kept}
       and not exists (select from batch o where o.plan_id = b.plan_id
         and (o.status in ${openBatches} or o.settled_at >= statement_timestamp() - ${kept}))
       and not exists (select from plan p where p.id = b.plan_id and p.status = 'applying')`
  const values = [kindsWhere(({ keepsEntries }) => keepsEntries === '12 months')]
  return db.transaction(async (tx) => {
    const together = await tx.query<Row<'batch_entries', 'destination_id'> & { n: number; of_load: boolean }>(
      `delete from batch_entries ea using batch b where b.id = ea.batch_id and ea.batch_id in (${done})
       returning ea.destination_id, cardinality(ea.record_keys) as n, b.load_id is not null as of_load`,
      values,
    )
    const each = await tx.query<Row<'entry', 'destination_id'> & { n: number; deleted: Buffer[] | null }>(
      `with gone as (delete from entry where batch_id in (${done}) returning destination_id, change, keys)
       select g.destination_id, count(*)::int as n, (
         select array_agg(k.key) from gone d cross join lateral unnest(d.keys) as k (key)
         where d.destination_id = g.destination_id and d.change = 'delete') as deleted
       from gone g group by g.destination_id`,
      values,
    )
    // The search for implied keys has digests of people too: those that were deleted, and those of a load that was never sent whole.
    for (const { destination_id, deleted } of each) await eraseImpliedKeys(tx, destination_id, deleted ?? [])
    const loads = new Set(together.flatMap((row) => (row.of_load ? [row.destination_id] : [])))
    for (const destinationId of loads) await dropOutdatedKeys(tx, destinationId)
    return [...together, ...each].reduce((sum, { n }) => sum + n, 0)
  })
}
