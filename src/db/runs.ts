/** The `run` table: who runs what, with a lease. One running run for a destination, by a unique index. */
import { pauseDestination } from './batches.ts'
import { noteAction } from './audit.ts'
import type { Database, Queryable } from './database.ts'
import type { DestinationKey } from './destinations.ts'
import { withinFence, type Fence } from './fence.ts'
import type { RunTrigger } from '../model/report.ts'

/** Options of a run, stored with it so that any process can execute it. */
export interface RunOptions {
  /** Send everything again, not only what changed. */
  readonly full?: boolean
  /** Ceiling of deletes that a person approved. */
  readonly approveDeletes?: number
  /** One-off source of a backfill instead of the pipeline's own. */
  readonly source?: string
  /** `rerun --failed`: only what that run left failed. */
  readonly failedOnly?: boolean
  /** An audit: it reads the catalog back, and with `repair` plans what it found. Stored as a `plan`: an older worker leaves it alone. */
  readonly audit?: 'report' | 'repair'
  readonly planId?: string
  /** Requested over HTTP or from the dashboard: the first worker that is free takes it. */
  readonly anyWorker?: true
}

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

/** Reads something else than the pipeline's own source: a backfill, or the rerun of one. Absence in it means nothing. */
export function readsOneOff(run: Pick<RunRow, 'trigger' | 'options'>): boolean {
  return run.trigger === 'backfill' || run.options.source !== undefined
}

