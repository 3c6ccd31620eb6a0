/**
 * Splits a batch that was refused, or that repeatedly got useless answers, until the failing record is alone
 * (docs/guarantees.md#isolation-of-a-failing-record). Useless: complete, but for example with wrong counts (`suspectsRecord`).
 */
import { logBatch } from '../../db/auditLog.ts'
import type { ClaimedBatch } from '../../db/batches/claim.ts'
import { releaseBatch } from '../../db/batches/release.ts'
import { halveSingleOperation, mergeBatches, remainingOrds, splitBatch, type Part } from '../../db/batches/split.ts'
import { afterIsolation, afterPointed, afterSibling, otherHalfConfirmed } from '../../db/batches/states.ts'
import type { Database, Queryable } from '../../db/database.ts'
import { expandEntries } from '../../db/entries/expand.ts'
import type { DbRow, Value } from '../../db/row.ts'
import { crashPoint } from '../crashPoint.ts'
import type { BatchChange } from './removeEntries.ts'

/** Batch that was refused, or repeatedly got useless answers, and the transaction that records its answer. */
interface FailedBatch extends BatchChange {
  /**
   * True to split off the records that the answer points at (names as failing). False after a wrong pointer in this push: then batches are
   * only halved.
   */
  readonly trustPointers: boolean
}

/** Reason to split a batch, and the state of its parts. */
export interface SplitCause {
  /** Places in the request that the answer points at, from 0; may be empty. */
  readonly failing: readonly number[]
  readonly reason: string
  /** Number of successive useless answers with which the parts start. */
  readonly miscounts: number
  /** True if the service may have applied the batch. */
  readonly maybeApplied: boolean
}

/** State of a part that has no attempt yet. */
const unsentPart = { parked: false, attempts: 0, waitMs: 0 } as const

/**
 * Splits off the records that the answer points at, or halves the batch. Also halves the only operation of a batch if it has several users.
 * A failing record costs one request per halving, and one more for all records that were set aside. Example, c fails:
 *
 * - abcd is refused, and split into ab and cd.
 * - ab is confirmed. So the failing record is in cd, which is split into c and d without being sent.
 * - c is refused. It is alone, so it is the failing record. d is set aside.
 * - d is confirmed, in one request with all records that were set aside.
 *
 * Returns `pointerWrong`: true if an earlier answer pointed only at records that are not in this batch, and none of those failed. Then the
 * batch is halved, because following wrong pointers would cost one request per record. Returns undefined if the batch cannot be split: it
 * has one record, or deletes several users in one operation.
 *
 * @throws {LeaseLost} the batch was recovered or claimed by another process
 */
export async function splitFailedBatch(
  failed: FailedBatch,
  { failing, reason, miscounts, maybeApplied }: SplitCause,
): Promise<{ readonly pointerWrong: boolean } | undefined> {
  const { tx, destination, batch, sender, trustPointers } = failed
  if (!isDivisible(batch)) return undefined
  await expandEntries(tx, [batch.id])
  crashPoint('reconcile.expanded')
  const ords = await remainingOrds(tx, batch.id)
  const pointerWrong = batch.reason === afterPointed && !(await resultOfPartBefore(tx, batch)).failed
  const pointed = new Set(trustPointers && !pointerWrong ? failing : [])
  const part = { ...unsentPart, maybeApplied, miscounts, reason }
  if (pointed.size > 0 && pointed.size < ords.length) {
    await splitBatch(tx, destination, batch, [
      { ...part, ords: ords.filter((ord) => pointed.has(ord)) },
      { ...part, ords: ords.filter((ord) => !pointed.has(ord)), reason: afterPointed },
    ])
  } else if (!(await halve(failed, ords, part))) {
    return undefined
  }
  crashPoint('reconcile.split')
  await releaseBatch(tx, batch, { to: 'split', reason, horizonMs: sender.horizonMs })
  return { pointerWrong }
}

/**
 * Sets the right half aside after the left half (`batch`) failed: merges it with the halves that were set aside before. The merged batch is
 * sent as one request after the failing record was found. Does nothing if `batch` has no right half. `miscounts`: number of successive
 * useless answers with which the merged batch starts.
 */
