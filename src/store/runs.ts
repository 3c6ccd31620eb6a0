/** The `run` table: who runs what, with a lease. One running run for a destination, by a unique index. */
import { pauseDestination } from './batches.ts'
import type { Database, Queryable } from './database.ts'
import type { RunTrigger } from '../sync/report.ts'

/** What a run was asked to do; stored with it, so that any process may carry it out. */
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

export interface DestinationRow {
  readonly id: number
  readonly stateVersion: number
}

/** The row of a catalog, audience or list of one service; made at the first sight of it. */
export async function ensureDestination(
  db: Queryable,
  identity: { readonly service: string; readonly kind: string; readonly accountId: string; readonly targetId: string },
): Promise<DestinationRow> {
  const values = [identity.service, identity.kind, identity.accountId, identity.targetId]
  await db.execute(
    `insert into sluice.destination (service, kind, account_id, target_id) values ($1, $2, $3, $4) on conflict do nothing`,
    values,
  )
  const [row] = await db.query<{ id: number; state_version: string }>(
    `select id, state_version from sluice.destination where service = $1 and kind = $2 and account_id = $3 and target_id = $4`,
    values,
  )
  if (!row) throw new Error('the destination was just made')
  return { id: row.id, stateVersion: Number(row.state_version) }
}

/** Puts a run into the queue. Undefined when this tick has its run already (I21). */
export async function requestRun(
  db: Queryable,
  request: {
    readonly pipeline: string
    readonly destinationId: number
    readonly trigger: RunTrigger
    readonly scheduledFor?: Date
    readonly rerunOf?: number
    readonly options?: RunOptions
  },
): Promise<number | undefined> {
  const rows = await db.query<{ id: string }>(
    `insert into sluice.run (pipeline, destination_id, trigger, status, scheduled_for, rerun_of, options)
     values ($1, $2, $3, 'queued', $4, $5, $6) on conflict (pipeline, scheduled_for) do nothing returning id`,
    [
      request.pipeline,
      request.destinationId,
      request.trigger,
      request.scheduledFor ?? null,
      request.rerunOf ?? null,
      JSON.stringify(request.options ?? {}),
    ],
  )
  return rows[0] ? Number(rows[0].id) : undefined
}

