/** Settles a batch of a first load in one statement (docs/decisions/implied-keys.md). */
import { finishedColumns, finishedValues, type SentAttempt } from '../attempts.ts'
import { isRetryable, type Queryable } from '../database.ts'
import { mayImply, nextKeyOf } from '../impliedKeys.ts'
import type { ClaimedBatch } from './claim.ts'
import { settledAt } from './release.ts'

/**
 * Settles a batch of a load whose answer confirms all users. `confirmed`: number of entries. Writes no key, because all keys of the batch
 * are implied, without rows in `remote`. Finishes the attempt, adds the line of the audit log, and raises the version of the synced state.
 *
 * Returns false, and writes nothing, in these cases:
 * - Some keys of the batch are stored.
 * - Another process has recovered or claimed the batch.
 * - The statement failed by a deadlock or a serialization failure.
 */
export async function settleLoad(
  db: Queryable,
  batch: ClaimedBatch,
  { id, sent }: SentAttempt,
  confirmed: number,
  by: { readonly workerId: string; readonly runId: number; readonly horizonMs: number },
): Promise<boolean> {
  const counts = { confirmed, refused: 0 }
  const values = finishedValues({ ...sent, outcome: 'confirmed', reason: null, answer: { ...sent.answer, ...counts, ambiguous: 0 } })
  const detail = JSON.stringify({ outcome: 'entries', ...counts, epoch: batch.epoch })
  try {
    const [settled] = await db.query<{ n: number }>(
      `with mine as (
       update batch b set status = 'settled', reason = null, lease_until = null, worker_id = null, next_attempt_at = null, miscounts = 0,
         settled_at = ${settledAt('$3')}
       where b.id = $1 and b.epoch = $2 and b.status = 'in_flight' and ${mayImply('b')}
         and (select m.group_key from remote m
           where m.destination_id = b.destination_id and m.group_key >= b.first_key and m.group_key < ${nextKeyOf('b')}
           order by m.group_key limit 1) is null
       returning b.id, b.plan_id, b.destination_id),
     ended as (update attempt a set ${finishedColumns(8)} from mine where a.id = $4),
     noted as (
       insert into audit (actor, what, run_id, plan_id, batch_id, detail)
       select $5::text, 'batch.settled', $6::bigint, plan_id, id, $7::jsonb from mine),
     raised as (update destination d set state_version = d.state_version + 1 from mine where d.id = mine.destination_id)
     select count(*)::int as n from mine`,
      [batch.id, batch.epoch, by.horizonMs, id, by.workerId, by.runId, detail, ...values],
    )
    return settled?.n === 1
  } catch (error) {
    if (isRetryable(error)) return false
    throw error
  }
}
