/** Queues runs. */
import type { Queryable } from '../database.ts'
import { withinFence, type Fence } from '../fence.ts'
import { notify } from '../notifications.ts'
import type { DbRow } from '../row.ts'
import type { RunOptions } from './columns.ts'
import type { RunTrigger } from '../../model/report.ts'
import type { ClaimedRun } from './claim.ts'

/**
 * Returns true for a run that reads another source than the pipeline's own: a backfill, or a rerun of a backfill. In such a run no row
 * counts as missing.
 */
export function readsBackfillSource(run: Pick<ClaimedRun, 'trigger' | 'options'>): boolean {
  return run.trigger === 'backfill' || run.options.source !== undefined
}

/** Returns the command that repeats a run with the source of a backfill; undefined for any other run. Standard input is read once only. */
export function backfillCommandOf(run: Pick<ClaimedRun, 'id' | 'pipeline' | 'trigger' | 'options'>): string | undefined {
  if (!readsBackfillSource(run)) return undefined
  return run.options.source === '-' ? `sluice backfill ${run.pipeline} --source -` : `sluice rerun r_${run.id}`
}

/** Returns the SQL condition that the run in row `run` reads the pipeline's own sources, the opposite of `readsBackfillSource`. */
export const readsOwnSources = (run: string): string => `${run}.trigger <> 'backfill' and not ${run}.options ? 'source'`

/**
 * Queues a run, notifies the workers, and returns the id of the run. Returns undefined if the tick `scheduledFor` already has a run
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
    readonly version?: string
    readonly rerunOf?: number
    readonly options?: RunOptions
  },
): Promise<number | undefined> {
  const rows = await db.query<DbRow<'run', 'id'>>(
    `insert into run (pipeline, destination_id, trigger, status, scheduled_for, rerun_of, options, definition)
     values ($1, $2, $3, 'queued', $4, $5, $6, $7) on conflict (destination_id, pipeline, scheduled_for) do nothing returning id`,
    [
      request.pipeline,
      request.destinationId,
      request.trigger,
      request.scheduledFor ?? null,
      request.rerunOf ?? null,
      JSON.stringify(request.options ?? {}),
      request.version ?? null,
    ],
  )
  if (rows[0] === undefined) return undefined
  await notify(db, 'run')
  return Number(rows[0].id)
}

/**
 * Queues a run that repeats an interrupted run of a schedule, for any worker and any version of the pipeline. The error of the interrupted
 * run then names the new run. The new run has the same options, except that `approveDeletes` is not copied, as in `rerun`. The interrupted
 * run must have ended. Does nothing in these cases:
 *
 * - The interrupted run is not of a schedule. So a repetition is not repeated, because each one might crash its process.
 * - An operator cancelled the interrupted run.
 * - Another run sends the rest: a repetition, or a run of the pipeline that is queued or running. Reruns of failed operations, backfills and
 *   their reruns do not count.
 */
export async function repeatRun(tx: Queryable, interruptedRunId: number): Promise<void> {
  const [row] = await tx.query<DbRow<'run', 'id'>>(
    `insert into run (pipeline, destination_id, trigger, status, rerun_of, options)
     select r.pipeline, r.destination_id, 'rerun', 'queued', r.id, r.options - 'approveDeletes' || '{"anyWorker": true}' from run r
     where r.id = $1 and r.trigger = 'schedule' and r.cancel_requested_at is null and not exists (
       select from run o where o.destination_id = r.destination_id and o.pipeline = r.pipeline and o.id <> r.id
         and (o.rerun_of = r.id or o.status in ('queued', 'running') and o.trigger in ('manual', 'schedule', 'rerun'))
         and ${readsOwnSources('o')} and o.options ->> 'failedOnly' is distinct from 'true')
     returning id`,
    [interruptedRunId],
  )
  if (row === undefined) return
  await tx.execute(
    `update run set error = error || jsonb_build_object('message', (error ->> 'message') || $2, 'hint', $3::text) where id = $1`,
    [interruptedRunId, `; r_${row.id} repeats it`, `sluice show r_${row.id}`],
  )
  await notify(tx, 'run')
}

/**
 * Merges the options of a request that joins a queued run into the run. If one of the requests is a full refresh, the run becomes one. The
 * higher limit of approved deletes applies. `options` must not contain `full: false`. Does nothing if the run is no longer queued.
 */
export async function mergeRunOptions(db: Queryable, runId: number, options: RunOptions): Promise<void> {
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
export async function updateQueuedVersions(
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
