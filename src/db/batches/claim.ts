/**
 * Claims batches (docs/guarantees.md#key-order, #one-holder, #crash-safe). A claim is a lease with an epoch, by the database's clock. Every
 * later write except the renewal of the lease checks the epoch. If the check fails, another process has recovered or claimed the batch, and
 * the result is dropped.
 */
import type { Queryable } from '../database.ts'
import { bodyColumns, bodyOf, keysOf, type BodyRow } from '../entries/read.ts'
import { isPausedByCancellation } from '../destinations.ts'
import { withinFence, type Fence } from '../fence.ts'
import { isPushedByRun } from '../runs/queued.ts'
import { mayImply } from '../impliedKeys.ts'
import type { DbRow } from '../row.ts'
import type { Operation } from '../../destinations/destination.ts'
import { afterIsolation, erasurePhase, openStatuses, waitingReasons } from './states.ts'

/**
 * Batches that a push sends. One of:
 * - the batches of a plan, without the deletes of erasures; with `isHelper`, only while a run pushes the plan
 * - the batches of a destination that were sent before (`resendOf`); with `phase`, only those of this phase
 * - the deletes of an erasure
 */
export type BatchScope = (
  | { readonly planId: string; readonly isHelper?: boolean }
  | { readonly resendOf: number; readonly phase?: typeof erasurePhase }
  /** The deletes of an erasure at one audience. */
  | { readonly erasure: number; readonly audience: number }
) & { readonly fence: Fence }

/** Batch whose lease this process has. */
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
  /** True if the service may have applied the batch already. Then the batch is ambiguous until an answer resolves it. */
  readonly maybeApplied: boolean
  readonly attempts: number
  readonly miscounts: number
  readonly reason: string | null
  /** True if the earliest end of its memberships has passed. */
  readonly expired: boolean
  /** True for a batch of a first load if its keys are not stored as rows of `remote` yet (`mayImply` in `db/impliedKeys.ts`). */
  readonly mayImplyKeys: boolean
}

/** SQL of the deletes `d` of phase 1 in the plan of batch `b`. A further condition may follow. */
const phaseOneDeletes = `batch d where d.plan_id = b.plan_id and d.phase = 1 and d.operation = 'delete'`

/**
 * SQL of the deletes that the update `b` of phase 2 waits for. They are open, or one of their attempts may still arrive at the service
 * (`settledAt` in `release.ts`).
 */
const openDeletes = `select from ${phaseOneDeletes}
  and (d.status in ${openStatuses} or (d.status <> 'superseded' and d.settled_at > statement_timestamp()))`

/** SQL condition: batch `s` is a part of a split batch and does not wait for the end of an isolation. */
const isPartOfIsolation = `s.parent_id is not null and s.reason is distinct from '${afterIsolation}'`
/** SQL condition: batch `s` has the same parent as batch `b`, and comes before it in the plan. */
const isEarlierSibling = 's.parent_id = b.parent_id and s.seq < b.seq'

/**
 * SQL condition: batch `b` waits for an earlier batch of the same parent, or for the end of an isolation. `coalesce` saves time: with a
 * null reason Postgres would evaluate `exists` for each batch of the plan.
 */
const waitsForOthers = `coalesce(b.reason, '') in ${waitingReasons} and exists (
  select from batch s where s.plan_id = b.plan_id and s.status in ('pending', 'in_flight', 'ambiguous')
    and case when b.reason = '${afterIsolation}' then ${isPartOfIsolation} else ${isEarlierSibling} end)`

