/**
 * The batch table: who holds which bytes (I3, I4, I6). A claim is a lease with an epoch, by the database's clock; every
 * write of an owner names its epoch and must hit one row, else it lost the batch and says so.
 */
import type { Database, Queryable } from './database.ts'
import type { Operation } from '../destinations/destination.ts'

/** Which batches a pusher works on: those of one plan, or what earlier plans left unsettled at a destination. */
export type BatchScope = { readonly planId: string } | { readonly leftoversOf: number }

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
  /** It may have been applied already: whatever happens now, it stays ambiguous until an answer settles it. */
  readonly maybeApplied: boolean
  readonly attempts: number
  readonly wrongAlike: number
  readonly reason: string | null
  readonly expired: boolean
}

/** The lease was lost: another process holds the batch now, and this one's result counts for nothing. */
export class LeaseLost extends Error {}

/** Reason of a right half that waits for its left sibling: when that is clean, the fault must be in this one. */
export const afterSibling = 'after_sibling'
/** Reason of the rest beside what an answer pointed at: it waits to see whether the pointer was right. */
export const afterPointed = 'after_pointed'
/** Reason of what was set aside while a culprit is looked for elsewhere: it goes as one request when that is done. */
export const afterIsolation = 'after_isolation'
const waitingReasons = `('${afterSibling}', '${afterPointed}', '${afterIsolation}')`

/** Settled means that bytes of an earlier attempt cannot land any more either: `settled_at` may lie ahead (guarantees 1). */
const openDeletes = `select from sluice.batch d where d.plan_id = b.plan_id and d.phase = 1 and d.operation = 'delete'
  and (d.status in ('pending', 'in_flight', 'ambiguous', 'parked') or (d.status <> 'superseded' and d.settled_at > clock_timestamp()))`

// Never null: `null and exists (…)` would look at all batches of the plan for each of them.
const waitsForOthers = `coalesce(b.reason, '') in ${waitingReasons} and exists (
  select from sluice.batch s where s.plan_id = b.plan_id and s.status in ('pending', 'in_flight', 'ambiguous')
    and case when b.reason = '${afterIsolation}' then s.parent_id is not null and s.reason is distinct from '${afterIsolation}' else s.parent_id = b.parent_id and s.seq < b.seq end)`

const inScope = (scope: BatchScope) =>
  'planId' in scope
    ? `b.plan_id = $1`
    : // What may have been applied, or was sent at all; never a stored plan that still waits for its `apply`.
      `b.destination_id = $1::int and (b.status = 'ambiguous' or b.attempts > 0)`

const scopeValue = (scope: BatchScope) => ('planId' in scope ? scope.planId : scope.leftoversOf)

/**
 * Takes up to `count` batches that may go now, what may have been applied first. None while the destination is paused.
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
       from sluice.batch b
       where ${inScope(scope)} and b.status in ('pending', 'ambiguous') and (b.next_attempt_at is null or b.next_attempt_at <= clock_timestamp())
         and (b.phase = 1 or not exists (${openDeletes})) and not (${waitsForOthers})
         and exists (select from sluice.destination t where t.id = b.destination_id and t.paused_at is null)
       order by b.status = 'ambiguous' desc, b.phase, b.seq
       limit $4 for update of b skip locked)
     update sluice.batch b
     set status = 'in_flight', epoch = epoch + 1, worker_id = $2, lease_until = clock_timestamp() + $3 * interval '1 millisecond'
     from due where b.id = due.id
     returning b.id, b.plan_id, b.destination_id, b.seq, b.phase, b.operation, b.epoch, convert_from(b.body, 'UTF8') as body, b.body_sha256, b.entry_count, b.user_count,
       b.parent_id, due.maybe_applied, b.attempts, b.wrong_alike, b.reason, coalesce(b.expires_at <= clock_timestamp(), false) as expired`,
    [scopeValue(scope), options.workerId, options.leaseMs, options.count],
  )
  return rows.map(toBatch).sort((a, b) => a.seq - b.seq)
}

/** What is left in the scope: whether to wait, for how long, or to go. */
export interface OpenWork {
  /** Somebody sends it just now. */
  readonly inFlight: number
  /** May go at once or later in this run; waiting for a backoff, a horizon, a delete or a sibling. */
  readonly waiting: number
  /** Until the earliest of them may go; 0 when one may go now. */
  readonly waitMs: number
  /** Phase 2 behind a delete that is parked: nothing here will free it. */
  readonly blocked: number
  readonly paused: boolean
}

