/** Writes and reads lines of the audit log (docs/guarantees.md#nothing-silent): who did what, when, and to which run, plan or batch. */
import { z } from 'zod'
import type { Queryable } from './database.ts'
import { withinFence, type Fence } from './fence.ts'
import { jsonColumn } from './jsonColumn.ts'
import { notify } from './notifications.ts'
import type { DbRow } from './row.ts'

/**
 * Adds a line about a batch. Must be called in the transaction that changes the batch. So each line has its change. `what`: `batch.` and
 * the result, such as `batch.settled`. `detail`: counts, codes and reasons; no identifiers (docs/guarantees.md#no-raw-identifier-at-rest).
 */
export async function logBatch(
  tx: Queryable,
  batch: { readonly id: number; readonly planId: string },
  by: { readonly workerId: string; readonly runId: number },
  what: `batch.${string}`,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  await logEvent(tx, { actor: by.workerId, what, runId: by.runId, planId: batch.planId, batchId: batch.id, detail })
}

/** Line of the audit log. */
interface Line {
  readonly actor: string
  /** `run.requested`, `run.cancelled`, `pipeline.paused`, `deletes.approved` … */
  readonly what: string
  readonly pipeline?: string
  readonly runId?: number
  readonly planId?: string
  readonly batchId?: number
  /** Reason, numbers, options; no identifiers. */
  readonly detail?: object
}

/** Adds a line about an event, such as an erasure. */
export async function logEvent(db: Queryable, { actor, what, pipeline, runId, planId, batchId, detail = {} }: Line): Promise<void> {
  await db.execute('insert into audit (actor, what, pipeline, run_id, plan_id, batch_id, detail) values ($1, $2, $3, $4, $5, $6, $7)', [
    actor,
    what,
    pipeline ?? null,
    runId ?? null,
    planId ?? null,
    batchId ?? null,
    JSON.stringify(detail),
  ])
}

/**
 * Returns SQL that inserts a line for each row of a query. `rows`: query with actor, what, plan, batch and detail as columns, in this
 * order. Used for lines about many batches.
 */
export const auditLinesSql = (rows: string): string => `insert into audit (actor, what, plan_id, batch_id, detail) ${rows}`

/** Deletes lines that are more than 24 months old. Returns their number. */
export async function dropOldAuditLines(db: Queryable): Promise<number> {
  return db.execute(`delete from audit where at < statement_timestamp() - interval '24 months'`)
}

/** Adds a line about an operator's action on a pipeline, a run or a plan. Notifies all processes of the schema at the commit. */
export async function logAction(tx: Queryable, action: Line & { readonly pipeline: string }): Promise<void> {
  await logEvent(tx, action)
  await notify(tx, 'action')
}

export const decodeDetail = jsonColumn('audit', 'detail', z.record(z.string(), z.unknown()))

/** Action of an operator in the audit log. */
export interface StoredAction {
  readonly at: Date
  readonly actor: string
  readonly what: string
  readonly runId: string | null
  readonly planId: string | null
  readonly detail: Readonly<Record<string, unknown>>
}

/**
 * Returns at most `limit` actions of operators on a pipeline, or only on its run `runId`, newest first. With `environment`, leaves out
 * actions on a pipeline of the same name in another environment. An action whose environment is unknown stays. It is an action on a
 * deleted run, or a pause of an earlier version, which stored no destination.
 */
export async function listActions(
  db: Queryable,
  of: { readonly pipeline: string; readonly environment?: Fence | undefined; readonly runId?: number; readonly limit: number },
): Promise<readonly StoredAction[]> {
  const rows = await db.query<DbRow<'audit', 'id' | 'at' | 'actor' | 'what' | 'run_id' | 'plan_id' | 'detail'>>(
    `select a.id, a.at, a.actor, a.what, a.run_id, a.plan_id, a.detail from audit a left join run r on r.id = a.run_id
       cross join lateral (select coalesce(r.destination_id, (a.detail ->> 'destinationId')::int) as id) t
     where a.pipeline = $1 and ($2::bigint is null or a.run_id = $2)
       and ($4::text is null or t.id is null or ${withinFence('t.id', '$4', '$5')}) order by a.id desc limit $3`,
    [of.pipeline, of.runId ?? null, of.limit, of.environment?.origin ?? null, of.environment?.credentials ?? null],
  )
  return rows.map((row) => ({
    at: row.at,
    actor: row.actor,
    what: row.what,
    runId: row.run_id === null ? null : `r_${row.run_id}`,
    planId: row.plan_id,
    detail: decodeDetail(row.detail, row.id),
  }))
}
