/**
 * Writes the table `run`. The states of a run are queued → running under a lease → ended (docs/states.md). A unique index allows only
 * one running run per destination.
 */
import { logAction } from './auditLog.ts'
import type { Database, Queryable } from './database.ts'
import { notify } from './notifications.ts'
import type { Present, Row } from './row.ts'
import { readOptions, type RunOptions } from './runColumns.ts'
import { adoptDestination, pauseDestination, type DestinationKey } from './destinations.ts'
import { isExpired } from './batches/lease.ts'
import { withinFence, type Fence } from './fence.ts'
import { isPaused } from './pauses.ts'
import { noCounts, type RunTrigger } from '../model/report.ts'
import { errorCode } from '../unknownValue.ts'

/** Claimed run. */
export interface RunRow {
  readonly id: number
  readonly pipeline: string
  readonly destinationId: number
  readonly trigger: RunTrigger
  readonly options: RunOptions
  readonly epoch: number
  readonly rerunOf: number | null
  readonly startedAtMs: number
}

/**
 * Returns true for a run that reads another source than the pipeline's own: a backfill, or a rerun of it. In such a run no row counts as
 * missing.
 */
export function readsBackfillSource(run: Pick<RunRow, 'trigger' | 'options'>): boolean {
  return run.trigger === 'backfill' || run.options.source !== undefined
}

/** Returns the SQL condition that the run in row `run` reads the pipeline's own sources, the opposite of `readsBackfillSource`. */
export const readsOwnSources = (run: string): string => `${run}.trigger <> 'backfill' and ${run}.options ->> 'source' is null`

/**
 * Queues a run, notifies the workers, and returns the number of the run. Returns undefined if the tick `scheduledFor` already has a run
 * (docs/guarantees.md#one-run-per-tick).
 */
export async function requestRun(
  db: Queryable,
  request: {
    readonly pipeline: string
    readonly destinationId: number
    readonly trigger: RunTrigger
    readonly scheduledFor?: Date
    /** Version of the pipeline. Without it, a worker with any version of the pipeline may claim the run. */
    readonly definition?: string
    readonly rerunOf?: number
    readonly options?: RunOptions
  },
): Promise<number | undefined> {
  const rows = await db.query<Row<'run', 'id'>>(
    `insert into run (pipeline, destination_id, trigger, status, scheduled_for, rerun_of, options, definition)
     values ($1, $2, $3, 'queued', $4, $5, $6, $7) on conflict (destination_id, pipeline, scheduled_for) do nothing returning id`,
    [
      request.pipeline,
      request.destinationId,
      request.trigger,
      request.scheduledFor ?? null,
      request.rerunOf ?? null,
      JSON.stringify(request.options ?? {}),
      request.definition ?? null,
    ],
  )
  if (rows[0] === undefined) return undefined
  await notify(db, 'run')
  return Number(rows[0].id)
}

/**
 * Adds the options of a request that joins a queued run. The run becomes a full refresh if one of the requests is a full refresh, and uses
 * the higher limit of approved deletes. `options` must not contain `full: false`. Does nothing if the run is no longer queued.
 */
export async function widenRun(db: Queryable, runId: number, options: RunOptions): Promise<void> {
  await db.execute(
    `update run set options = options || $2::jsonb || case when options ? 'approveDeletes' and $3::bigint is not null
       then jsonb_build_object('approveDeletes', greatest((options ->> 'approveDeletes')::bigint, $3)) else '{}' end
     where id = $1 and status = 'queued'`,
    [runId, JSON.stringify(options), options.approveDeletes ?? null],
  )
}

/**
 * Gives queued runs of schedules the current version of their pipeline, if its file was edited after the tick. Leaves out runs that
 * were requested within the last 5 s.
 */