export async function setSiblingAside(
  { tx, batch, destination }: FailedBatch,
  { miscounts }: Pick<SplitCause, 'miscounts'>,
): Promise<void> {
  if (batch.parentId === null) return
  // The halves that were set aside before have the batch that was split first (`root_id`) as their parent.
  const rows = await tx.query<DbRow<'batch', 'id'> & { readonly is_sibling: boolean; readonly root_id: Value<'batch', 'id'> }>(
    `with recursive ancestor (id, parent_id) as (
       select b.id, b.parent_id from batch b where b.id = $1
       union all select b.id, b.parent_id from ancestor a join batch b on b.id = a.parent_id)
     select b.id, b.reason = $4 as is_sibling, root.id as root_id
     from batch b, (select id from ancestor where parent_id is null) root
     where b.plan_id = $2 and b.status in ('pending', 'ambiguous') and (
       -- the right half
       (b.parent_id = $3 and b.seq > $6 and b.reason = $4)
       -- the halves that were set aside before
       or (b.parent_id = root.id and b.reason = $5))
     -- Entries that were set aside before come after this half in the frozen body.
     order by b.reason = $5, b.seq for update of b`,
    [batch.id, batch.planId, batch.parentId, afterSibling, afterIsolation, batch.seq],
  )
  if (!rows.some((row) => row.is_sibling)) return
  const ids = rows.map((row) => Number(row.id))
  await mergeBatches(tx, destination, ids, { parentId: Number(rows[0]?.root_id), attempts: 0, miscounts, reason: afterIsolation })
}

/**
 * Splits `batch` and returns true if it is a right half whose left half succeeded. The failing record is in this half, so a request with
 * the whole half would fail. Returns false for any other batch, and for a right half that cannot be split: these must be sent.
 *
 * @throws {LeaseLost} the batch was recovered or claimed by another process
 */
export async function splitFailingHalf(db: Database, { destination, batch, sender }: Omit<BatchChange, 'tx'>): Promise<boolean> {
  if (batch.reason !== afterSibling || !isDivisible(batch)) return false
  return db.transaction(async (tx) => {
    if (!(await resultOfPartBefore(tx, batch)).succeeded) return false
    const { maybeApplied, miscounts } = batch
    const part = { ...unsentPart, maybeApplied, miscounts, reason: otherHalfConfirmed }
    if (!(await halve({ tx, destination, batch }, await remainingOrds(tx, batch.id), part))) return false
    await releaseBatch(tx, batch, { to: 'split', reason: otherHalfConfirmed, horizonMs: sender.horizonMs })
    await logBatch(tx, batch, sender, 'batch.split', { reason: otherHalfConfirmed })
    return true
  })
}

/**
 * Returns the result of the part that was sent before this one. `succeeded`: every entry was confirmed (in a settled batch, `pending`
 * counts as confirmed). `failed`: an entry was refused, or the part was split or parked. Both are false for the first part.
 */
async function resultOfPartBefore(tx: Queryable, batch: ClaimedBatch): Promise<{ readonly succeeded: boolean; readonly failed: boolean }> {
  const [sibling] = await tx.query<{ succeeded: boolean; failed: boolean }>(
    `select
       b.status = 'settled' and not exists (
         select from entry e where e.batch_id = b.id and e.outcome not in ('pending', 'confirmed')) as succeeded,
       b.status in ('split', 'parked') or exists (select from entry e where e.batch_id = b.id and e.outcome = 'refused') as failed
     from batch b where b.parent_id = $1 and b.plan_id = $2 and b.seq < $3 order by b.seq desc limit 1`,
    [batch.parentId, batch.planId, batch.seq],
  )
  return sibling ?? { succeeded: false, failed: false }
}

/**
 * Returns true if the batch can be split: it has several operations, or an update of several users. A delete of several users is never
 * split. It belongs to an erasure or to a suppression (`insertDeleteBatch`), and the counts of the plan leave it out.
 */
function isDivisible({ entryCount, userCount, operation }: ClaimedBatch): boolean {
  return entryCount > 1 || (userCount > 1 && operation === 'upsert')
}

/**
 * Splits the records at the places `ords` of a batch into two halves, or the users of its only operation. The left half is sent first.
 * Returns false, and changes nothing, if `halveSingleOperation` does.
 */
async function halve(
  { tx, destination, batch }: Omit<BatchChange, 'sender'>,
  ords: readonly number[],
  part: Omit<Part, 'ords'>,
): Promise<boolean> {
  const waiting = { ...part, reason: afterSibling }
  if (ords.length === 1) return halveSingleOperation(tx, destination, batch, [part, waiting])
  const middle = Math.ceil(ords.length / 2)
  await splitBatch(tx, destination, batch, [
    { ...part, ords: ords.slice(0, middle) },
    { ...waiting, ords: ords.slice(middle) },
  ])
  return true
}
