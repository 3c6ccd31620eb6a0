/** Sendings of a batch: begun before the first byte leaves, finished when the answer was judged. */
import { LeaseLost, type ClaimedBatch } from './batches.ts'
import type { Queryable } from './database.ts'

/**
 * Commits that the bytes are about to leave, and a fresh lease to send them under.
 *
 * @throws {LeaseLost} another process holds the batch: send nothing
 */
export async function beginAttempt(
  db: Queryable,
  batch: ClaimedBatch,
  options: { readonly runId: number; readonly workerId: string; readonly leaseMs: number },
): Promise<number> {
  const [row] = await db.query<{ id: string }>(
    `with mine as (
       update sluice.batch set attempts = attempts + 1, lease_until = clock_timestamp() + $5 * interval '1 millisecond'
       where id = $1 and epoch = $2 and status = 'in_flight' returning id, epoch, body_sha256)
     insert into sluice.attempt (batch_id, run_id, epoch, worker_id, body_sha256) select id, $3, epoch, $4, body_sha256 from mine returning id`,
    [batch.id, batch.epoch, options.runId, options.workerId, options.leaseMs],
  )
  if (row === undefined) throw new LeaseLost()
  return Number(row.id)
}

export interface AttemptResult {
  readonly outcome: 'confirmed' | 'partial' | 'refused' | 'retry' | 'pause' | 'ambiguous'
  readonly httpStatus: number | null
  readonly reason: string | null
  /** Counts and codes; no echo, no identifiers. */
  readonly answer: Readonly<Record<string, unknown>>
  readonly answerSha256: Buffer | null
  readonly durationMs: number
}

export async function finishAttempt(tx: Queryable, attemptId: number, result: AttemptResult): Promise<void> {
  await tx.execute(
    `update sluice.attempt set finished_at = clock_timestamp(), outcome = $2, http_status = $3, reason = $4, answer = $5, answer_sha256 = $6, duration_ms = $7 where id = $1`,
    [
      attemptId,
      result.outcome,
      result.httpStatus,
      result.reason,
      JSON.stringify(result.answer),
      result.answerSha256,
      Math.round(result.durationMs),
    ],
  )
}
