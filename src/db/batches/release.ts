/** Changes the state of batches when a claim ends, after a worker has ended, and for a later run or plan (docs/states.md). */
import { auditLinesSql } from '../auditLog.ts'
import type { Database, Queryable } from '../database.ts'
import { withinFence, type Fence } from '../fence.ts'
import { mayImply } from '../impliedKeys.ts'
import { storeKeysWhere } from '../remote/implied.ts'
import { markLate } from '../remote/lateRequests.ts'
import type { DbRow, Value } from '../row.ts'
import type { ClaimedBatch } from './claim.ts'
import { isExpired, LeaseLost } from './lease.ts'
import { erasurePhase, openStatuses, waitingReasons } from './states.ts'

/** Next state of a claimed batch. */
export type Release =
  /** The same bytes are sent again later. */
  | {
      readonly to: 'open'
      readonly reason: string | null
      readonly waitMs: number
      readonly miscounts?: number
      readonly maybeApplied: boolean
    }
  /** The batch is not sent again in this run, and once in each later run. */
  | { readonly to: 'parked'; readonly reason: string; readonly miscounts?: number | undefined; readonly maybeApplied: boolean }
  /** All its remaining entries have final outcomes. `horizonMs`: longest time after an attempt in which it may still arrive. */
  | { readonly to: 'settled'; readonly horizonMs: number }
  /** Its entries were moved to other batches. */
  | { readonly to: 'split'; readonly reason: string; readonly horizonMs: number }
  /** Its entries will not be sent. */
  | { readonly to: 'superseded'; readonly reason: string; readonly horizonMs: number }

/**
 * Returns SQL of `settled_at` for a batch `b` that ends now. From that time on, none of its attempts can arrive at the service. It is later
 * than now if an attempt may arrive late (docs/decisions/late-arrival-horizon.md). `horizonMs`: SQL of the horizon.
 */
export const settledAt = (horizonMs: string): string =>
  `greatest(statement_timestamp(), (
     select max(a.finished_at) + ${horizonMs} * interval '1 millisecond' from attempt a where a.batch_id = b.id and (a.answer ->> 'mayLandLater')::boolean))`

/**
 * Sets the next state of a claimed batch, ends its lease, and returns the state as it is stored.
 *
 * @throws {LeaseLost} the batch was recovered or claimed by another process: nothing was written
 */
export async function releaseBatch(
  tx: Queryable,
  batch: Pick<ClaimedBatch, 'id' | 'epoch'>,
  release: Release,
): Promise<Value<'batch', 'status'>> {
  const isOpen = release.to === 'open'
  const maybeApplied = 'maybeApplied' in release && release.maybeApplied
  const reason = release.to === 'settled' ? null : release.reason
  const [row] = await tx.query<DbRow<'batch', 'status'>>(
    `update batch b set status = case when $3 <> 'open' then $3 when maybe_applied or $8 then 'ambiguous' else 'pending' end,
       maybe_applied = maybe_applied or $8, reason = case when $3 = 'open' and reason in ${waitingReasons} then reason else $4 end, lease_until = null, worker_id = null,
       next_attempt_at = case when $5::float8 > 0 then statement_timestamp() + $5::float8 * interval '1 millisecond' end,
       miscounts = coalesce($6, case when $3 = 'settled' then 0 else miscounts end),
       settled_at = case when $3 in ('settled', 'split', 'superseded') then ${settledAt('$7::float8')} end
     where id = $1 and epoch = $2 and status = 'in_flight' returning status`,
    [
      batch.id,
      batch.epoch,
      release.to,
      reason,
      isOpen ? release.waitMs : 0,
      'miscounts' in release ? (release.miscounts ?? null) : null,
      'horizonMs' in release ? release.horizonMs : null,
      maybeApplied,
    ],
  )
  if (row === undefined) throw new LeaseLost()
  return row.status
}

/**
 * Recovers batches in flight whose lease has expired, or whose worker is in `endedWorkerIds`. Returns their number. If an attempt was
 * started, the batch becomes ambiguous: its bytes may have been sent, and may arrive within `horizonMs`. Otherwise the batch is pending or
 * ambiguous as before the claim, without a wait. Does not change batches of another environment, because it may have another horizon.
 */