/** Returns the SQL condition: batch `b` is in the scope. `$1`: first value of `scopeValues`. */
const inScope = (scope: BatchScope) => {
  if ('planId' in scope)
    return `b.plan_id = $1 and b.phase <> ${erasurePhase} ${scope.isHelper ? `and exists (select from plan p where p.id = $1 and ${isPushedByRun})` : ''}`
  if ('erasure' in scope)
    return `b.id in (select batch_id from erasure_delete where erasure_id = $1::bigint) and b.destination_id = ${scope.audience}`
  // Batches of plans that wait for `apply` were never sent, so they are left out. Deletes of suppressed people count as sent from the start
  // (`insertDeleteBatch`).
  return `b.destination_id = $1::int and (b.maybe_applied or b.attempts > 0) ${scope.phase === undefined ? '' : `and b.phase = ${scope.phase}`}
    and (b.phase <> ${erasurePhase} or (coalesce(b.next_attempt_at, '-infinity') <= statement_timestamp() and not (${updateOfPersonInFlight})))`
}

/**
 * SQL condition: `b` is a delete of an erasure, and an update with one of its keys is in flight. The update could restore the person, so
 * the delete waits until the update has ended.
 */
const updateOfPersonInFlight = `b.phase = ${erasurePhase} and exists (
  select from batch u cross join ${keysOf('u.id')} f
  where u.destination_id = b.destination_id and u.status = 'in_flight' and u.lease_until > statement_timestamp() and u.operation = 'upsert'
    and f.key in (select k.key from entry e cross join lateral unnest(e.keys) as k (key) where e.batch_id = b.id))`

const inFence = withinFence('b.destination_id', '$2', '$3')

/** Returns the SQL condition: batch `b` is in the scope and in its fence, with `scopeValues` as `$1` to `$3`. */
export const inScopeAndFence = (scope: BatchScope) => `${inScope(scope)} and ${inFence}`

/**
 * Returns the SQL condition that the destination of `batch` is paused. The pause of a cancelled run does not apply to the deletes of an
 * erasure.
 */
const isPausedFor = (scope: BatchScope, batch: string) =>
  `exists (select from destination t where t.id = ${batch}.destination_id and t.paused_at is not null
    ${'erasure' in scope ? `and not ${isPausedByCancellation('t')}` : ''})`

/** Returns the parameters `$1` of `inScope`, `$2` and `$3` of `inFence`. */
export const scopeValues = (scope: BatchScope) => [
  'planId' in scope ? scope.planId : 'erasure' in scope ? scope.erasure : scope.resendOf,
  scope.fence.origin,
  scope.fence.credentials,
]

const claimedColumns = `b.id, b.plan_id, b.destination_id, b.seq, b.phase, b.operation, b.epoch, ${bodyColumns}, b.entry_count, b.user_count,
   b.parent_id, b.maybe_applied, b.attempts, b.miscounts, b.reason, coalesce(b.expires_at <= statement_timestamp(), false) as expired,
   ${mayImply('b')} as may_imply_keys`

/**
 * Claims up to `count` batches that may be sent now. Prefers ambiguous batches. Returns the claimed batches in the order of `seq`, which is
 * the order of sending if they are of one plan. Claims none while the destination is paused (`isPausedFor`). Updates of phase 2 wait until
 * every delete of phase 1 of their plan has ended and can no longer arrive late.
 *
 * Adds `updateOfPersonInFlight` only for the scope of an erasure. The scope of a plan has no deletes of erasures, and for `resendOf` the
 * condition is in `inScope`. Postgres takes 2 ms to optimize the condition, more than the rest of a claim. A plan of two batches needs
 * four claims.
 */
export async function claimBatches(
  db: Queryable,
  scope: BatchScope,
  options: { readonly workerId: string; readonly leaseMs: number; readonly count: number },
): Promise<ClaimedBatch[]> {
  const rows = await db.query<BatchRow>(
    `with due as (
       select b.id from batch b
       where ${inScopeAndFence(scope)} and b.status in ('pending', 'ambiguous') and (b.next_attempt_at is null or b.next_attempt_at <= statement_timestamp())
         and (b.phase <= 1 or not exists (${openDeletes})) and not (${waitsForOthers}) ${'erasure' in scope ? `and not (${updateOfPersonInFlight})` : ''}
         and not ${isPausedFor(scope, 'b')}
       order by b.status = 'ambiguous' desc, b.phase, b.seq
       limit $6 for update of b skip locked)
     update batch b
     set status = 'in_flight', epoch = epoch + 1, worker_id = $4, lease_until = statement_timestamp() + $5 * interval '1 millisecond'
     from due where b.id = due.id
     returning ${claimedColumns}`,
    [...scopeValues(scope), options.workerId, options.leaseMs, options.count],
  )
  return rows.map(toBatch).sort((a, b) => a.seq - b.seq)
}