export async function findOpenWork(db: Queryable, scope: BatchScope): Promise<OpenWork> {
  const [row] = await db.query<{ in_flight: number; waiting: number; blocked: number; wait_ms: number | null; paused: boolean }>(
    `with open as (
       select b.*, b.phase = 2 and exists (
           select from sluice.batch d where d.plan_id = b.plan_id and d.phase = 1 and d.operation = 'delete' and d.status = 'parked') as blocked,
         case when b.phase = 2 then (
           select max(d.settled_at) from sluice.batch d where d.plan_id = b.plan_id and d.phase = 1 and d.operation = 'delete' and d.status <> 'superseded') end as deletes_settled_at
       from sluice.batch b where ${inScope(scope)} and b.status in ('pending', 'ambiguous', 'in_flight'))
     select count(*) filter (where status = 'in_flight')::int as in_flight,
       count(*) filter (where status <> 'in_flight' and not blocked)::int as waiting,
       count(*) filter (where status <> 'in_flight' and blocked)::int as blocked,
       min(greatest(0, extract(epoch from greatest(next_attempt_at, deletes_settled_at) - clock_timestamp()) * 1000)) filter (where status <> 'in_flight' and not blocked)::float8 as wait_ms,
       coalesce(bool_or(exists (select from sluice.destination t where t.id = open.destination_id and t.paused_at is not null)), false) as paused
     from open`,
    [scopeValue(scope)],
  )
  return {
    inFlight: row?.in_flight ?? 0,
    waiting: row?.waiting ?? 0,
    blocked: row?.blocked ?? 0,
    waitMs: row?.wait_ms ?? 0,
    paused: row?.paused ?? false,
  }
}

/** Lengthens the leases of everything that this worker holds. Batches that it lost are not among the returned. */
export async function renewLeases(db: Queryable, workerId: string, leaseMs: number): Promise<number> {
  return db.execute(
    `update sluice.batch set lease_until = clock_timestamp() + $2 * interval '1 millisecond' where worker_id = $1 and status = 'in_flight' and lease_until > clock_timestamp()`,
    [workerId, leaseMs],
  )
}

export type Release =
  /** Later, the same bytes. */
  | {
      readonly to: 'open'
      readonly reason: string | null
      readonly waitMs: number
      readonly wrongAlike?: number
      readonly maybeApplied: boolean
    }
  /** Enough for this run; once more in each later one. */
  | { readonly to: 'parked'; readonly reason: string }
  /** Every entry has its final outcome. */
  | { readonly to: 'settled' }
  /** Its entries live on in other batches. */
  | { readonly to: 'split'; readonly reason: string }
  /** Its entries will not be sent. */
  | { readonly to: 'superseded'; readonly reason: string }

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
    `update sluice.batch b set status = $3, reason = case when $8 and reason in ${waitingReasons} then reason else $4 end, lease_until = null, worker_id = null,
       next_attempt_at = case when $5::float8 > 0 then clock_timestamp() + $5::float8 * interval '1 millisecond' end,
       wrong_alike = coalesce($6, case when $3 = 'settled' then 0 else wrong_alike end),
       settled_at = case when $3 in ('settled', 'split', 'superseded') then greatest(clock_timestamp(), (
         select max(a.finished_at) + $7 * interval '1 millisecond' from sluice.attempt a where a.batch_id = b.id and (a.answer ->> 'mayLandLater')::boolean)) end
     where id = $1 and epoch = $2 and status = 'in_flight'`,
    [batch.id, batch.epoch, status, reason, open ? release.waitMs : 0, open ? (release.wrongAlike ?? null) : null, horizonMs, open],
  )
  if (hit !== 1) throw new LeaseLost()
}

/**
 * Takes back what dead processes held: their lease is over, or they are proven dead. With an attempt begun the bytes may
 * be at the service (ambiguous, and they may land until the horizon); without one nothing left this machine.
 * A live lease is never touched.
 */
