/**
 * The batch table: claims of frozen requests (docs/guarantees.md#key-order, #one-holder, #crash-safe). A claim is a lease
 * with an epoch, by the database's clock. Every
 * write of an owner names its epoch and must hit one row; otherwise it throws `LeaseLost`.
 */
import { addLines } from './audit.ts'
import type { Database, Queryable } from './database.ts'
import { bodyColumns, bodyOf, keysOf, type BodyRow } from './entries.ts'
import { withinFence, type Fence } from './fence.ts'
import { storeKeysOfBatches } from './impliedKeys.ts'
import type { Operation } from '../destinations/destination.ts'

/** Batches that a pusher works on: those of one plan, those that earlier plans left unresolved, or those of an erasure. */
export type BatchScope = (
  | { readonly planId: string }
  | { readonly leftoversOf: number }
  /** The deletes of an erasure at one audience. */
  | { readonly erasure: number; readonly audience: number }
) & { readonly fence: Fence }

export interface ClaimedBatch {
  readonly id: number
  readonly planId: string
  readonly destinationId: number
  readonly seq: number
  readonly phase: number
  readonly operation: Operation
  readonly epoch: number
  readonly body: Buffer
  readonly bodySha256: Buffer
  readonly entryCount: number
  readonly userCount: number
  readonly parentId: number | null
  /** True: the service may have applied it already, so it stays ambiguous until an answer resolves it. */
  readonly maybeApplied: boolean
  readonly attempts: number
  readonly wrongAlike: number
  readonly reason: string | null
  readonly expired: boolean
  /** True: it is part of a first load, and keys of its records may be implied (`impliedKeys.ts`). */
  readonly ofLoad: boolean
}

/** Another process holds the lease of the batch now; the result of this one is dropped. */
export class LeaseLost extends Error {}

/** Reason of a right half that waits for its left sibling: if that one is clean, the failing record is in this half. */
export const afterSibling = 'after_sibling'
/** Reason of the entries that an answer did not point at: they wait until the pointer is confirmed or refuted. */
export const afterPointed = 'after_pointed'
/** Reason of entries that wait while a failing record is isolated elsewhere: they are sent as one request afterwards. */
export const afterIsolation = 'after_isolation'
const waitingReasons = `('${afterSibling}', '${afterPointed}', '${afterIsolation}')`

/** Settled: no earlier attempt can arrive at the service any more. So `settled_at` may be in the future (docs/guarantees.md). */
const openDeletes = `select from batch d where d.plan_id = b.plan_id and d.phase = 1 and d.operation = 'delete'
  and (d.status in ('pending', 'in_flight', 'ambiguous', 'parked') or (d.status <> 'superseded' and d.settled_at > statement_timestamp()))`

// Never null: `null and exists (…)` would look at all batches of the plan for each of them.
const waitsForOthers = `coalesce(b.reason, '') in ${waitingReasons} and exists (
  select from batch s where s.plan_id = b.plan_id and s.status in ('pending', 'in_flight', 'ambiguous')
    and case when b.reason = '${afterIsolation}' then s.parent_id is not null and s.reason is distinct from '${afterIsolation}' else s.parent_id = b.parent_id and s.seq < b.seq end)`

/** Phase of the deletes of erasures, outside of their plan: no run waits until they are due, and no update waits for them. */
export const erasurePhase = 0

const inScope = (scope: BatchScope) => {
  if ('planId' in scope) return `b.plan_id = $1 and b.phase <> ${erasurePhase}`
  if ('erasure' in scope)
    return `b.id in (select batch_id from erasure_delete where erasure_id = $1::bigint) and b.destination_id = ${scope.audience}`
  // Batches that were sent at least once; never a stored plan that still waits for its `apply`.
  return `b.destination_id = $1::int and (b.status = 'ambiguous' or b.attempts > 0)
    and (b.phase <> ${erasurePhase} or (coalesce(b.next_attempt_at, '-infinity') <= statement_timestamp() and not (${updateUnderWay})))`
}

/** SQL condition: an update of the same person is under way. It ends first, because its late bytes would restore the person. */
const updateUnderWay = `b.phase = ${erasurePhase} and exists (
  select from batch u cross join ${keysOf('u.id')} f
  where u.destination_id = b.destination_id and u.status = 'in_flight' and u.lease_until > statement_timestamp() and u.operation = 'upsert'
    and f.key in (select k.key from entry e cross join lateral unnest(e.keys) as k (key) where e.batch_id = b.id))`

