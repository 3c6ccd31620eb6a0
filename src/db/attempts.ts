/** Writes the attempts of a batch. An attempt is stored before its first byte is sent, and finished when its answer is classified. */
import { z } from 'zod'
import type { ClaimedBatch } from './batches/claim.ts'
import { LeaseLost } from './batches/lease.ts'
import { countRows, hasRows, type Queryable } from './queryable.ts'
import { jsonColumn } from './jsonColumn.ts'
import type { Value } from './row.ts'

/**
 * Stores a new attempt, counts it in the batch, renews the lease, and returns the id of the attempt. Must be committed before the bytes are
 * sent. Returns undefined, and writes nothing, while the rate budget `budget` is blocked by a wait that the service requested.
 *
 * @throws {LeaseLost} the batch was recovered or claimed by another process: send nothing
 */
export async function beginAttempt(
  db: Queryable,
  batch: ClaimedBatch,
  options: { readonly runId: number; readonly workerId: string; readonly leaseMs: number; readonly budget: string },
): Promise<number | undefined> {
  const [row] = await db.query<{ id: Value<'attempt', 'id'> | null; blocked: boolean }>(
    `with budget_class as (select exists (select from budget where class = $6 and blocked_until > statement_timestamp()) as blocked),
     mine as (
       update batch set attempts = attempts + 1, lease_until = statement_timestamp() + $5 * interval '1 millisecond'
       where id = $1 and epoch = $2 and status = 'in_flight' and not (select blocked from budget_class) returning id, epoch, body_sha256),
     begun as (
       insert into attempt (batch_id, run_id, epoch, worker_id, body_sha256) select id, $3, epoch, $4, body_sha256 from mine returning id)
     select (select id from begun) as id, blocked from budget_class`,
    [batch.id, batch.epoch, options.runId, options.workerId, options.leaseMs, options.budget],
  )
  const id = row?.id ?? undefined
  if (id !== undefined) return Number(id)
  if (row?.blocked === true) return undefined
  throw new LeaseLost()
}

/**
 * SQL of the id of the run that made attempt `a` of a batch of plan `p`. The attempts of an apply are stored with the run that made the
 * plan. For such an attempt the result is the last apply that started before it. Only plans of `sluice plan` are applied. For other plans
 * the search is left out, because it would read all later runs of the pipeline.
 */
export const sendingRun = `coalesce(case when (select o.trigger from run o where o.id = p.run_id) = 'plan' then (
    select max(r.id) from run r where r.pipeline = p.pipeline and r.id > p.run_id and r.plan_id = p.id and r.trigger = 'apply'
      and a.run_id = p.run_id and r.started_at <= a.started_at) end, a.run_id)`

/**
 * SQL condition that run `r` made attempt `a`. The attempts of an apply are stored with the run that made the plan. So an apply made the
 * attempts between its start and the start of the plan's next apply. A `plan` run made none. An erasure stores its attempts with a run that
 * has ended, so attempts after the end of a run are left out.
 */
export const madeByRun = `((a.run_id = r.id and r.trigger <> 'plan' and (r.finished_at is null or a.started_at <= r.finished_at)) or (r.trigger = 'apply' and a.run_id = (select p.run_id from plan p where p.id = r.plan_id)
  and a.started_at >= r.started_at and not exists (
    select from run n where n.pipeline = r.pipeline and n.id > r.id and n.plan_id = r.plan_id and n.trigger = 'apply' and n.started_at <= a.started_at)))`

/** SQL condition that a byte of an attempt was sent. The duration of any other attempt is 0. */
export const wasSent = `reason is distinct from 'not-in-time'`

/** Returns SQL of a percentile of the durations of attempts that were sent; null if none was. */
export const durationPercentile = (fraction: number): string =>
  `percentile_cont(${fraction}) within group (order by duration_ms) filter (where ${wasSent})`

/** Counts the attempts of a run, also those for plans of other runs. */
export async function countAttempts(db: Queryable, runId: number): Promise<number> {
  return countRows(db, `select from run r join attempt a on ${madeByRun} where r.id = $1`, [runId])
}

/** Returns true if attempts are stored with the run. The attempts of an apply are stored with the run that made the plan. */
export async function hasAttempts(db: Queryable, runId: number): Promise<boolean> {
  return hasRows(db, 'select from attempt where run_id = $1', [runId])
}

/** Returns SQL of the id of the run that made the last attempt of a batch of plan `p`. `batchId`: SQL of the batch's id. */
export const lastSendingRun = (batchId: string): string =>
  `select ${sendingRun} from attempt a where a.batch_id = ${batchId} order by a.id desc limit 1`

export async function deleteAttempts(tx: Queryable, batches: readonly string[]): Promise<void> {
  await tx.execute('delete from attempt where batch_id = any($1::bigint[])', [batches])
}

/** Decodes the counts and codes of an attempt's answer; null until the attempt is finished. */
export const decodeAnswer = jsonColumn('attempt', 'answer', z.record(z.string(), z.unknown()).nullable())

export interface AttemptResult {
  readonly outcome: 'confirmed' | 'partial' | 'refused' | 'retry' | 'pause' | 'ambiguous'
  /** Null without an answer. */
  readonly httpStatus: number | null
  readonly reason: string | null
  /** Counts and codes of the answer, without echoed records and identifiers. */
  readonly answer: Readonly<Record<string, unknown>>
  readonly answerSha256: Buffer | null
  readonly durationMs: number
}

/** Attempt whose request has ended, with an answer or without one. */
export interface SentAttempt {
  readonly id: number
  /** Result before the answer is classified. */
  readonly sent: Omit<AttemptResult, 'outcome' | 'reason'>
}

export async function finishAttempt(tx: Queryable, attemptId: number, result: AttemptResult): Promise<void> {
  await tx.execute(`update attempt set ${finishedColumns(2)} where id = $1`, [attemptId, ...finishedValues(result)])
}

/** Returns the SQL assignments that finish an attempt. `firstParameter`: number of the parameter of the first `finishedValues`. */
export const finishedColumns = (firstParameter: number): string =>
  ['outcome', 'http_status', 'reason', 'answer', 'answer_sha256', 'duration_ms'].reduce(
    (columns, column, i) => `${columns}, ${column} = $${firstParameter + i}`,
    'finished_at = statement_timestamp()',
  )

/** Returns the values for `finishedColumns`. */
export function finishedValues(result: AttemptResult): readonly unknown[] {
  return [
    result.outcome,
    result.httpStatus,
    result.reason,
    JSON.stringify(result.answer),
    result.answerSha256,
    Math.round(result.durationMs),
  ]
}
