/**
 * Splits and merges frozen batches. Whole entries move to new batches; the bytes of an entry never change
 * (docs/guarantees.md#idempotent-resend).
 */
import type { Destination } from '../../destinations/destination.ts'
import { pack } from '../../destinations/requestBodies.ts'
import { expandEntries } from '../entries/expand.ts'
import { moveEntries } from '../entries/outcomes.ts'
import { entriesOf } from '../entries/read.ts'
import type { Queryable } from '../queryable.ts'
import type { Row } from '../row.ts'
import type { ClaimedBatch } from './claim.ts'
import { insertFollowing, lockEndOfPlan } from './insert.ts'
import { endMerged } from './release.ts'

/** Part of a batch, and the state of the new batch. */
export interface Part {
  /** Places in the body of the parent, ascending. */
  readonly ords: readonly number[]
  readonly maybeApplied: boolean
  /** True if the new batch has no attempts left in this run. */
  readonly parked: boolean
  readonly attempts: number
  /** Number of consecutive complete answers with wrong counts. */
  readonly miscounts: number
  readonly reason: string | null
  /** Milliseconds until the new batch may be sent; 0: immediately. */
  readonly waitMs: number
}

/** Entry with its bytes. */
interface Slice {
  readonly ord: number
  readonly bytes: Buffer
  readonly users: number
  readonly expiresAt: Date | null
}

/**
 * Moves entries of a batch that the caller has claimed into new batches at the end of the same plan. Entries that are in no part
 * stay with the parent. The caller writes the next state of the parent. Returns the new ids, in the order of the parts.
 */
export async function splitBatch(tx: Queryable, destination: Destination, batch: ClaimedBatch, parts: readonly Part[]): Promise<number[]> {
  await expandEntries(tx, [batch.id])
  const slices = await readSlices(tx, batch)
  await lockEndOfPlan(tx, batch.planId)
  const ids: number[] = []
  for (const { ords, ...next } of parts) {
    const chosen = ords.map((ord) => {
      const slice = slices.get(ord)
      if (slice === undefined) throw new Error(`batch ${batch.id} has no entry ${ord}`)
      return slice
    })
    const packed = pack(chosen, destination.frame(batch.operation))
    const expiries = chosen.flatMap((slice) => (slice.expiresAt === null ? [] : [slice.expiresAt.getTime()]))
    const id = await insertFollowing(tx, {
      ...next,
      planId: batch.planId,
      destinationId: batch.destinationId,
      parentId: batch.id,
      phase: batch.phase,
      operation: batch.operation,
      body: packed.body,
      sha256: packed.sha256,
      entryCount: chosen.length,
      userCount: chosen.reduce((sum, slice) => sum + slice.users, 0),
      expiresAt: expiries.length === 0 ? null : new Date(Math.min(...expiries)),
    })
    await moveEntries(
      tx,
      id,
      ords.map((ord) => ({ batchId: batch.id, ord })),
      packed.offsets,
    )
    ids.push(id)
  }
  return ids
}

/**
 * Moves all entries of the batches `ids` into one new batch, in the order of `ids`. Ends the old batches as split. The batches must be of
 * one plan. The caller must have locked them, and none may be in flight. Does nothing if they have no entries.
 */
export async function mergeBatches(
  tx: Queryable,
  destination: Destination,
  ids: readonly number[],
  part: Omit<Part, 'ords' | 'maybeApplied' | 'parked' | 'waitMs'> & { readonly parentId: number },
): Promise<void> {
  const [combined] = await tx.query<Row<'batch', 'plan_id' | 'destination_id' | 'phase' | 'operation' | 'maybe_applied' | 'expires_at'>>(
    `select min(plan_id) as plan_id, min(destination_id) as destination_id, min(phase) as phase, min(operation) as operation, bool_or(maybe_applied) as maybe_applied, min(expires_at) as expires_at
     from batch where id = any($1::bigint[])`,
    [ids],
  )
  await expandEntries(tx, ids)
  const rows = await tx.query<Row<'entry', 'batch_id' | 'ord' | 'users'> & { readonly bytes: Buffer }>(
    `select e.batch_id, e.ord, substring(b.body from e.byte_offset + 1 for e.byte_length) as bytes, e.users
     from batch b join entry e on e.batch_id = b.id where b.id = any($1::bigint[]) order by array_position($1::bigint[], b.id), e.ord`,
    [ids],
  )
  if (combined === undefined || rows.length === 0) return
  const merged = pack(rows, destination.frame(combined.operation))
  await lockEndOfPlan(tx, combined.plan_id)
  const id = await insertFollowing(tx, {
    ...part,
    planId: combined.plan_id,
    destinationId: combined.destination_id,
    phase: combined.phase,
    operation: combined.operation,
    maybeApplied: combined.maybe_applied,
    parked: false,
    body: merged.body,
    sha256: merged.sha256,
    entryCount: rows.length,
    userCount: rows.reduce((sum, entry) => sum + entry.users, 0),
    expiresAt: combined.expires_at,
    waitMs: 0,
  })
  await moveEntries(
    tx,
    id,
    rows.map((row) => ({ batchId: row.batch_id, ord: row.ord })),
    merged.offsets,
  )
  await endMerged(tx, ids)
}

/** Returns the places of the entries that are still in the batch, ascending. `where`: SQL condition on the entry `e`. */
export async function remainingOrds(tx: Queryable, batchId: number, where = 'true'): Promise<number[]> {
  const rows = await tx.query<Row<'entry', 'ord'>>(`select e.ord from ${entriesOf('$1::bigint')} e where ${where} order by e.ord`, [
    batchId,
  ])
  return rows.map((row) => row.ord)
}

async function readSlices(tx: Queryable, batch: ClaimedBatch): Promise<Map<number, Slice>> {
  const rows = await tx.query<Row<'entry', 'ord' | 'byte_offset' | 'byte_length' | 'users' | 'expires_at'>>(
    'select ord, byte_offset, byte_length, users, expires_at from entry where batch_id = $1 order by ord',
    [batch.id],
  )
  return new Map(
    rows.map((row) => [
      row.ord,
      {
        ord: row.ord,
        bytes: batch.body.subarray(row.byte_offset, row.byte_offset + row.byte_length),
        users: row.users,
        expiresAt: row.expires_at,
      },
    ]),
  )
}
