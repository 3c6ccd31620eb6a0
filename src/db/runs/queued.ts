/** Finds queued runs, and plans that several processes may push. */
import { hasRows, type Queryable } from '../queryable.ts'
import type { Present, DbRow } from '../row.ts'
import { clusterOf, isSyncedHere } from '../databaseIdentity.ts'
import { withinFence, type Fence } from '../fence.ts'
import { isPaused } from '../pauses.ts'

/** Queued or running run of a destination. */
export interface OpenRun {
  readonly id: number
  readonly status: 'queued' | 'running'
  readonly pipeline: string
  /** True if any worker may claim the run while it is queued (`isForAnyWorker`). */
  readonly forAnyWorker: boolean
}

/**
 * Returns the queued and running runs of a destination, the oldest first. Leaves out queued manual runs and reruns that need another
 * version of the pipeline: no worker with `version` can claim them. If `version` is undefined, leaves out none.
 */
export async function openRuns(db: Queryable, destinationId: number, version: string | undefined): Promise<readonly OpenRun[]> {
  const rows = await db.query<DbRow<'run', 'id' | 'pipeline'> & { status: 'queued' | 'running'; for_any_worker: boolean }>(
    `select id, status, pipeline, ${isForAnyWorker('run')} as for_any_worker from run where destination_id = $1 and status in ('queued', 'running')
       and not coalesce(status = 'queued' and trigger in ('manual', 'rerun') and definition <> $2, false) order by id`,
    [destinationId, version ?? null],
  )
  return rows.map(({ for_any_worker: forAnyWorker, ...row }) => ({ ...row, id: Number(row.id), forAnyWorker }))
}

/**
 * Returns the SQL condition that any worker may claim the queued run `run`. It is of a schedule, or has the option `anyWorker`. A command
 * claims its own run; without the command, its approval of deletes must not be used.
 */
export function isForAnyWorker(run: string): string {
  return `(${run}.trigger = 'schedule' or ${run}.options ? 'anyWorker')`
}

/** Run that a worker can claim. */
export interface QueuedRun {
  readonly id: number
  readonly destinationId: number
  readonly pipeline: string
}

/** Maximum number of runs that `findQueuedRuns` returns. */
export const maxQueuedRuns = 50

/**
 * Returns at most `maxQueuedRuns` queued runs of this environment that a worker can claim, the oldest first:
 * - runs that any worker may claim (`isForAnyWorker`)
 * - the run `runId`
 *
 * Leaves out runs of paused pipelines. Also leaves out plans and applies, which only the requesting process executes. Without
 * `destinationId`, also leaves out runs of locked destinations. `pipelines`: names to which the runs are limited.
 */
export async function findQueuedRuns(
  db: Queryable,
  fence: Fence,
  options: { readonly destinationId?: number; readonly runId?: number; readonly pipelines?: readonly string[] } = {},
): Promise<readonly QueuedRun[]> {
  const rows = await db.query<DbRow<'run', 'id' | 'pipeline'> & Present<DbRow<'run', 'destination_id'>>>(
    `select q.id, q.destination_id, q.pipeline from run q
     where q.status = 'queued' and q.trigger not in ('plan', 'apply') and ($1::int is null or q.destination_id = $1)
       and (${isForAnyWorker('q')} or q.id = $2)
       and ${withinFence('q.destination_id', '$3', '$4')} and not ${isPaused('q')}
       and not exists (select from run r where r.destination_id = q.destination_id and r.status = 'running' and r.lease_until > statement_timestamp() and $1::int is null)
       and ($5::text[] is null or q.pipeline = any($5))
     order by q.id limit ${maxQueuedRuns}`,
    [options.destinationId ?? null, options.runId ?? null, fence.origin, fence.credentials, options.pipelines ?? null],
  )
  return rows.map((row) => ({ id: Number(row.id), destinationId: row.destination_id, pipeline: row.pipeline }))
}

/** Returns true if any run is queued or running, or any request is in flight, in any environment. */
export async function hasOpenWork(db: Queryable): Promise<boolean> {
  const rows = await db.query<{ open: boolean }>(
    `select exists (select from run where status in ('queued', 'running')) or exists (select from batch where status = 'in_flight') as open`,
  )
  return rows[0]?.open === true
}

/** SQL condition: a run that is running made the plan `p`, or applies it. */
export const isPushedByRun = `exists (select from run r where (r.id = p.run_id or r.plan_id = p.id) and r.status = 'running')`

/**
 * Returns the ids of the plans of this environment that further workers can help to push. Such a plan is pushed by a running run, and a
 * batch of it can be sent now.
 */
export async function findSharedPlans(db: Queryable, fence: Fence): Promise<readonly string[]> {
  const rows = await db.query<DbRow<'plan', 'id'>>(
    `select p.id from plan p
     where p.status = 'applying' and ${isPushedByRun} and ${withinFence('p.destination_id', '$1', '$2')} and exists (
       select from batch b where b.plan_id = p.id and b.status in ('pending', 'ambiguous') and (b.next_attempt_at is null or b.next_attempt_at <= statement_timestamp()))
     order by p.id`,
    [fence.origin, fence.credentials],
  )
  return rows.map((row) => row.id)
}

/**
 * Returns true if a running run pushes the plan in this environment, and its destination is synced from this database
 * (`databaseIdentity.ts`).
 */
export async function isSharedPlan(db: Queryable, planId: string, fence: Fence): Promise<boolean> {
  return hasRows(
    db,
    `select from plan p join destination d on d.id = p.destination_id
     where p.id = $1 and p.status = 'applying' and ${isPushedByRun} and ${withinFence('p.destination_id', '$2', '$3')} and ${isSyncedHere('d', '$4')}`,
    [planId, fence.origin, fence.credentials, await clusterOf(db)],
  )
}

/** State of the queue of runs. Runs of paused pipelines do not count as queued. */
export interface QueueState {
  readonly queued: number
  readonly running: number
  /** Seconds since the oldest queued run was requested; 0 if none is queued. */
  readonly oldestS: number
}

/** Returns the state of the queue, over all environments. */
export async function queueState(db: Queryable): Promise<QueueState> {
  const [row] = await db.query<{ queued: number; running: number; oldest_s: number }>(
    `select count(*) filter (where q.status = 'queued')::int as queued, count(*) filter (where q.status = 'running')::int as running,
       coalesce(extract(epoch from statement_timestamp() - min(q.created_at) filter (where q.status = 'queued')), 0)::float8 as oldest_s
     from run q where q.status in ('queued', 'running') and not (q.status = 'queued' and ${isPaused('q')})`,
  )
  return { queued: row?.queued ?? 0, running: row?.running ?? 0, oldestS: row?.oldest_s ?? 0 }
}