/** Takes a queued run: it is ours when a row comes back. `busy`: another run holds the destination. */
export async function claimRun(db: Database, runId: number, workerId: string, leaseMs: number): Promise<RunRow | 'busy' | 'gone'> {
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
      `update sluice.run set status = 'running', worker_id = $2, epoch = epoch + 1, started_at = clock_timestamp(),
         lease_until = clock_timestamp() + $3 * interval '1 millisecond'
       where id = $1 and status = 'queued'
       returning id, pipeline, destination_id, trigger, options, epoch, rerun_of, started_at`,
      [runId, workerId, leaseMs],
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

/** Lengthens the lease. False: the run was taken from us (rescued, cancelled): stop, and write nothing more for it. */
export async function heartbeatRun(db: Queryable, run: RunRow, leaseMs: number): Promise<boolean> {
  const rows = await db.query<{ cancelled: boolean }>(
    `update sluice.run set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
     where id = $1 and epoch = $2 and status = 'running' returning cancel_requested_at is not null as cancelled`,
    [run.id, run.epoch, leaseMs],
  )
  return rows.length === 1 && rows[0]?.cancelled === false
}

export type Cancellation =
  /** It had not begun, and will not. */
  | 'cancelled'
  /** It is told so within seconds, wherever it runs. */
  | 'stopping'
  /** It had ended before. */
  | 'ended'

/**
 * Asks a run to stop, whoever carries it out. Its destination pauses, so that nobody who shares the push begins another
 * request; the next run goes on from there. Undefined: there is no such run.
 */
export async function cancelRun(db: Database, runId: number, error: unknown): Promise<Cancellation | undefined> {
  return db.transaction(async (tx) => {
    const [run] = await tx.query<{ status: string; trigger: RunTrigger; destination_id: number | null }>(
      'select status, trigger, destination_id from sluice.run where id = $1 for update',
      [runId],
    )
    if (run === undefined) return undefined
    if (run.status === 'queued') {
      await tx.execute(
        `update sluice.run set status = 'cancelled', started_at = created_at, finished_at = clock_timestamp(), error = $2 where id = $1`,
        [runId, asParameter(error)],
      )
      return 'cancelled'
    }
    if (run.status !== 'running') return 'ended'
    await tx.execute('update sluice.run set cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp()) where id = $1', [runId])
    if (run.trigger !== 'plan' && run.destination_id !== null)
      await pauseDestination(tx, run.destination_id, 'RUN_CANCELLED: somebody cancelled the run')
    return 'stopping'
  })
}

/** Whether somebody asked this run to stop. */
export async function isCancelRequested(db: Queryable, run: Pick<RunRow, 'id' | 'epoch'>): Promise<boolean> {
  const rows = await db.query('select from sluice.run where id = $1 and epoch = $2 and cancel_requested_at is not null', [
    run.id,
    run.epoch,
  ])
  return rows.length > 0
}

/**
 * Runs that say `running` and whose holder's lease is over or whose holder is dead, and plans and applies whose process died
 * before it took them: ended as failed, to be run again.
 */
export async function rescueRuns(db: Database, deadWorkers: readonly string[]): Promise<number[]> {
  const rows = await db.query<{ id: string }>(
    `update sluice.run set status = 'failed', finished_at = clock_timestamp(), lease_until = null,
       error = jsonb_build_object('code', 'RUN_INTERRUPTED', 'message', 'the process that ran it ended without a word; what was confirmed is kept',
         'where', null, 'mend', 'sluice run ' || pipeline)
     where (status = 'running' and (lease_until < clock_timestamp() or worker_id = any($1)))
       -- Nobody else carries these out (findQueuedRuns), and queued they would hold up every tick.
       or (status = 'queued' and trigger in ('plan', 'apply') and created_at < clock_timestamp() - interval '30 seconds') returning id`,
    [deadWorkers],
  )
  return rows.map(({ id }) => Number(id))
}

/** Writes how the run stands; fenced by its epoch. */
export async function updateRun(db: Queryable, run: RunRow, fields: Readonly<Record<string, unknown>>): Promise<void> {
  const names = Object.keys(fields)
  const assignments = names.map((name, i) => `${name} = $${i + 3}`)
  await db.execute(`update sluice.run set ${assignments.join(', ')} where id = $1 and epoch = $2`, [
    run.id,
    run.epoch,
    ...names.map((name) => asParameter(fields[name])),
  ])
}

/** Closes a run's books and frees its destination; fenced by its epoch. */
export async function finishRun(
  db: Queryable,
  run: RunRow,
  end: { readonly status: string; readonly guards: unknown; readonly counts: unknown; readonly error: unknown },
): Promise<void> {
  await db.execute(
    `update sluice.run set status = $3, guards = $4, counts = $5, error = $6, lease_until = null, finished_at = clock_timestamp()
     where id = $1 and epoch = $2 and status = 'running'`,
    [run.id, run.epoch, end.status, asParameter(end.guards), asParameter(end.counts), asParameter(end.error)],
  )
}

/** Ends a run that never began: its destination was held. The receipt stays (experience: a skip is no failure). */
export async function skipRun(db: Queryable, runId: number, error: unknown): Promise<void> {
  await db.execute(
    `update sluice.run set status = 'skipped', started_at = created_at, finished_at = clock_timestamp(), error = $2 where id = $1 and status = 'queued'`,
    [runId, asParameter(error)],
  )
}

function asParameter(value: unknown): unknown {
  return value !== null && typeof value === 'object' && !(value instanceof Date) ? JSON.stringify(value) : value
}