export async function updateQueuedDefinitions(
  db: Queryable,
  fence: Fence,
  pipelines: readonly { readonly destinationId: number; readonly name: string; readonly version: string }[],
): Promise<void> {
  await db.execute(
    `update run q set definition = d.version from unnest($1::int[], $2::text[], $3::text[]) as d (destination_id, pipeline, version)
     where q.status = 'queued' and q.trigger = 'schedule' and (q.destination_id, q.pipeline) = (d.destination_id, d.pipeline)
       and q.definition <> d.version and q.created_at < statement_timestamp() - interval '5 seconds' and ${withinFence('q.destination_id', '$4', '$5')}`,
    [
      pipelines.map(({ destinationId }) => destinationId),
      pipelines.map(({ name }) => name),
      pipelines.map(({ version }) => version),
      fence.origin,
      fence.credentials,
    ],
  )
}

/**
 * Skips queued runs that no worker claimed for `waitedMs` milliseconds, because no worker has the requested version of their pipeline.
 * Leaves out runs whose destination was locked within the last `waitedMs` (at most a minute), runs of paused pipelines, plans and applies.
 * Returns the numbers of the skipped runs.
 */
export async function skipUnclaimedRuns(db: Queryable, fence: Fence, waitedMs: number): Promise<readonly number[]> {
  const rows = await db.query<Row<'run', 'id'>>(
    `update run q set status = 'skipped', started_at = created_at, finished_at = statement_timestamp(),
       error = jsonb_build_object('code', 'RUN_UNCLAIMED', 'where', pipeline,
         'message', 'no running worker has the requested version of ' || pipeline || '. Nothing was sent.',
         'hint', 'start or update a worker; or sluice run ' || pipeline || ', which runs the current version')
     where q.status = 'queued' and q.trigger not in ('plan', 'apply') and q.created_at < statement_timestamp() - $1 * interval '1 millisecond'
       and ${withinFence('q.destination_id', '$2', '$3')} and not ${isPaused('q')}
       and not exists (select from run r where r.destination_id = q.destination_id
         and (r.status = 'running' or r.finished_at > statement_timestamp() - least($1, 60000) * interval '1 millisecond'))
     returning q.id`,
    [waitedMs, fence.origin, fence.credentials],
  )
  return rows.map(({ id }) => Number(id))
}

/** Worker that claims a run, with its lease and its environment. */
export interface RunClaim {
  readonly workerId: string
  readonly leaseMs: number
  readonly fence: Fence
  /** Destination and version of the pipeline that the worker has. Undefined if the caller requested the run itself. */
  readonly pipeline?: DestinationKey & { readonly version: string }
}

/**
 * Claims a queued run. Returns `busy` if another run has locked the destination, and `not_claimable` if the run is not queued any more, or
 * belongs to another environment. With `claim.pipeline`, also returns `not_claimable` for a run of another destination or version; a run
 * without a version matches any version.
 */
export async function claimRun(db: Database, runId: number, claim: RunClaim): Promise<RunRow | 'busy' | 'not_claimable'> {
  try {
    return await db.transaction((tx) => claimInTransaction(tx, runId, claim))
  } catch (error) {
    if (errorCode(error) === uniqueViolation) return 'busy'
    throw error
  }
}

/** SQLSTATE `unique_violation`. */
const uniqueViolation = '23505'

