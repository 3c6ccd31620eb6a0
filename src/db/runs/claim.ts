/**
 * Claims runs, and keeps them under a lease: queued → running. A unique index allows only one running run per destination
 * (docs/states.md).
 */
import { isExpired } from '../batches/lease.ts'
import type { Database, Queryable } from '../database.ts'
import { adoptDestination, type DestinationKey } from '../destinations.ts'
import { withinFence, type Fence } from '../fence.ts'
import { isPaused } from '../pauses.ts'
import { isForAnyWorker } from './queued.ts'
import type { Present, DbRow } from '../row.ts'
import { readOptions, type RunOptions } from './columns.ts'
import type { RunTrigger } from '../../model/report.ts'
import { errorCode } from '../../unknownValue.ts'

export interface ClaimedRun {
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
 * Returns the ids of queued runs that no worker claimed for `waitedMs` milliseconds. Leaves out plans and applies, and runs of paused
 * pipelines. Also leaves out runs whose destination is locked, or was locked within the last minute (or within `waitedMs`, if shorter).
 * Returns none while a worker executes `maxRuns` runs or more, because that worker may have the needed version and no room.
 */
export async function findUnclaimedRuns(
  db: Queryable,
  fence: Fence,
  { waitedMs, maxRuns }: { readonly waitedMs: number; readonly maxRuns: number },
): Promise<readonly number[]> {
  const rows = await db.query<DbRow<'run', 'id'>>(
    `select q.id from run q
     where q.status = 'queued' and q.trigger not in ('plan', 'apply') and q.created_at < statement_timestamp() - $1 * interval '1 millisecond'
       and ${withinFence('q.destination_id', '$2', '$3')} and not ${isPaused('q')}
       and not exists (select from run r where r.destination_id = q.destination_id
         and (r.status = 'running' or r.finished_at > statement_timestamp() - least($1, 60000) * interval '1 millisecond'))
       and not exists (select from run f where f.status = 'running' and f.lease_until > statement_timestamp()
         group by f.worker_id having count(*) >= $4)`,
    [waitedMs, fence.origin, fence.credentials, maxRuns],
  )
  return rows.map(({ id }) => Number(id))
}

/** Skips those of the runs that are still queued, because no worker has the version of their pipeline. Returns the ids of skipped runs. */
export async function skipUnclaimedRuns(db: Queryable, runIds: readonly number[]): Promise<readonly number[]> {
  if (runIds.length === 0) return []
  const rows = await db.query<DbRow<'run', 'id'>>(
    `update run set status = 'skipped', started_at = created_at, finished_at = statement_timestamp(),
       error = jsonb_build_object('code', 'RUN_UNCLAIMED', 'where', pipeline,
         'message', 'no running worker has the requested version of ' || pipeline || '. Nothing was sent.',
         'hint', 'start or update a worker; or sluice run ' || pipeline || ', which runs the current version')
     where id = any($1::bigint[]) and status = 'queued' returning id`,
    [runIds],
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
 * Claims a queued run. Returns `busy` if another run has locked the destination. Returns `not_claimable` in these cases:
 * - The run is not queued any more.
 * - The run belongs to another environment.
 * - The pipeline is paused, and the run is not a `plan` run.
 * - The run is of another destination or version than `claim.pipeline`. A run without a version matches any version.
 */
export async function claimRun(db: Database, runId: number, claim: RunClaim): Promise<ClaimedRun | 'busy' | 'not_claimable'> {
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
): Promise<ClaimedRun | 'not_claimable'> {
  const [queued] = await tx.query<Present<DbRow<'run', 'destination_id'>>>(
    `select r.destination_id from run r join destination d on d.id = r.destination_id
     where r.id = $1 and r.status = 'queued' and coalesce(r.definition = $2, true) and d.service = $3
       and ($2::text is null or (d.kind, d.account_id, d.target_id) = ($4, $5, $6))`,
    [runId, pipeline?.version ?? null, fence.origin, pipeline?.kind ?? null, pipeline?.accountId ?? null, pipeline?.targetId ?? null],
  )
  if (queued === undefined) return 'not_claimable'
  await adoptDestination(tx, queued.destination_id, fence)
  const [row] = await tx.query<
    DbRow<'run', 'id' | 'pipeline' | 'epoch' | 'rerun_of' | 'trigger' | 'options'> & Present<DbRow<'run', 'destination_id' | 'started_at'>>
  >(
    // `for key share` waits for a takeover, and for a plan that has locked the row. It does not wait for answers, which only update the
    // row.
    `with own as (select id from destination where id = $4 and service = $5 and credentials = $6 for key share)
     update run set status = 'running', worker_id = $2, epoch = epoch + 1, started_at = statement_timestamp(),
       lease_until = statement_timestamp() + $3 * interval '1 millisecond'
     where id = $1 and status = 'queued' and coalesce(definition = $7, true) and destination_id in (select id from own)
       and (trigger = 'plan' or not ${isPaused('run')})
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

/**
 * Ends running runs of this environment with the status `failed`, if their lease has expired or their worker has ended. Also ends runs of
 * commands that were queued for more than 30 s. Only the command claims its run. It does so immediately, or after the plan of the running run.
 * Returns the ended runs. `endedWorkerIds`: ids of workers that have ended.
 */
export async function recoverRuns(
  db: Queryable,
  endedWorkerIds: readonly string[],
  fence: Fence,
): Promise<readonly { readonly id: number; readonly destinationId: number | null }[]> {
  const rows = await db.query<DbRow<'run', 'id' | 'destination_id'>>(
    `update run set status = 'failed', finished_at = statement_timestamp(), lease_until = null, progress = null,
       -- The hint is that of repeatingCommand (reports/nextCommands.ts).
       error = jsonb_build_object('code', 'RUN_INTERRUPTED', 'where', null, 'hint',
         case when options ->> 'source' = '-' then format('sluice backfill %s --source -', pipeline)
           when trigger in ('backfill', 'rerun') then 'sluice rerun r_' || id
           else 'sluice ' || case when options ? 'audit' then 'audit' when trigger = 'plan' then 'plan' else 'run' end || ' ' || pipeline end,
         'message',
         case when status = 'queued' then 'the process that requested this run did not start it'
           when worker_id = any($1) then 'the process of this run crashed, was killed, or was forced to quit'
           else 'the process of this run did not renew its lease: it died, was stopped, or could not reach the database' end
         || '; what was confirmed is kept')
     where ((status = 'running' and (${isExpired('lease_until')} or worker_id = any($1)))
       -- No worker executes the run of a command, and while it is queued it blocks every tick.
       or (status = 'queued' and not ${isForAnyWorker('run')} and created_at < statement_timestamp() - interval '30 seconds'
         and not exists (select from run o where o.destination_id = run.destination_id and o.status = 'running')))
       and ${withinFence('run.destination_id', '$2', '$3')} returning id, destination_id`,
    [endedWorkerIds, fence.origin, fence.credentials],
  )
  return rows.map((row) => ({ id: Number(row.id), destinationId: row.destination_id }))
}

/**
 * Run under a lease. Every write under the lease checks the epoch and that the run is running. So a process that lost the run cannot write.
 */
export type LeasedRun = Pick<ClaimedRun, 'id' | 'epoch'>
