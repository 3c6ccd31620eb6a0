/** Finds the queued run that a request over HTTP joins, and stores the run of each `Idempotency-Key`. */
import { hash } from 'node:crypto'
import type { Queryable } from '../database.ts'
import type { DbRow } from '../row.ts'
import { isForAnyWorker } from './queued.ts'

/** Pipeline of a destination. Pipelines of two environments may have the same name, and then have two destinations. */
interface RequestedPipeline {
  readonly destinationId: number
  readonly pipeline: string
}

/**
 * Returns the id of the oldest queued run of a pipeline that a further request can join, and locks the run. Undefined if there is none.
 * Considers only manual and scheduled runs that any worker may claim, and no rerun of failed operations. Leaves out the run of a command.
 * The command claims it itself, or ends it without the options of the further request. A request for the version `version` does not join
 * a run of another version. No worker with this version could claim that run, and the options of the request would be lost.
 */
export async function queuedRunOf(
  db: Queryable,
  { destinationId, pipeline }: RequestedPipeline,
  version: string,
): Promise<number | undefined> {
  const [row] = await db.query<DbRow<'run', 'id'>>(
    `select id from run where status = 'queued' and destination_id = $1 and pipeline = $2 and trigger in ('manual', 'schedule')
       and coalesce(definition = $3, true) and not options ? 'failedOnly' and ${isForAnyWorker('run')} order by id limit 1 for update`,
    [destinationId, pipeline, version],
  )
  return row === undefined ? undefined : Number(row.id)
}

/** Returns the id of the running run for which the deletes of the plan were approved; undefined if there is none. */
export async function approvedRunOf(db: Queryable, destinationId: number, planId: string): Promise<number | undefined> {
  const [row] = await db.query<DbRow<'run', 'id'>>(
    `select r.id from run r join audit a on a.run_id = r.id
     where r.status = 'running' and r.destination_id = $1 and a.plan_id = $2 and a.what = 'deletes.approved' limit 1`,
    [destinationId, planId],
  )
  return row === undefined ? undefined : Number(row.id)
}

/**
 * Returns the run that an earlier request with this key got, and the options of that request. Undefined without an earlier request. The
 * options are null if an earlier version stored the request.
 */
export async function findRequest(
  db: Queryable,
  requested: RequestedPipeline,
  key: string,
): Promise<{ readonly runId: number; readonly options: string | null } | undefined> {
  const [row] = await db.query<DbRow<'run_request', 'run_id' | 'options'>>(
    `select q.run_id, q.options from run_request q where q.key = $1
       or (q.key = $2 and exists (select from run r where r.id = q.run_id and r.destination_id = $3))
     order by q.key = $1 desc limit 1`,
    [requestKey(requested, key), keyOfEarlierVersion(requested.pipeline, key), requested.destinationId],
  )
  return row === undefined ? undefined : { runId: Number(row.run_id), options: row.options }
}

/**
 * Stores the run and the options of a request with a key for at least a day. Deletes older requests. Keeps a stored request with this key.
 */
export async function storeRunRequest(
  db: Queryable,
  request: RequestedPipeline & { readonly key: string; readonly runId: number; readonly options: string },
): Promise<void> {
  await db.execute(`delete from run_request where requested_at < statement_timestamp() - interval '1 day'`)
  await db.execute('insert into run_request (key, pipeline, run_id, options) values ($1, $2, $3, $4) on conflict do nothing', [
    requestKey(request, request.key),
    request.pipeline,
    request.runId,
    request.options,
  ])
}

/**
 * Returns the stored key. Includes destination and pipeline (docs/guarantees.md#environments-never-mix). A caller may use one key for two
 * pipelines, and for pipelines of the same name in two environments.
 */
function requestKey({ destinationId, pipeline }: RequestedPipeline, key: string): string {
  return hash('sha256', `${destinationId}\n${pipeline}\n${key}`)
}

/** Returns the key as earlier versions stored it, without the destination. */
function keyOfEarlierVersion(pipeline: string, key: string): string {
  return hash('sha256', `${pipeline}\n${key}`)
}
