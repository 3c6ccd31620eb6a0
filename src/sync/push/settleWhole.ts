/** Settles a batch of a first load whose answer confirms all of it, and none of whose keys is stored (docs/decisions/implied-keys.md). */
import type { Destination, RequestOutcome } from '../../destinations/destination.ts'
import { finishedColumns, finishedValues, type AttemptResult } from '../../db/attempts.ts'
import { settledAt, type ClaimedBatch } from '../../db/batches.ts'
import { isRetryable, type Database, type Queryable } from '../../db/database.ts'
import { nextKeyOf } from '../../db/impliedKeys.ts'

interface Answer {
  readonly horizonMs: number
  readonly workerId: string
  readonly runId: number
  /** Exchange as stored with the attempt. */
  readonly sent: Omit<AttemptResult, 'outcome' | 'reason'>
}

export type EntriesOutcome = Extract<RequestOutcome, { kind: 'entries' }>

/** Returns true if all users of an update are confirmed. Deletes are few, and `explain` shows the outcome of each. */
export function confirmsAll(destination: Destination, batch: ClaimedBatch, outcome: RequestOutcome): outcome is EntriesOutcome {
  return (
    outcome.kind === 'entries' &&
    destination.evidence === 'counts' &&
    batch.operation === 'upsert' &&
    outcome.entries.every((entry) => entry.outcome === 'confirmed')
  )
}

/** Returns false if the batch is to be reconciled key by key. A deadlock with a plan does so too: that transaction is tried again. */
export async function settleWhole(
  db: Database,
  batch: ClaimedBatch,
  attemptId: number,
  confirmed: number,
  options: Answer,
): Promise<boolean> {
  const { sent, horizonMs, workerId, runId } = options
  const counts = { confirmed, refused: 0 }
  const result = { ...sent, outcome: 'confirmed', reason: null, answer: { ...sent.answer, ...counts, ambiguous: 0 } } as const
  const line = { actor: workerId, runId, detail: { outcome: 'entries', ...counts, epoch: batch.epoch } }
  return settleLoad(db, batch, { id: attemptId, result, horizonMs }, line).catch((error: unknown) => {
    if (isRetryable(error)) return false
    throw error
  })
}

/**
 * Settles a batch of a load whose answer confirms all of it: one statement, which writes no key. Returns false, and writes nothing, if some
 * of its keys are stored, or if another process holds it.
 */
async function settleLoad(
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
       where b.id = $1 and b.epoch = $2 and b.status = 'in_flight' and b.load_id is not null and not b.keys_stored
         and (select m.group_key from remote m
           where m.destination_id = b.destination_id and m.group_key >= b.first_key and m.group_key < ${nextKeyOf('b')}
           order by m.group_key limit 1) is null
       returning b.id, b.plan_id, b.destination_id),
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