const inFence = withinFence('b.destination_id', '$2', '$3')

/** $1 of `inScope`, $2 and $3 of `inFence`. */
const scopeValues = (scope: BatchScope) => [
  'planId' in scope ? scope.planId : 'erasure' in scope ? scope.erasure : scope.leftoversOf,
  scope.fence.origin,
  scope.fence.credentials,
]

const claimedColumns = (claimed: string) =>
  `b.id, b.plan_id, b.destination_id, b.seq, b.phase, b.operation, b.epoch, ${bodyColumns}, b.entry_count, b.user_count,
   b.parent_id, ${claimed}.maybe_applied, b.attempts, b.wrong_alike, b.reason, coalesce(b.expires_at <= statement_timestamp(), false) as expired,
   b.load_id is not null and not b.keys_stored as of_load`

/**
 * Claims up to `count` batches that may be sent now, ambiguous ones first. Claims none while the destination is paused.
 * Updates of changed users wait until every delete of their plan is settled.
 */
export async function claimBatches(
  db: Queryable,
  scope: BatchScope,
  options: { readonly workerId: string; readonly leaseMs: number; readonly count: number },
): Promise<ClaimedBatch[]> {
  const rows = await db.query<BatchRow>(
    `with due as (
       select b.id, b.status = 'ambiguous' as maybe_applied
       from batch b
       where ${inScope(scope)} and ${inFence} and b.status in ('pending', 'ambiguous') and (b.next_attempt_at is null or b.next_attempt_at <= statement_timestamp())
         and (b.phase <= 1 or not exists (${openDeletes})) and not (${waitsForOthers}) and not (${updateUnderWay})
         and exists (select from destination t where t.id = b.destination_id and t.paused_at is null)
       order by b.status = 'ambiguous' desc, b.phase, b.seq
       limit $6 for update of b skip locked)
     update batch b
     set status = 'in_flight', epoch = epoch + 1, worker_id = $4, lease_until = statement_timestamp() + $5 * interval '1 millisecond'
     from due where b.id = due.id
     returning ${claimedColumns('due')}`,
    [...scopeValues(scope), options.workerId, options.leaseMs, options.count],
  )
  return rows.map(toBatch).sort((a, b) => a.seq - b.seq)
}

/** Claims one batch regardless of its waits. Returns undefined if a process sends it now, or if it is settled. */
export async function claimNamed(tx: Queryable, id: number, workerId: string, leaseMs: number): Promise<ClaimedBatch | undefined> {
  const rows = await tx.query<BatchRow>(
    `with idle as (select b.id, b.status <> 'pending' as maybe_applied from batch b where b.id = $1 and b.status in ('pending', 'ambiguous', 'parked') for update)
     update batch b
     set status = 'in_flight', epoch = epoch + 1, worker_id = $2, lease_until = statement_timestamp() + $3 * interval '1 millisecond'
     from idle where b.id = idle.id returning ${claimedColumns('idle')}`,
    [id, workerId, leaseMs],
  )
  return rows[0] && toBatch(rows[0])
}

/** Open batches of the scope, and how long to wait for the next. */
export interface OpenWork {
  /** A worker is sending them now. */
  readonly inFlight: number
  /** May be sent now or later in this run: some wait for a backoff, a horizon, a delete or a sibling. */
  readonly waiting: number
  /** Time until the earliest of them may be sent; 0 when one may be sent now. */
  readonly waitMs: number
  /** Phase 2 behind a parked delete: this run cannot unblock them. */
  readonly blocked: number
  readonly paused: boolean
}

