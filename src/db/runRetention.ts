/**
 * Deletes expired runs with their plans, requests, attempts and snapshots. Keeps rows that the current state refers to:
 * - the request and attempt that confirmed a key (docs/guarantees.md#confirmed-only)
 * - the snapshots that the next read is compared with
 * - open requests, and the deletes of erasures
 * - the last run of each pipeline, in each environment
 */
import { deleteAttempts } from './attempts.ts'
import { logEvent } from './auditLog.ts'
import { deleteBatches } from './batches/release.ts'
import { openStatuses } from './batches/states.ts'
import type { Database, Queryable } from './database.ts'
import { deleteEntries } from './entries/drop.ts'
import { mayImply } from './impliedKeys.ts'
import { endLoads } from './remote/implied.ts'
import type { DbRow } from './row.ts'
import { deletePlans, lastPlans, noGuardFired } from './plans.ts'
import { deleteRejects } from './rejects.ts'
import { deleteRuns } from './runs/end.ts'
import { readsOwnSources } from './runs/request.ts'
import { deleteSnapshots } from './snapshots.ts'

/** Default number of days after which ended runs are deleted. */
export const defaultKeepRunsDays = 400
/** SQL of the time `$1` days ago. Runs and requests that ended before have expired. */
const expiredBefore = `statement_timestamp() - $1 * interval '1 day'`

/**
 * SQL of the ids of the snapshots that the next read is compared with (`sync/read/snapshot.ts`):
 * - the last complete read of the pipeline's own sources, and all later snapshots
 * - the last complete read of these sources in whose plans no guard fired
 * - the last complete read of any source
 */
const comparedSnapshots = `
  select s.id from snapshot s join (
    select o.destination_id, max(o.id) as last, max(o.id) filter (where ${noGuardFired('o.id')}) as good
    from snapshot o join run u on u.id = o.run_id
    where o.status = 'closed' and ${readsOwnSources('u')} group by o.destination_id) l
    on l.destination_id = s.destination_id and (s.id >= l.last or s.id = l.good)
  union select max(id) from snapshot where status = 'closed' group by destination_id`

/** Deletes runs that ended more than `days` days ago, with a line in the audit log. Returns the number of deleted runs. */
export async function dropRuns(db: Database, days: number): Promise<number> {
  return db.transaction(async (tx) => {
    const keptSnapshots = (await tx.query<DbRow<'snapshot', 'id'>>(comparedSnapshots)).map(({ id }) => id)
    const plans = await tx.query<DbRow<'plan', 'id'>>(
      `select p.id from plan p join run u on u.id = p.run_id
       where u.finished_at < ${expiredBefore} and p.status in ('applied', 'superseded')
         and coalesce(p.applied_at, p.created_at) < ${expiredBefore}
         and not exists (select from batch b where b.plan_id = p.id and (b.status in ${openStatuses} or b.settled_at >= ${expiredBefore}))
         and not exists (select from (${lastPlans}) l where l.id = p.id or l.review -> 'resync' ? p.id)
         and coalesce(p.snapshot_id, 0) <> all($2::bigint[])
         -- A plan whose guards withheld deletes is kept as long as its snapshot, because only the plan shows that they were withheld.
         and not (jsonb_array_length(p.guards) > 0 and p.snapshot_id in (select snapshot_id from plan group by snapshot_id having count(*) > 1))`,
      [days, keptSnapshots],
    )
    const expired = plans.map(({ id }) => id)
    await dropPlans(tx, expired)
    await deleteSnapshots(tx, days, keptSnapshots)
    const runs = await deleteRuns(tx, days)
    if (runs.length === 0) return 0
    await deleteRejects(tx, runs)
    await logEvent(tx, { actor: 'retention', what: 'runs.dropped', detail: { days, runs: runs.length, last: Math.max(...runs) } })
    return runs.length
  })
}

/**
 * Deletes the requests of these plans, then the plans without requests. Keeps these requests:
 * - a request that confirmed a key
 * - a request that a receipt of an erasure counts
 * - a request of a load that still has implied keys (docs/decisions/implied-keys.md)
 */
async function dropPlans(tx: Queryable, plans: readonly string[]): Promise<void> {
  if (plans.length === 0) return
  await endLoads(tx, plans)
  const rows = await tx.query<DbRow<'batch', 'id'>>(
    // A batch ends at the `first_key` of the next batch. So while one batch of a load implies a key, all batches of the load are kept.
    `with live as materialized (select distinct batch_id from remote where batch_id is not null)
     select b.id from batch b where b.plan_id = any($1) and not exists (select from live l where l.batch_id = b.id)
       and not exists (select from erasure_delete d where d.batch_id = b.id)
       and not exists (select from batch i where i.destination_id = b.destination_id and i.load_id = b.load_id and ${mayImply('i')})`,
    [plans],
  )
  const batches = rows.map(({ id }) => id)
  await deleteEntries(tx, batches)
  await deleteAttempts(tx, batches)
  await deleteBatches(tx, batches)
  await deletePlans(tx, plans)
}

/** Returns the retention in days of the first deletion that included this or a later run; undefined if there was none. */
export async function keptDaysOf(db: Queryable, runId: number): Promise<number | undefined> {
  const [line] = await db.query<{ days: number }>(
    `select (detail ->> 'days')::int as days from audit where what = 'runs.dropped' and (detail ->> 'last')::bigint >= $1 order by id limit 1`,
    [runId],
  )
  return line?.days
}