/** Claims one batch, even if it waits or is parked. Returns undefined if the batch is in flight or has ended. Does not check the fence. */
export async function claimById(tx: Queryable, id: number, workerId: string, leaseMs: number): Promise<ClaimedBatch | undefined> {
  const rows = await tx.query<BatchRow>(
    `update batch b
     set status = 'in_flight', epoch = epoch + 1, worker_id = $2, lease_until = statement_timestamp() + $3 * interval '1 millisecond'
     where b.id = $1 and b.status in ('pending', 'ambiguous', 'parked') returning ${claimedColumns}`,
    [id, workerId, leaseMs],
  )
  return rows[0] && toBatch(rows[0])
}

/** Batches of a scope that this run has not finished yet. */
export interface OpenWork {
  /** Number of claimed batches, also of those whose lease has expired. */
  readonly inFlight: number
  /**
   * Number of batches that may be sent now or later in this run. They wait for a backoff, for the end of possible late arrivals, or for
   * another batch. Leaves out batches of phase 2 that wait for a parked delete.
   */
  readonly waiting: number
  /** Milliseconds until the first waiting batch may be sent, as far as a time is known; else 0. */
  readonly waitMs: number
  /** True if the destination of one of these batches is paused. */
  readonly paused: boolean
}

/** Returns true if no batch is in flight or may be sent. */
export function isIdle({ inFlight, waiting, paused }: OpenWork): boolean {
  return inFlight === 0 && (waiting === 0 || paused)
}

/** Counts the pending, ambiguous and claimed batches of a scope. Parked batches do not count, because this run does not send them. */
export async function findOpenWork(db: Queryable, scope: BatchScope): Promise<OpenWork> {
  const isWaiting = `status <> 'in_flight' and not blocked`
  const [row] = await db.query<{ in_flight: number; waiting: number; wait_ms: number | null; paused: boolean }>(
    `with open as (
       select b.*, b.phase = 2 and exists (select from ${phaseOneDeletes} and d.status = 'parked') as blocked,
         case when b.phase = 2 then (select max(d.settled_at) from ${phaseOneDeletes} and d.status <> 'superseded') end as deletes_settled_at
       from batch b where ${inScopeAndFence(scope)} and b.status in ('pending', 'ambiguous', 'in_flight'))
     select count(*) filter (where status = 'in_flight')::int as in_flight,
       count(*) filter (where ${isWaiting})::int as waiting,
       min(greatest(0, extract(epoch from greatest(next_attempt_at, deletes_settled_at) - statement_timestamp()) * 1000))
         filter (where ${isWaiting})::float8 as wait_ms,
       coalesce(bool_or(${isPausedFor(scope, 'open')}), false) as paused
     from open`,
    scopeValues(scope),
  )
  return {
    inFlight: row?.in_flight ?? 0,
    waiting: row?.waiting ?? 0,
    waitMs: row?.wait_ms ?? 0,
    paused: row?.paused ?? false,
  }
}

type BatchRow = BodyRow &
  DbRow<
    'batch',
    | 'id'
    | 'plan_id'
    | 'destination_id'
    | 'seq'
    | 'phase'
    | 'operation'
    | 'epoch'
    | 'entry_count'
    | 'user_count'
    | 'parent_id'
    | 'maybe_applied'
    | 'attempts'
    | 'miscounts'
    | 'reason'
  > & { readonly expired: boolean; readonly may_imply_keys: boolean }

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
    miscounts: row.miscounts,
    reason: row.reason,
    expired: row.expired,
    mayImplyKeys: row.may_imply_keys,
  }
}