export async function findOpenWork(db: Queryable, scope: BatchScope): Promise<OpenWork> {
  const [row] = await db.query<{ in_flight: number; waiting: number; blocked: number; wait_ms: number | null; paused: boolean }>(
    `with open as (
       select b.*, b.phase = 2 and exists (
           select from batch d where d.plan_id = b.plan_id and d.phase = 1 and d.operation = 'delete' and d.status = 'parked') as blocked,
         case when b.phase = 2 then (
           select max(d.settled_at) from batch d where d.plan_id = b.plan_id and d.phase = 1 and d.operation = 'delete' and d.status <> 'superseded') end as deletes_settled_at
       from batch b where ${inScope(scope)} and ${inFence} and b.status in ('pending', 'ambiguous', 'in_flight'))
     select count(*) filter (where status = 'in_flight')::int as in_flight,
       count(*) filter (where status <> 'in_flight' and not blocked)::int as waiting,
       count(*) filter (where status <> 'in_flight' and blocked)::int as blocked,
       min(greatest(0, extract(epoch from greatest(next_attempt_at, deletes_settled_at) - statement_timestamp()) * 1000)) filter (where status <> 'in_flight' and not blocked)::float8 as wait_ms,
       coalesce(bool_or(exists (select from destination t where t.id = open.destination_id and t.paused_at is not null)), false) as paused
     from open`,
    scopeValues(scope),
  )
  return {
    inFlight: row?.in_flight ?? 0,
    waiting: row?.waiting ?? 0,
    blocked: row?.blocked ?? 0,
    waitMs: row?.wait_ms ?? 0,
    paused: row?.paused ?? false,
  }
}

/** Renews the leases of all batches of this worker. Returns the batches that it still holds. */
export async function renewLeases(db: Queryable, workerId: string, leaseMs: number): Promise<number> {
  return db.execute(
    `update batch set lease_until = statement_timestamp() + $2 * interval '1 millisecond' where worker_id = $1 and status = 'in_flight' and lease_until > statement_timestamp()`,
    [workerId, leaseMs],
  )
}

export type Release =
  /** Send the same bytes later. */
  | {
      readonly to: 'open'
      readonly reason: string | null
      readonly waitMs: number
      readonly wrongAlike?: number
      readonly maybeApplied: boolean
    }
  /** No more attempts in this run; one more in each later run. */
  | { readonly to: 'parked'; readonly reason: string }
  /** Every entry has its final outcome. */
  | { readonly to: 'settled' }
  /** Its entries were moved to other batches. */
  | { readonly to: 'split'; readonly reason: string }
  /** Its entries will not be sent. */
  | { readonly to: 'superseded'; readonly reason: string }

/** SQL of the time from which no attempt of batch `b` can arrive late; `horizonMs`: SQL of the horizon. */
export const settledAt = (horizonMs: string): string =>
  `greatest(statement_timestamp(), (
     select max(a.finished_at) + ${horizonMs} * interval '1 millisecond' from attempt a where a.batch_id = b.id and (a.answer ->> 'mayLandLater')::boolean))`

/**
 * Gives a claimed batch its next state and ends the lease. `settled_at` waits for the horizon of its late attempts.
 *
 * @throws {LeaseLost}
 */
export async function releaseBatch(
  tx: Queryable,
  batch: Pick<ClaimedBatch, 'id' | 'epoch'>,
  release: Release,
  horizonMs: number,
): Promise<void> {
  const open = release.to === 'open'
  const status = open ? (release.maybeApplied ? 'ambiguous' : 'pending') : release.to
  const reason = release.to === 'settled' ? null : release.reason
  const hit = await tx.execute(
    `update batch b set status = $3, reason = case when $8 and reason in ${waitingReasons} then reason else $4 end, lease_until = null, worker_id = null,
       next_attempt_at = case when $5::float8 > 0 then statement_timestamp() + $5::float8 * interval '1 millisecond' end,
       wrong_alike = coalesce($6, case when $3 = 'settled' then 0 else wrong_alike end),
       settled_at = case when $3 in ('settled', 'split', 'superseded') then ${settledAt('$7')} end
     where id = $1 and epoch = $2 and status = 'in_flight'`,
    [batch.id, batch.epoch, status, reason, open ? release.waitMs : 0, open ? (release.wrongAlike ?? null) : null, horizonMs, open],
  )
  if (hit !== 1) throw new LeaseLost()
}

/**
 * Recovers batches of expired workers: the lease is over, or the process is known to be dead. With an attempt begun the bytes may
 * be at the service (ambiguous, and they may arrive until the horizon); without one nothing left this machine.
 * Never touches a live lease or a batch of another service, whose horizon is not known here.
 */
