/** Settles a batch of a first load in one statement (docs/decisions/implied-keys.md). */
import { finishedColumns, finishedValues, type AttemptResult } from '../attempts.ts'
import { mayImply, nextKeyOf } from '../impliedKeys.ts'
import type { Queryable } from '../queryable.ts'
import type { ClaimedBatch } from './claim.ts'
import { settledAt } from './release.ts'

/**
 * Settles a batch of a load whose answer confirms all users. Also writes the attempt and the line of the audit log, but no keys.
 * Returns false, and writes nothing, if some keys of the batch are stored, or if another process has recovered or claimed it.
 */
export async function settleLoad(
  db: Queryable,
  batch: ClaimedBatch,
  attempt: { readonly id: number; readonly result: AttemptResult; readonly horizonMs: number },
  line: { readonly actor: string; readonly runId: number; readonly detail: object },
): Promise<boolean> {
  const values = finishedValues(attempt.result)
  const [row] = await db.query<{ n: number }>(
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
     -- This is the last part, because all transactions that record answers of a destination wait for the lock of this row.
     raised as (update destination d set state_version = d.state_version + 1 from mine where d.id = mine.destination_id)
     select count(*)::int as n from mine`,
    [batch.id, batch.epoch, attempt.horizonMs, attempt.id, line.actor, line.runId, JSON.stringify(line.detail), ...values],
  )
  return row?.n === 1
}
