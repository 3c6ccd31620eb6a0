/** Ends runs: finished, skipped, cancelled; and deletes old ones. */
import { logAction } from '../auditLog.ts'
import type { Database } from '../database.ts'
import { hasRows, type Queryable } from '../queryable.ts'
import { pauseDestination } from '../destinations.ts'
import { jsonOrNull } from '../jsonColumn.ts'
import type { DbRow } from '../row.ts'
import { noCounts } from '../../model/report.ts'
import type { ClaimedRun } from './claim.ts'

export type Cancellation =
  /** The run had not started, and will not start. */
  | 'cancelled'
  /** The run stops within seconds, in any process. */
  | 'stopping'
  /** The run had already ended. */
  | 'ended'

/**
 * Cancels a run, in any process. If the run is running and may send, pauses its destination. Then workers that share the push start no
 * further request. The next run ends this pause. Returns undefined if there is no such run. `error`: error to store with a queued run.
 *
 * The pause has its own transaction, because it waits for the lock of the destination. While the run plans, it has this lock, and stops only
 * after the request to cancel is committed.
 */
export async function cancelRun(
  db: Database,
  runId: number,
  error: object,
  by: { readonly actor: string; readonly reason?: string },
): Promise<Cancellation | undefined> {
  const requested = await db.transaction(async (tx) => {
    const [run] = await tx.query<DbRow<'run', 'status' | 'trigger' | 'destination_id' | 'pipeline'>>(
      'select status, trigger, destination_id, pipeline from run where id = $1 for update',
      [runId],
    )
    if (run?.status === 'queued' || run?.status === 'running') {
      const detail = by.reason === undefined ? {} : { reason: by.reason }
      await logAction(tx, { actor: by.actor, what: 'run.cancelled', pipeline: run.pipeline, runId, detail })
    }
    if (run?.status === 'queued')
      await tx.execute(
        `update run set status = 'cancelled', started_at = created_at, finished_at = statement_timestamp(), error = $2 where id = $1`,
        [runId, jsonOrNull(error)],
      )
    if (run?.status === 'running')
      await tx.execute('update run set cancel_requested_at = coalesce(cancel_requested_at, statement_timestamp()) where id = $1', [runId])
    return run
  })
  if (requested === undefined) return undefined
  if (requested.status === 'queued') return 'cancelled'
  if (requested.status !== 'running') return 'ended'
  if (requested.trigger !== 'plan' && requested.destination_id !== null)
    await pauseWhileRunning(db, runId, requested.destination_id, by.actor)
  return 'stopping'
}

/** Pauses the destination of a cancelled run, unless the run has ended. */
async function pauseWhileRunning(db: Database, runId: number, destinationId: number, actor: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('select from destination where id = $1 for no key update', [destinationId])
    if (!(await hasRows(tx, `select from run where id = $1 and status = 'running'`, [runId]))) return
    await pauseDestination(tx, destinationId, { code: 'RUN_CANCELLED', text: 'the run was cancelled by an operator' }, actor)
  })
}

/** Returns true if an operator cancelled this run. */
export async function isCancelRequested(db: Queryable, run: Pick<ClaimedRun, 'id' | 'epoch'>): Promise<boolean> {
  return hasRows(db, 'select from run where id = $1 and epoch = $2 and cancel_requested_at is not null', [run.id, run.epoch])
}

/**
 * Deletes runs that ended more than `days` days ago. Keeps runs with a plan or a snapshot, and the last run of each pipeline at each
 * destination. Returns the ids of the deleted runs.
 */
export async function deleteRuns(tx: Queryable, days: number): Promise<readonly number[]> {
  const rows = await tx.query<DbRow<'run', 'id'>>(
    `delete from run r
     where r.finished_at < statement_timestamp() - $1 * interval '1 day' and not exists (select from plan p where p.run_id = r.id)
       and not exists (select from plan p where p.id = r.plan_id)
       and not exists (select from snapshot s where s.run_id = r.id)
       and r.id not in (select max(id) from run group by destination_id, pipeline)
     returning id`,
    [days],
  )
  return rows.map(({ id }) => Number(id))
}

/**
 * Ends a run, which unlocks its destination. `counts` replace the stored counts of the same names. Counts without a value become 0. If
 * `guards` is empty, the stored guards stay. Does nothing if another process has ended the run.
 */
export async function finishRun(
  db: Queryable,
  run: ClaimedRun,
  end: { readonly status: string; readonly guards: readonly object[]; readonly counts: object; readonly error: object | null },
): Promise<void> {
  await db.execute(
    `update run set status = $3, guards = coalesce(nullif($4::jsonb, '[]'), guards), counts = $7::jsonb || counts || $5::jsonb, error = $6, progress = null, lease_until = null, finished_at = statement_timestamp()
     where id = $1 and epoch = $2 and status = 'running'`,
    [run.id, run.epoch, end.status, jsonOrNull(end.guards), JSON.stringify(end.counts), jsonOrNull(end.error), JSON.stringify(noCounts)],
  )
}

/** Ends a queued run as skipped, because it must not start. `error`: the reason. Does nothing if the run is no longer queued. */
export async function skipRun(db: Queryable, runId: number, error: object): Promise<void> {
  await db.execute(
    `update run set status = 'skipped', started_at = created_at, finished_at = statement_timestamp(), error = $2 where id = $1 and status = 'queued'`,
    [runId, jsonOrNull(error)],
  )
}
