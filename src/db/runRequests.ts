/** Finds the queued run that a request over HTTP joins, and stores the run of each `Idempotency-Key`. */
import { createHash } from 'node:crypto'
import type { Queryable } from './database.ts'
import type { Row } from './row.ts'

/** Returns the number of the oldest queued run of a pipeline that a further request can join, and locks the run. Undefined if none. */
export async function queuedRunOf(db: Queryable, destinationId: number, pipeline: string): Promise<number | undefined> {
  const [row] = await db.query<Row<'run', 'id'>>(
    `select id from run where status = 'queued' and destination_id = $1 and pipeline = $2 and trigger in ('manual', 'schedule')
       and not options ? 'failedOnly' order by id limit 1 for update`,
    [destinationId, pipeline],
  )
  return row === undefined ? undefined : Number(row.id)
}

/**
 * Returns the run that an earlier request with this key got, and the options of that request; undefined if there was none. The options are
 * null if an earlier version stored the request.
 */
export async function findRequest(
  db: Queryable,
  pipeline: string,
  key: string,
): Promise<{ readonly runId: number; readonly options: string | null } | undefined> {
  const [row] = await db.query<Row<'run_request', 'run_id' | 'options'>>(
    'select run_id, options from run_request where key = $2 and pipeline = $1',
    [pipeline, requestKey(pipeline, key)],
  )
  return row === undefined ? undefined : { runId: Number(row.run_id), options: row.options }
}

/** Stores the run of a request with a key for at least a day. Deletes older requests. */
export async function rememberRequest(
  db: Queryable,
  request: { readonly key: string; readonly pipeline: string; readonly runId: number; readonly options: string },
): Promise<void> {
  await db.execute(`delete from run_request where requested_at < statement_timestamp() - interval '1 day'`)
  await db.execute('insert into run_request (key, pipeline, run_id, options) values ($1, $2, $3, $4) on conflict do nothing', [
    requestKey(request.pipeline, request.key),
    request.pipeline,
    request.runId,
    request.options,
  ])
}

/** Returns the stored key. Includes the pipeline, because a caller may use one key for two pipelines. */
function requestKey(pipeline: string, key: string): string {
  return createHash('sha256').update(`${pipeline}\n${key}`).digest('hex')
}