async function claimInTransaction(
  tx: Queryable,
  runId: number,
  { fence, pipeline, ...claim }: RunClaim,
): Promise<RunRow | 'not_claimable'> {
  const [queued] = await tx.query<Present<Row<'run', 'destination_id'>>>(
    `select r.destination_id from run r join destination d on d.id = r.destination_id
     where r.id = $1 and r.status = 'queued' and coalesce(r.definition = $2, true) and d.service = $3
       and ($2::text is null or (d.kind, d.account_id, d.target_id) = ($4, $5, $6))`,
    [runId, pipeline?.version ?? null, fence.origin, pipeline?.kind ?? null, pipeline?.accountId ?? null, pipeline?.targetId ?? null],
  )
  if (queued === undefined) return 'not_claimable'
  await adoptDestination(tx, queued.destination_id, fence)
  const [row] = await tx.query<
    Row<'run', 'id' | 'pipeline' | 'epoch' | 'rerun_of' | 'trigger' | 'options'> & Present<Row<'run', 'destination_id' | 'started_at'>>
  >(
    // `for key share` waits for a takeover, and for a plan that has locked the row, but not for answers, which only update the row.
    `with own as (select id from destination where id = $4 and service = $5 and credentials = $6 for key share)
     update run set status = 'running', worker_id = $2, epoch = epoch + 1, started_at = statement_timestamp(),
       lease_until = statement_timestamp() + $3 * interval '1 millisecond'
     where id = $1 and status = 'queued' and coalesce(definition = $7, true) and destination_id in (select id from own)
     returning id, pipeline, destination_id, trigger, options, epoch, rerun_of, started_at`,
    [runId, claim.workerId, claim.leaseMs, queued.destination_id, fence.origin, fence.credentials, pipeline?.version ?? null],
  )
  if (row === undefined) return 'not_claimable'
  return {
    id: Number(row.id),
    pipeline: row.pipeline,
    destinationId: row.destination_id,
    trigger: row.trigger,
    options: readOptions(row.options),
    epoch: row.epoch,
    rerunOf: row.rerun_of === null ? null : Number(row.rerun_of),
    startedAtMs: row.started_at.getTime(),
  }
}

/** Renews the lease. Returns false if another process has ended the run, or if it must be cancelled. Then the caller must stop the run. */
export async function heartbeatRun(db: Queryable, run: LeasedRun, leaseMs: number): Promise<boolean> {
  const rows = await db.query<{ cancelled: boolean }>(
    `update run set lease_until = statement_timestamp() + $3 * interval '1 millisecond'
     where id = $1 and epoch = $2 and status = 'running' returning cancel_requested_at is not null as cancelled`,
    [run.id, run.epoch, leaseMs],
  )
  return rows.length === 1 && rows[0]?.cancelled === false
}

/** Result of a cancellation. */
export type Cancellation =
  /** The run had not started, and will not start. */
  | 'cancelled'
  /** The run stops within seconds, in any process. */
  | 'stopping'
  /** The run had already ended. */
  | 'ended'

/**
 * Cancels a run, in any process. If the run is running and may send, pauses its destination, so that no worker that shares the push starts
 * another request. The next run ends this pause. Returns undefined if there is no such run. `error`: error to store with a queued run.
 */
export async function cancelRun(
  db: Database,
  runId: number,
  error: object,
  by: { readonly actor: string; readonly reason?: string },
): Promise<Cancellation | undefined> {
  return db.transaction(async (tx) => {
    const [run] = await tx.query<Row<'run', 'status' | 'trigger' | 'destination_id' | 'pipeline'>>(
      'select status, trigger, destination_id, pipeline from run where id = $1 for update',
      [runId],
    )
    if (run === undefined) return undefined
    if (run.status === 'queued' || run.status === 'running') {
      const detail = by.reason === undefined ? {} : { reason: by.reason }
      await logAction(tx, { actor: by.actor, what: 'run.cancelled', pipeline: run.pipeline, runId, detail })
    }
    if (run.status === 'queued') {
      await tx.execute(
        `update run set status = 'cancelled', started_at = created_at, finished_at = statement_timestamp(), error = $2 where id = $1`,
        [runId, json(error)],
      )
      return 'cancelled'
    }
    if (run.status !== 'running') return 'ended'
    await tx.execute('update run set cancel_requested_at = coalesce(cancel_requested_at, statement_timestamp()) where id = $1', [runId])
    if (run.trigger !== 'plan' && run.destination_id !== null)
      await pauseDestination(tx, run.destination_id, { code: 'RUN_CANCELLED', text: 'the run was cancelled by an operator' }, by.actor)
    return 'stopping'
  })
}