export async function rescueBatches(db: Database, deadWorkerIds: readonly string[], horizonMs: number): Promise<number> {
  return db.transaction(async (tx) => {
    const rows = await tx.query<{ id: string; begun: boolean }>(
      `with lost as (
         select id from sluice.batch where status = 'in_flight' and (lease_until < clock_timestamp() or worker_id = any($1)) for update skip locked),
       ended as (
         update sluice.attempt a set outcome = 'ambiguous', reason = 'worker_died', finished_at = clock_timestamp(), answer = '{"mayLandLater": true}'
         from lost where a.batch_id = lost.id and a.outcome is null returning a.batch_id)
       update sluice.batch b
       set lease_until = null, worker_id = null, next_attempt_at = null, reason = coalesce(nullif(b.reason, ''), 'worker_died'),
         status = case when exists (select from ended where batch_id = b.id)
           or exists (select from sluice.attempt a where a.batch_id = b.id and a.outcome = 'ambiguous') then 'ambiguous' else 'pending' end
       from lost where b.id = lost.id returning b.id, exists (select from ended where batch_id = b.id) as begun`,
      [deadWorkerIds],
    )
    const begun = rows.filter((row) => row.begun).map((row) => row.id)
    if (begun.length > 0) await markLate(tx, begun, horizonMs)
    if (rows.length > 0) {
      await tx.execute(
        `insert into sluice.audit (actor, what, plan_id, batch_id) select 'rescue', 'batch.rescued', plan_id, id from sluice.batch where id = any($1::bigint[])`,
        [rows.map((row) => row.id)],
      )
    }
    return rows.length
  })
}

/** Bytes for these batches' keys may land until the horizon: nothing newer goes before (I3). */
export async function markLate(tx: Queryable, batchIds: readonly (number | string)[], horizonMs: number): Promise<void> {
  await tx.execute(
    `update sluice.remote m set late_until = greatest(m.late_until, clock_timestamp() + $2 * interval '1 millisecond')
     from sluice.entry e cross join lateral unnest(e.keys) as k (key)
     where e.batch_id = any($1::bigint[]) and m.destination_id = e.destination_id and m.key = k.key`,
    [batchIds, horizonMs],
  )
}

/** Parked leftovers may send their bytes once more in this run (I15). */
export async function unparkBatches(db: Queryable, destinationId: number, maxAttempts: number): Promise<number> {
  return db.execute(
    `update sluice.batch b set attempts = $2, next_attempt_at = null,
       status = case when exists (select from sluice.attempt a where a.batch_id = b.id and a.outcome = 'ambiguous') then 'ambiguous' else 'pending' end
     where destination_id = $1 and status = 'parked'`,
    [destinationId, Math.max(1, maxAttempts - 1)],
  )
}

/** Older open batches begin a new run with all their attempts before them. */
export async function resetAttempts(db: Queryable, destinationId: number): Promise<void> {
  await db.execute(
    `update sluice.batch set attempts = 1, next_attempt_at = null where destination_id = $1 and (status = 'ambiguous' or (status = 'pending' and attempts > 0))`,
    [destinationId],
  )
}

export async function pauseDestination(tx: Queryable, destinationId: number, reason: string): Promise<void> {
  await tx.execute(`update sluice.destination set paused_at = coalesce(paused_at, clock_timestamp()), paused_reason = $2 where id = $1`, [
    destinationId,
    reason,
  ])
}

export async function resumeDestination(db: Queryable, destinationId: number): Promise<void> {
  await db.execute(`update sluice.destination set paused_at = null, paused_reason = null where id = $1 and paused_at is not null`, [
    destinationId,
  ])
}

interface BatchRow {
  readonly id: string
  readonly plan_id: string
  readonly destination_id: number
  readonly seq: number
  readonly phase: number
  readonly operation: Operation
  readonly epoch: number
  /** As text, because bytea comes as hex: half a megabyte twice as long, and decoded once more. */
  readonly body: string
  readonly body_sha256: Buffer
  readonly entry_count: number
  readonly user_count: number
  readonly parent_id: string | null
  readonly maybe_applied: boolean
  readonly attempts: number
  readonly wrong_alike: number
  readonly reason: string | null
  readonly expired: boolean
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
    body: Buffer.from(row.body),
    bodySha256: row.body_sha256,
    entryCount: row.entry_count,
    userCount: row.user_count,
    parentId: row.parent_id === null ? null : Number(row.parent_id),
    maybeApplied: row.maybe_applied,
    attempts: row.attempts,
    wrongAlike: row.wrong_alike,
    reason: row.reason,
    expired: row.expired,
  }
}
