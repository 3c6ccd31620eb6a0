/**
 * Inserts batches: the batches of a plan by COPY, and batches that follow from another batch. These come at the end of that batch's plan.
 */
import type { Transaction } from '../database.ts'
import { CopyWriter } from '../copyBinary.ts'
import type { Queryable } from '../queryable.ts'
import type { ColumnName, DbRow } from '../row.ts'
import type { Operation } from '../../destinations/destination.ts'

/** Batch of a plan that is not committed yet. */
export interface FrozenBatch {
  readonly id: number
  readonly planId: string
  readonly destinationId: number
  readonly seq: number
  readonly phase: 1 | 2
  readonly operation: Operation
  /** Request body; undefined if its template is stored with the entries. */
  readonly body: Buffer | undefined
  readonly sha256: Buffer
  readonly entryCount: number
  readonly userCount: number
  /** Earliest end of its memberships in epoch milliseconds; undefined if none ends. */
  readonly expiresAtMs: number | undefined
  /** For a batch of a first load: id of the run, and the lowest record key of the batch. Undefined for other batches. */
  readonly load: { readonly id: number; readonly firstKey: Buffer } | undefined
}

const frozenBatchColumns = [
  'id',
  'plan_id',
  'destination_id',
  'seq',
  'phase',
  'operation',
  'body',
  'body_sha256',
  'entry_count',
  'user_count',
  'expires_at',
  'load_id',
  'first_key',
] as const satisfies readonly ColumnName<'batch'>[]

/** Reserves the ids of `count` batches. */
export async function reserveBatchIds(tx: Transaction, count: number): Promise<readonly number[]> {
  const rows = await tx.query<DbRow<'batch', 'id'>>(
    `select nextval(pg_get_serial_sequence('batch', 'id')) as id from generate_series(1, $1)`,
    [count],
  )
  return rows.map(({ id }) => Number(id))
}

/** Inserts the batches of a plan by COPY. */
export async function copyBatches(tx: Transaction, batches: readonly FrozenBatch[]): Promise<void> {
  const copy = new CopyWriter(tx.client, `batch (${frozenBatchColumns.join(', ')})`)
  for (const batch of batches) {
    copy.row(frozenBatchColumns.length)
    copy.int8(batch.id)
    copy.text(batch.planId)
    copy.int4(batch.destinationId)
    copy.int4(batch.seq)
    copy.int2(batch.phase)
    copy.text(batch.operation)
    copy.bytes(batch.body)
    copy.bytes(batch.sha256)
    copy.int4(batch.entryCount)
    copy.int4(batch.userCount)
    copy.timestamp(batch.expiresAtMs)
    copy.int8(batch.load?.id)
    copy.bytes(batch.load?.firstKey)
    if (copy.full) await copy.flush()
  }
  await copy.end()
}

/** Batch that follows from another batch: a part of it, a merge of parts, or a delete beside an update (`insertDeleteBatch`). */
export interface FollowingBatch {
  readonly planId: string
  readonly destinationId: number
  readonly parentId: number
  readonly phase: number
  readonly operation: Operation
  readonly maybeApplied: boolean
  readonly parked: boolean
  readonly body: Buffer
  readonly sha256: Buffer
  readonly entryCount: number
  readonly userCount: number
  readonly expiresAt: Date | null
  readonly attempts: number
  readonly miscounts: number
  readonly reason: string | null
  /** Milliseconds until the batch may be sent; 0: immediately. */
  readonly waitMs: number
}

/**
 * Locks a plan before batches are inserted at its end. Then two transactions cannot use the same `seq`. Does not block inserts of rows that
 * refer to the plan.
 */
export async function lockEndOfPlan(tx: Queryable, planId: string): Promise<void> {
  await tx.query('select from plan where id = $1 for no key update', [planId])
}

/** Returns the `seq` of the last batch of a plan; 0 if the plan has no batches. The caller must have locked the plan. */
export async function lastSeqOf(tx: Queryable, planId: string): Promise<number> {
  const [row] = await tx.query<{ seq: number | null }>('select max(seq) as seq from batch where plan_id = $1', [planId])
  return row?.seq ?? 0
}

const followingColumns = (
  [
    'plan_id',
    'destination_id',
    'seq',
    'phase',
    'operation',
    'status',
    'body',
    'body_sha256',
    'entry_count',
    'user_count',
    'parent_id',
    'expires_at',
    'attempts',
    'miscounts',
    'reason',
    'next_attempt_at',
    'maybe_applied',
  ] satisfies ColumnName<'batch'>[]
).join(', ')

/** Inserts a batch at the end of its plan. Returns its id. The caller must have locked the plan. */
export async function insertFollowing(tx: Queryable, batch: FollowingBatch): Promise<number> {
  const [row] = await tx.query<DbRow<'batch', 'id'>>(
    `insert into batch (${followingColumns})
     select $1, $2, (select max(seq) + 1 from batch where plan_id = $1), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
       case when $15::float8 > 0 then statement_timestamp() + $15::float8 * interval '1 millisecond' end, $16
     returning id`,
    [
      batch.planId,
      batch.destinationId,
      batch.phase,
      batch.operation,
      batch.parked ? 'parked' : batch.maybeApplied ? 'ambiguous' : 'pending',
      batch.body,
      batch.sha256,
      batch.entryCount,
      batch.userCount,
      batch.parentId,
      batch.expiresAt,
      batch.attempts,
      batch.miscounts,
      batch.reason,
      batch.waitMs,
      batch.maybeApplied,
    ],
  )
  return Number(row?.id)
}
