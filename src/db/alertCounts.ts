/** Counts requests without a clear answer, and memberships that end soon, by pipeline. */
import { openStatuses } from './batches/states.ts'
import type { Queryable } from './database.ts'
import { withinFence, type Fence } from './fence.ts'
import type { DbRow, Value } from './row.ts'

/** Returns the SQL condition that a destination is in an environment. All arguments are SQL. If `origin` is null, all environments count. */
export const isInEnvironment = (destinationId: string, origin: string, credentials: string) =>
  `(${origin}::text is null or ${withinFence(destinationId, origin, credentials)})`

/** Requests of a pipeline without a clear answer. */
export interface Unresolved {
  readonly pipeline: string
  /** Number of operations: each is for one user or product. */
  readonly operations: number
  /** Time at which the oldest batch of these requests was created, by its plan or by a split. */
  readonly since: Date
  /** Latest run whose plan has one of these requests. */
  readonly runId: string
}

/**
 * SQL condition: the service may have applied the open batch `b`, also while its bytes are sent again. For a delete beside an update
 * (`insertDeleteBatch`), `maybe_applied` is true from the start. So the outcomes of its own attempts decide.
 */
const hasNoClearAnswer = `b.status in ${openStatuses} and b.maybe_applied
       and (b.operation = 'upsert' or not exists (select from batch u where u.id = b.parent_id and u.operation = 'upsert')
         or exists (select from attempt a where a.batch_id = b.id and a.outcome = 'ambiguous'))`

/**
 * Counts the operations of batches without a clear answer that are more than `minutes` minutes old, by pipeline. `environment`: undefined
 * for all environments.
 */
export async function listUnresolved(db: Queryable, minutes: number, environment?: Fence): Promise<readonly Unresolved[]> {
  const rows = await db.query<DbRow<'plan', 'pipeline' | 'run_id'> & { operations: number; since: Value<'batch', 'created_at'> }>(
    `select p.pipeline, sum(b.user_count)::float8 as operations, min(b.created_at) as since, max(p.run_id) as run_id
     from batch b join plan p on p.id = b.plan_id
     where ${hasNoClearAnswer} and b.created_at < statement_timestamp() - $1 * interval '1 minute'
       and ${isInEnvironment('b.destination_id', '$2', '$3')}
     group by p.pipeline`,
    [minutes, environment?.origin ?? null, environment?.credentials ?? null],
  )
  return rows.map(({ run_id, ...row }) => ({ ...row, runId: `r_${run_id}` }))
}

/** Ending memberships of a pipeline. */
export interface EndingMembers {
  readonly pipeline: string
  /** For each of the requested numbers of days, the number of users whose membership ends within it. Ascending by days. */
  readonly users: readonly number[]
}

/**
 * Returns how many memberships have ended or end within each number of days, by pipeline. The numbers are upper bounds: a settled update
 * counts with all its users from its earliest end on. This includes users that a later request updated or deleted. Leaves out audiences that
 * a pipeline had before its last run in the same environment, because no run renews their memberships. `environment`: undefined for all
 * environments.
 */
export async function countEndingMembers(db: Queryable, days: readonly number[], environment?: Fence): Promise<readonly EndingMembers[]> {
  return db.query<DbRow<'plan', 'pipeline'> & { users: number[] }>(
    `with ending as materialized (
       select p.pipeline, t.id as destination_id, d.days,
         coalesce(sum(b.user_count) filter (where b.expires_at < statement_timestamp() + d.days * interval '1 day'), 0)::float8 as users
       -- Reads by destination, because the index of ends begins with the destination.
       from destination t cross join lateral (
           select e.plan_id, e.user_count, e.expires_at from batch e
           where e.destination_id = t.id and e.status = 'settled' and e.operation = 'upsert' and e.expires_at is not null
             and e.expires_at < statement_timestamp() + $2 * interval '1 day') b
         join plan p on p.id = b.plan_id cross join unnest($1::int[]) as d (days)
       where ${isInEnvironment('t.id', '$3', '$4')}
       group by p.pipeline, t.id, d.days)
     select x.pipeline, array_agg(x.users order by x.days) as users
     from (select e.pipeline, e.days, sum(e.users) as users from ending e join destination t on t.id = e.destination_id
       -- A pipeline without a stored run keeps its audiences.
       where t.id = coalesce((
         select r.destination_id from run r join destination o on o.id = r.destination_id
         where r.pipeline = e.pipeline and r.trigger <> 'plan' and o.service = t.service and o.credentials is not distinct from t.credentials
         order by r.id desc limit 1), t.id)
       group by e.pipeline, e.days) x
     group by x.pipeline`,
    [days, Math.max(...days), environment?.origin ?? null, environment?.credentials ?? null],
  )
}