/** Puts a run into the queue. Undefined when this tick has its run already (docs/guarantees.md#one-run-per-tick). */
export async function requestRun(
  db: Queryable,
  request: {
    readonly pipeline: string
    readonly destinationId: number
    readonly trigger: RunTrigger
    readonly scheduledFor?: Date
    /** Version of the pipeline; without it any worker that has one of this name may take the run. */
    readonly definition?: string
    readonly rerunOf?: number
    readonly options?: RunOptions
  },
): Promise<number | undefined> {
  const rows = await db.query<{ id: string }>(
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
  return rows[0] ? Number(rows[0].id) : undefined
}

export interface RunClaim {
  readonly workerId: string
  readonly leaseMs: number
  readonly fence: Fence
  /** Pipeline version that the worker has; without it the caller requested the run itself. */
  readonly pipeline?: DestinationKey & { readonly version: string }
}

/**
 * Takes a queued run: it is ours when a row comes back. `busy`: another run has locked the destination. `gone`: it is queued
 * no longer, or belongs to another environment, or to another version of its pipeline.
 */
export async function claimRun(db: Database, runId: number, claim: RunClaim): Promise<RunRow | 'busy' | 'gone'> {
  const { fence, pipeline } = claim
  const matches = `service = $4 and ($6::text is null or (kind, account_id, target_id) = ($7, $8, $9))`
  try {
    const [row] = await db.query<{
      id: string
      pipeline: string
      destination_id: number
      trigger: RunTrigger
      options: RunOptions
      epoch: number
      rerun_of: string | null
      started_at: Date
    }>(
      // Locked against a takeover only: the plan of a run that is under way updates the same row.
      `with asked as (select destination_id from run where id = $1 and status = 'queued' and coalesce(definition = $6, true)),
       own as (select id from destination where id = (select destination_id from asked) and ${matches} and credentials = $5 for key share),
       adopted as (
         update destination set credentials = $5
         where id = (select destination_id from asked) and ${matches} and credentials is null returning id)
       update run set status = 'running', worker_id = $2, epoch = epoch + 1, started_at = statement_timestamp(),
         lease_until = statement_timestamp() + $3 * interval '1 millisecond'
       where id = $1 and status = 'queued' and destination_id in (select id from own union all select id from adopted)
       returning id, pipeline, destination_id, trigger, options, epoch, rerun_of, started_at`,
      [
        runId,
        claim.workerId,
        claim.leaseMs,
        fence.origin,
        fence.credentials,
        pipeline?.version ?? null,
        pipeline?.kind ?? null,
        pipeline?.accountId ?? null,
        pipeline?.targetId ?? null,
      ],
    )
    if (!row) return 'gone'
    return {
      id: Number(row.id),
      pipeline: row.pipeline,
      destinationId: row.destination_id,
      trigger: row.trigger,
      options: row.options,
      epoch: row.epoch,
      rerunOf: row.rerun_of === null ? null : Number(row.rerun_of),
      startedAtMs: row.started_at.getTime(),
    }
  } catch (error) {
    if ((error as { code?: unknown }).code === '23505') return 'busy'
    throw error
  }
}

/** Renews the lease. Returns false if this process lost the run (recovered, cancelled): stop, and write nothing more for it. */
export async function heartbeatRun(db: Queryable, run: RunRow, leaseMs: number): Promise<boolean> {
  const rows = await db.query<{ cancelled: boolean }>(
    `update run set lease_until = statement_timestamp() + $3 * interval '1 millisecond'
     where id = $1 and epoch = $2 and status = 'running' returning cancel_requested_at is not null as cancelled`,
    [run.id, run.epoch, leaseMs],
  )
  return rows.length === 1 && rows[0]?.cancelled === false
}

export type Cancellation =
  /** It had not begun, and will not. */
  | 'cancelled'
  /** The run sees this within seconds, in any process. */
  | 'stopping'
  /** It had ended before. */
  | 'ended'

/**
 * Cancels a run, in any process. Its destination pauses, so that no worker that shares the push begins another
 * request; the next run continues from there. Undefined: there is no such run.
 */
export async function cancelRun(
  db: Database,
  runId: number,
  error: unknown,
  by: { readonly actor: string; readonly reason?: string },
): Promise<Cancellation | undefined> {
  return db.transaction(async (tx) => {
    const [run] = await tx.query<{ status: string; trigger: RunTrigger; destination_id: number | null; pipeline: string }>(
      'select status, trigger, destination_id, pipeline from run where id = $1 for update',
      [runId],
    )
    if (run === undefined) return undefined
    if (run.status === 'queued' || run.status === 'running') {
      const detail = by.reason === undefined ? {} : { reason: by.reason }
      await noteAction(tx, { actor: by.actor, what: 'run.cancelled', pipeline: run.pipeline, runId, detail })
    }
    if (run.status === 'queued') {
      await tx.execute(
        `update run set status = 'cancelled', started_at = created_at, finished_at = statement_timestamp(), error = $2 where id = $1`,
        [runId, asParameter(error)],
      )
      return 'cancelled'
    }
    if (run.status !== 'running') return 'ended'
    await tx.execute('update run set cancel_requested_at = coalesce(cancel_requested_at, statement_timestamp()) where id = $1', [runId])
    if (run.trigger !== 'plan' && run.destination_id !== null)
      await pauseDestination(tx, run.destination_id, 'RUN_CANCELLED: the run was cancelled by an operator')
    return 'stopping'
  })
}

/** Returns true if an operator cancelled this run. */
export async function isCancelRequested(db: Queryable, run: Pick<RunRow, 'id' | 'epoch'>): Promise<boolean> {
  const rows = await db.query('select from run where id = $1 and epoch = $2 and cancel_requested_at is not null', [run.id, run.epoch])
  return rows.length > 0
}

/**
 * Runs of this environment that say `running` and whose holder's lease is over or whose holder is dead, and plans and applies whose
 * process died before it took them: ended as failed, to be run again. The environment that ran them reports it.
 */
export async function recoverRuns(db: Database, deadWorkers: readonly string[], fence: Fence): Promise<number[]> {
  const rows = await db.query<{ id: string }>(
    `update run set status = 'failed', finished_at = statement_timestamp(), lease_until = null, progress = null,
       error = jsonb_build_object('code', 'RUN_INTERRUPTED', 'message', 'the process of this run died unexpectedly; what was confirmed is kept',
         'where', null, 'hint', 'sluice run ' || pipeline)
     where ((status = 'running' and (lease_until < statement_timestamp() or worker_id = any($1)))
       -- No other process executes these (findQueuedRuns), and queued they would block every tick.
       or (status = 'queued' and trigger in ('plan', 'apply') and created_at < statement_timestamp() - interval '30 seconds'))
       and ${withinFence('run.destination_id', '$2', '$3')} returning id`,
    [deadWorkers, fence.origin, fence.credentials],
  )
  return rows.map(({ id }) => Number(id))
}

/** Writes how the run stands; fenced by its epoch. */
export async function updateRun(db: Queryable, run: RunRow, fields: Readonly<Record<string, unknown>>): Promise<void> {
  const names = Object.keys(fields)
  const assignments = names.map((name, i) => `${name} = $${i + 3}`)
  await db.execute(`update run set ${assignments.join(', ')} where id = $1 and epoch = $2`, [
    run.id,
    run.epoch,
    ...names.map((name) => asParameter(fields[name])),
  ])
}

/** Writes a run's final counts and unlocks its destination; fenced by its epoch. */
export async function finishRun(
  db: Queryable,
  run: RunRow,
  end: { readonly status: string; readonly guards: unknown; readonly counts: unknown; readonly error: unknown },
): Promise<void> {
  await db.execute(
    `update run set status = $3, guards = $4, counts = $5, error = $6, progress = null, lease_until = null, finished_at = statement_timestamp()
     where id = $1 and epoch = $2 and status = 'running'`,
    [run.id, run.epoch, end.status, asParameter(end.guards), asParameter(end.counts), asParameter(end.error)],
  )
}

/** Ends a run that never began: its destination was held. The receipt stays (experience: a skip is no failure). */
export async function skipRun(db: Queryable, runId: number, error: unknown): Promise<void> {
  await db.execute(
    `update run set status = 'skipped', started_at = created_at, finished_at = statement_timestamp(), error = $2 where id = $1 and status = 'queued'`,
    [runId, asParameter(error)],
  )
}

function asParameter(value: unknown): unknown {
  return value !== null && typeof value === 'object' && !(value instanceof Date) ? JSON.stringify(value) : value
}
