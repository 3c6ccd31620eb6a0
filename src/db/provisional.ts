/**
 * Provisional batches (docs/decisions/packed-state.md#confirmation-by-batch): a first load stores its keys as confirmed by their batch
 * before the batch is sent. So an answer that confirms the whole batch writes no key. Until the batch is settled its keys are not
 * confirmed. Every other end of the batch and every plan revokes the confirmation first.
 */
import { finishedColumns, finishedValues, type AttemptResult } from './attempts.ts'
import { settledAt, type ClaimedBatch } from './batches.ts'
import type { ChangedKeys } from './changedKeys.ts'
import type { Queryable } from './database.ts'
import type { Row } from './row.ts'
import { isProvisional, unconfirmed } from './entries.ts'

/** SQL condition: key `m` is confirmed by an answer, and not only by a provisional batch. */
export const isConfirmedKey = `(m.synced_hash is not null and not exists (select from batch b where b.id = m.batch_id and ${isProvisional}))`

/** Revokes the confirmation of all batches of a destination that are not settled. One pass over its keys, if there are such batches. */
export async function revokeAll(tx: Queryable, destinationId: number, changed: ChangedKeys): Promise<void> {
  const rows = await tx.query<Row<'batch', 'id' | 'user_count'>>(
    `update batch b set provisional = false
     where destination_id = $1 and status in ('pending', 'in_flight', 'ambiguous', 'parked') and ${isProvisional} returning id, user_count`,
    [destinationId],
  )
  if (rows.length === 0) return
  await changed.expect(rows.reduce((sum, { user_count }) => sum + user_count, 0))
  const ids = rows.map(({ id }) => id)
  await changed.add('select m.key from remote m where m.destination_id = $1 and m.batch_id = any($2::bigint[])', [ids])
  await tx.execute(`update remote m set ${unconfirmed} where destination_id = $1 and batch_id = any($2::bigint[])`, [destinationId, ids])
}

/**
 * Settles a batch whose answer confirms all of it: one statement, which writes no key. Returns false, and writes nothing, if the batch
 * is not provisional any more, or if another process holds it.
 */
export async function settleProvisional(
  db: Queryable,
  batch: ClaimedBatch,
  attempt: { readonly id: number; readonly result: AttemptResult; readonly horizonMs: number },
  line: { readonly actor: string; readonly runId: number; readonly detail: object },
): Promise<boolean> {
  const values = finishedValues(attempt.result)
  const [row] = await db.query<{ n: number }>(
    `with mine as (
       update batch b set status = 'settled', reason = null, lease_until = null, worker_id = null, next_attempt_at = null, wrong_alike = 0,
         settled_at = ${settledAt('$3')}
       where b.id = $1 and b.epoch = $2 and b.status = 'in_flight' and b.provisional returning b.id, b.plan_id, b.destination_id),
     ended as (update attempt a set ${finishedColumns(8)} from mine where a.id = $4),
     noted as (
       insert into audit (actor, what, run_id, plan_id, batch_id, detail)
       select $5::text, 'batch.settled', $6::bigint, plan_id, id, $7::jsonb from mine),
     -- Last, because all who reconcile for a destination wait for this row.
     raised as (update destination d set state_version = d.state_version + 1 from mine where d.id = mine.destination_id)
     select count(*)::int as n from mine`,
    [batch.id, batch.epoch, attempt.horizonMs, attempt.id, line.actor, line.runId, JSON.stringify(line.detail), ...values],
  )
  return row?.n === 1
}