/** Returns true if an operator cancelled this run. */
export async function isCancelRequested(db: Queryable, run: Pick<RunRow, 'id' | 'epoch'>): Promise<boolean> {
  const rows = await db.query('select from run where id = $1 and epoch = $2 and cancel_requested_at is not null', [run.id, run.epoch])
  return rows.length > 0
}

/**
 * Ends the running runs of this environment whose lease has expired or whose worker has ended, with the status `failed`. Also ends plans
 * and applies that were queued for more than 30 s: only the process that requested them claims them, and it claims them immediately.
 * Returns the numbers of the ended runs. `endedWorkerIds`: ids of workers that have ended.
 */
export async function recoverRuns(db: Queryable, endedWorkerIds: readonly string[], fence: Fence): Promise<number[]> {
  const rows = await db.query<Row<'run', 'id'>>(
    `update run set status = 'failed', finished_at = statement_timestamp(), lease_until = null, progress = null,
       error = jsonb_build_object('code', 'RUN_INTERRUPTED', 'message', 'the process of this run died unexpectedly; what was confirmed is kept',
         'where', null, 'hint', 'sluice run ' || pipeline)
     where ((status = 'running' and (${isExpired('lease_until')} or worker_id = any($1)))
       -- No other process executes queued plans and applies (findQueuedRuns), and while they are queued they block every tick.
       or (status = 'queued' and trigger in ('plan', 'apply') and created_at < statement_timestamp() - interval '30 seconds'))
       and ${withinFence('run.destination_id', '$2', '$3')} returning id`,
    [endedWorkerIds, fence.origin, fence.credentials],
  )
  return rows.map(({ id }) => Number(id))
}

/** Run under a lease. Every write under the lease checks the epoch, so that a process that lost the run cannot write. */
export type LeasedRun = Pick<RunRow, 'id' | 'epoch'>

/** Stores the given fields of a run. Undefined fields keep their values. */
export async function updateRun(
  db: Queryable,
  run: LeasedRun,
  fields: {
    readonly counts?: object
    readonly guards?: readonly object[]
    readonly snapshotId?: number
    /** Header of the source. */
    readonly columns?: readonly string[]
    readonly warnings?: readonly object[]
    readonly productSets?: readonly object[]
  },
): Promise<void> {
  await db.execute(
    `update run set counts = coalesce($3, counts), guards = coalesce($4, guards), snapshot_id = coalesce($5, snapshot_id),
       columns = coalesce($6, columns), warnings = coalesce($7, warnings), product_sets = coalesce($8, product_sets)
     where id = $1 and epoch = $2`,
    [
      run.id,
      run.epoch,
      json(fields.counts),
      json(fields.guards),
      fields.snapshotId ?? null,
      json(fields.columns),
      json(fields.warnings),
      json(fields.productSets),
    ],
  )
}

/** Adds warnings before (`first`) or after (`last`) the stored warnings of the run. */
export async function addWarnings(db: Queryable, run: LeasedRun, warnings: readonly object[], place: 'first' | 'last'): Promise<void> {
  await db.execute(
    `update run set warnings = case when $4 then $3::jsonb || warnings else warnings || $3::jsonb end where id = $1 and epoch = $2`,
    [run.id, run.epoch, JSON.stringify(warnings), place === 'first'],
  )
}

/** Adds a stage that has ended, with its start (ISO time) and duration. */
export async function addStage(
  db: Queryable,
  run: LeasedRun,
  stage: { readonly stage: string; readonly startedAt: string; readonly durationMs: number },
): Promise<void> {
  await db.execute('update run set stages = stages || $3::jsonb where id = $1 and epoch = $2', [run.id, run.epoch, JSON.stringify([stage])])
}

/** Stores the progress of the running stage. */
export async function storeProgress(db: Queryable, run: LeasedRun, progress: object): Promise<void> {
  await db.execute(`update run set progress = $3 where id = $1 and epoch = $2 and status = 'running'`, [
    run.id,
    run.epoch,
    JSON.stringify(progress),
  ])
}