export async function recoverBatches(db: Database, deadWorkerIds: readonly string[], horizonMs: number, fence: Fence): Promise<number> {
  return db.transaction(async (tx) => {
    const rows = await tx.query<{ id: string; begun: boolean }>(
      `with lost as (
         select b.id from batch b where b.status = 'in_flight' and (b.lease_until < statement_timestamp() or b.worker_id = any($1)) and ${inFence}
         for update skip locked),
       ended as (
         update attempt a set outcome = 'ambiguous', reason = 'worker_died', finished_at = statement_timestamp(), answer = '{"mayLandLater": true}'
         from lost where a.batch_id = lost.id and a.outcome is null returning a.batch_id)
       update batch b
       set lease_until = null, worker_id = null, next_attempt_at = null, reason = coalesce(nullif(b.reason, ''), 'worker_died'),
         status = case when exists (select from ended where batch_id = b.id)
           or exists (select from attempt a where a.batch_id = b.id and a.outcome = 'ambiguous') then 'ambiguous' else 'pending' end
       from lost where b.id = lost.id returning b.id, exists (select from ended where batch_id = b.id) as begun`,
      [deadWorkerIds, fence.origin, fence.credentials],
    )
    const begun = rows.filter((row) => row.begun).map((row) => row.id)
    if (begun.length > 0) await markLate(tx, begun, horizonMs)
    if (rows.length > 0) {
      await tx.execute(addLines(`select 'rescue', 'batch.rescued', plan_id, id, '{}'::jsonb from batch where id = any($1::bigint[])`), [
        rows.map((row) => row.id),
      ])
    }
    return rows.length
  })
}

/** Marks batches whose bytes may arrive until the horizon: nothing newer for their keys is sent before (docs/guarantees.md#key-order). */
export async function markLate(tx: Queryable, batchIds: readonly (number | string)[], horizonMs: number): Promise<void> {
  await storeKeysOfBatches(tx, batchIds)
  // The keys as an array: joined, Postgres may compare all keys of the destination with those of the batch, because it has no statistics of
  // keys that were just stored (77 batches of 5,000 keys: 163 s).
  for (const id of batchIds) {
    await tx.execute(
      `update remote m set late_until = greatest(m.late_until, statement_timestamp() + $2 * interval '1 millisecond')
       where m.destination_id = (select destination_id from batch where id = $1::bigint)
         and m.key = any(array(select k.key from ${keysOf('$1::bigint')} k))`,
      [id, horizonMs],
    )
  }
}

/** Opens parked leftovers for one more attempt in this run (docs/guarantees.md#bounded-retry). */
export async function unparkBatches(db: Queryable, destinationId: number, maxAttempts: number): Promise<number> {
  return db.execute(
    `update batch b set attempts = $2, next_attempt_at = null,
       status = case when exists (select from attempt a where a.batch_id = b.id and a.outcome = 'ambiguous') then 'ambiguous' else 'pending' end
     where destination_id = $1 and status = 'parked'`,
    [destinationId, Math.max(1, maxAttempts - 1)],
  )
}

/**
 * Resets the attempts of older open batches at the start of a run. A planned second delete of a suppressed identifier keeps its
 * waiting time until it was sent once: before the horizon late bytes could still restore what it deletes.
 */
export async function resetAttempts(db: Queryable, destinationId: number): Promise<void> {
  await db.execute(
    `update batch set attempts = 1, next_attempt_at = null
     where destination_id = $1 and phase <> ${erasurePhase} and (status = 'ambiguous' or (status = 'pending' and attempts > 0))
       and not (operation = 'delete' and epoch = 0 and coalesce(reason, '') = 'suppressed')`,
    [destinationId],
  )
}

interface BatchRow extends BodyRow {
  readonly id: string
  readonly plan_id: string
  readonly destination_id: number
  readonly seq: number
  readonly phase: number
  readonly operation: Operation
  readonly epoch: number
  readonly entry_count: number
  readonly user_count: number
  readonly parent_id: string | null
  readonly maybe_applied: boolean
  readonly attempts: number
  readonly wrong_alike: number
  readonly reason: string | null
  readonly expired: boolean
  readonly of_load: boolean
}

function toBatch(row: BatchRow): ClaimedBatch {
  return {
    id: Number(row.id),
    planId: row.plan_id,
    destinationId: row.destination_id,
    seq: row.seq,
    phase: row.phase,
    operation: row.operation,
    epoch: row.epoch,
    body: bodyOf(row),
    bodySha256: row.body_sha256,
    entryCount: row.entry_count,
    userCount: row.user_count,
    parentId: row.parent_id === null ? null : Number(row.parent_id),
    maybeApplied: row.maybe_applied,
    attempts: row.attempts,
    wrongAlike: row.wrong_alike,
    reason: row.reason,
    expired: row.expired,
    ofLoad: row.of_load,
  }
}