export async function recoverBatches(db: Database, endedWorkerIds: readonly string[], horizonMs: number, fence: Fence): Promise<number> {
  return db.transaction(async (tx) => {
    const rows = await tx.query<DbRow<'batch', 'id'> & { begun: boolean }>(
      `with lost as (
         select b.id from batch b where b.status = 'in_flight' and (${isExpired('b.lease_until')} or b.worker_id = any($1)) and ${withinFence('b.destination_id', '$2', '$3')}
         for update skip locked),
       ended as (
         update attempt a set outcome = 'ambiguous', reason = 'worker_died', finished_at = statement_timestamp(), answer = '{"mayLandLater": true}'
         from lost where a.batch_id = lost.id and a.outcome is null returning a.batch_id)
       update batch b
       set lease_until = null, worker_id = null, next_attempt_at = null, reason = coalesce(nullif(b.reason, ''), 'worker_died'),
         maybe_applied = b.maybe_applied or lost.begun, status = case when b.maybe_applied or lost.begun then 'ambiguous' else 'pending' end
       from (select id, exists (select from ended where batch_id = id) as begun from lost) lost
       where b.id = lost.id returning b.id, lost.begun`,
      [endedWorkerIds, fence.origin, fence.credentials],
    )
    const begun = rows.filter((row) => row.begun).map((row) => row.id)
    if (begun.length > 0) await markLate(tx, begun, horizonMs)
    if (rows.length > 0) {
      await tx.execute(
        auditLinesSql(`select 'recovery', 'batch.recovered', plan_id, id, '{}'::jsonb from batch where id = any($1::bigint[])`),
        [rows.map((row) => row.id)],
      )
    }
    return rows.length
  })
}

/**
 * Makes the parked batches of a destination sendable for one more attempt (docs/guarantees.md#bounded-retry); with `erasureId`, only the
 * deletes of this erasure. Returns their number.
 */
export async function unparkBatches(db: Queryable, destinationId: number, maxAttempts: number, erasureId?: number): Promise<number> {
  return db.execute(
    `update batch set attempts = $2, next_attempt_at = null, status = case when maybe_applied then 'ambiguous' else 'pending' end
     where destination_id = $1 and status = 'parked'
       and ($3::bigint is null or id in (select batch_id from erasure_delete where erasure_id = $3))`,
    [destinationId, Math.max(1, maxAttempts - 1), erasureId ?? null],
  )
}

/**
 * Sets the attempts to 1 and ends the waits of the destination's batches that are ambiguous, or pending with attempts. Leaves out two sorts
 * of batches:
 * - deletes of erasures
 * - a delete of suppressed identifiers that was never claimed: during its wait, an earlier update could restore an identifier
 */
export async function resetAttempts(db: Queryable, destinationId: number): Promise<void> {
  await db.execute(
    `update batch set attempts = 1, next_attempt_at = null
     where destination_id = $1 and phase <> ${erasurePhase} and (status = 'ambiguous' or (status = 'pending' and attempts > 0))
       and not (operation = 'delete' and epoch = 0 and coalesce(reason, '') = 'suppressed')`,
    [destinationId],
  )
}

/**
 * Shortens false waits of deletes of erased and suppressed people to two horizons. A wait longer than two horizons plus `longestBackoffMs`
 * is never stored, so the clock of the database was ahead. `longestBackoffMs`: longest wait after a failed attempt.
 */
export async function shortenFalseWaits(db: Queryable, destinationId: number, horizonMs: number, longestBackoffMs: number): Promise<void> {
  await db.execute(
    `update batch set next_attempt_at = statement_timestamp() + $2::float8 * interval '1 millisecond'
     where destination_id = $1 and status in ('pending', 'ambiguous') and (phase = ${erasurePhase} or reason = 'suppressed')
       and next_attempt_at > statement_timestamp() + ($2::float8 + $3::float8) * interval '1 millisecond'`,
    [destinationId, 2 * horizonMs, longestBackoffMs],
  )
}