/**
 * Stores the plan of the run with its snapshot, counts and guards. All operations count as pending. Must be called in the transaction that
 * stores or starts the plan, so that the counts add up even if the process dies after the commit. Returns false if another process has
 * ended the run.
 */
export async function attachPlan(
  tx: Queryable,
  run: LeasedRun,
  { planId, snapshotId }: { readonly planId: string; readonly snapshotId: number | string | null },
): Promise<boolean> {
  const attached = await tx.execute(
    `update run r set plan_id = p.id, snapshot_id = $4, guards = p.guards, counts = $5::jsonb || p.counts || jsonb_build_object('pending',
       (p.counts ->> 'creates')::int + (p.counts ->> 'updates')::int + (p.counts ->> 'deletes')::int + (p.counts ->> 'renewals')::int)
     from plan p where r.id = $1 and r.epoch = $2 and r.status = 'running' and p.id = $3`,
    [run.id, run.epoch, planId, snapshotId, JSON.stringify(noCounts)],
  )
  return attached === 1
}

/** Updates the counts of an ended run, because a later run settled its batches. */
export async function updateCounts(db: Queryable, runId: number, counts: object): Promise<void> {
  await db.execute('update run set counts = counts || $2::jsonb where id = $1', [runId, JSON.stringify(counts)])
}

/** Replaces the text `shown` (the first digits of an erased digest) by `erased` in the guards of the runs of a destination. */
export async function eraseInRuns(tx: Queryable, destinationId: number, shown: string): Promise<void> {
  await tx.execute(
    `update run set guards = replace(guards::text, $2, 'erased')::jsonb where destination_id = $1 and position($2 in guards::text) > 0`,
    [destinationId, shown],
  )
}

/**
 * Deletes runs that ended more than `days` days ago, except runs with a plan or a snapshot, and the last run of each pipeline. Returns
 * the numbers of the deleted runs.
 */
export async function deleteRuns(tx: Queryable, days: number): Promise<readonly number[]> {
  const rows = await tx.query<Row<'run', 'id'>>(
    `delete from run r
     where r.finished_at < statement_timestamp() - $1 * interval '1 day' and not exists (select from plan p where p.run_id = r.id)
       and not exists (select from plan p where p.id = r.plan_id)
       and not exists (select from snapshot s where s.run_id = r.id)
       and r.id not in (select max(id) from run group by pipeline)
     returning id`,
    [days],
  )
  return rows.map(({ id }) => Number(id))
}

/**
 * Ends a run, which unlocks its destination. Adds `counts` to the stored counts. Counts that were never stored become 0. If `guards` is
 * empty, the stored guards stay. Does nothing if another process has ended the run.
 */
export async function finishRun(
  db: Queryable,
  run: RunRow,
  end: { readonly status: string; readonly guards: readonly object[]; readonly counts: object; readonly error: object | null },
): Promise<void> {
  await db.execute(
    `update run set status = $3, guards = coalesce(nullif($4::jsonb, '[]'), guards), counts = $7::jsonb || counts || $5::jsonb, error = $6, progress = null, lease_until = null, finished_at = statement_timestamp()
     where id = $1 and epoch = $2 and status = 'running'`,
    [run.id, run.epoch, end.status, json(end.guards), JSON.stringify(end.counts), json(end.error), JSON.stringify(noCounts)],
  )
}

/** Ends a queued run as skipped, because it must not start. `error`: the reason. Does nothing if the run is no longer queued. */
export async function skipRun(db: Queryable, runId: number, error: object): Promise<void> {
  await db.execute(
    `update run set status = 'skipped', started_at = created_at, finished_at = statement_timestamp(), error = $2 where id = $1 and status = 'queued'`,
    [runId, json(error)],
  )
}

/** Returns the value as JSON; null for null and undefined. */
function json(value: object | null | undefined): string | null {
  return value == null ? null : JSON.stringify(value)
}