/**
 * Shortens false waits of updates of phase 2 for the deletes of their plan to one horizon. No delete ends later than one horizon from now
 * (`settledAt`), so the clock of the database was ahead.
 */
export async function shortenFalseDeleteWaits(db: Queryable, destinationId: number, horizonMs: number): Promise<void> {
  const longest = `statement_timestamp() + $2::float8 * interval '1 millisecond'`
  await db.execute(
    `update batch d set settled_at = ${longest}
     where d.plan_id in (select b.plan_id from batch b where b.destination_id = $1 and b.phase = 2 and b.status in ${openStatuses})
       and d.phase = 1 and d.operation = 'delete' and d.settled_at > ${longest}`,
    [destinationId, horizonMs],
  )
}

/**
 * Supersedes the unsent batches of a destination's started plans, because a newer plan has their changes. Plans that wait for
 * `apply` keep their batches.
 */
export async function supersedeUnsent(tx: Queryable, destinationId: number): Promise<void> {
  await tx.execute(
    supersedeSql(`reason = 'newer_plan' from plan p
     where p.id = b.plan_id and b.destination_id = $1 and b.status = 'pending' and b.attempts = 0 and p.status <> 'ready'`),
    [destinationId],
  )
}

/**
 * Supersedes the unsent batches of stale plans. Stores their implied keys (docs/decisions/implied-keys.md) first, because no answer will
 * confirm these keys.
 */
export async function supersedeStaleBatches(tx: Queryable, plans: readonly string[]): Promise<void> {
  const unsent = `plan_id = any($1) and status = 'pending' and attempts = 0`
  await storeKeysWhere(tx, unsent, [plans])
  await tx.execute(supersedeSql(`reason = 'stale_plan' where ${unsent}`), [plans])
}

/**
 * Supersedes the open batches of a destination whose state is deleted (`db/removeDestination.ts`), except those in flight. Its loads imply
 * no keys any more. Returns the number of superseded batches.
 */
export async function endAllBatches(tx: Queryable, destinationId: number): Promise<number> {
  await tx.execute(`update batch b set keys_stored = true where b.destination_id = $1 and ${mayImply('b')}`, [destinationId])
  const ended = `b.destination_id = $1 and b.status in ${openStatuses} and (b.status <> 'in_flight' or ${isExpired('b.lease_until')})`
  const open = await tx.query<DbRow<'batch', 'id'>>(`select b.id from batch b where ${ended} for update`, [destinationId])
  const noLease = `lease_until = null, worker_id = null, next_attempt_at = null`
  await tx.execute(supersedeSql(`reason = 'destination_removed', ${noLease} where ${ended}`), [destinationId])
  return open.length
}

/**
 * Returns SQL that supersedes batches `b`, and adds a line to the audit log for each plan. `rest`: SQL of the reason and of the condition.
 */
const supersedeSql = (rest: string): string =>
  `with ended as (
     update batch b set status = 'superseded', settled_at = statement_timestamp(), ${rest} returning b.plan_id, b.reason)
   ${auditLinesSql(`select 'plan', 'batches.superseded', plan_id, null, jsonb_build_object('reason', reason, 'batches', count(*)) from ended group by plan_id, reason`)}`

/** Ends as split the batches whose entries all moved to one new batch (`mergeBatches` in `split.ts`). */
export async function endMerged(tx: Queryable, batches: readonly number[]): Promise<void> {
  await tx.execute(
    `with merged as (
       update batch set status = 'split', reason = 'set_aside', settled_at = statement_timestamp() where id = any($1::bigint[])
       returning id, plan_id, reason)
     ${auditLinesSql(`select 'push', 'batch.split', plan_id, id, jsonb_build_object('reason', reason) from merged`)}`,
    [batches],
  )
}

/** Deletes batches. The caller must have deleted their entries and attempts. */
export async function deleteBatches(tx: Queryable, batches: readonly string[]): Promise<void> {
  await tx.execute('delete from batch where id = any($1::bigint[])', [batches])
}
