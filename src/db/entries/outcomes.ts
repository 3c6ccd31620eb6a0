/**
 * Writes rows of `entry`: updates outcomes, moves entries to other batches, and inserts deletes. The caller must have expanded the batch
 * (`expand.ts`), except for `confirmEntries`.
 */
import { cutText } from '../../cutText.ts'
import type { EntryOutcome } from '../../destinations/destination.ts'
import type { Queryable } from '../queryable.ts'

/** Writes the classified outcome of each entry, in the order of the body. */
export async function writeOutcomes(tx: Queryable, batchId: number, outcomes: readonly EntryOutcome[]): Promise<void> {
  // The caller's transaction has disabled hash joins. Without a hash join, Postgres would compare each outcome with each entry here (0.3 s
  // for 2,500 deletes).
  await tx.query(`select set_config('enable_hashjoin', 'on', true)`)
  await tx.execute(
    `update entry e set outcome = x.outcome, code = x.code, message = x.message
     from unnest($2::int[], $3::text[], $4::text[], $5::text[]) as x (ord, outcome, code, message) where e.batch_id = $1 and e.ord = x.ord`,
    [batchId, outcomes.map((_, ord) => ord), outcomes.map((entry) => entry.outcome), outcomes.map(codeOf), outcomes.map(messageOf)],
  )
  await tx.query(`select set_config('enable_hashjoin', 'off', true)`)
}

/** Returns the code to store for an entry: `WARNING` for a confirmed entry with warnings. */
function codeOf(entry: EntryOutcome): string | null {
  if (entry.outcome !== 'confirmed') return entry.code
  return entry.warnings ? 'WARNING' : null
}

/**
 * Returns the message to store for an entry: the message of a refusal, or the warnings of a confirmed entry. At most 300 characters of
 * warnings.
 */
function messageOf(entry: EntryOutcome): string | null {
  if (entry.outcome === 'refused') return entry.message
  if (entry.outcome === 'confirmed') return entry.warnings === undefined ? null : cutText(entry.warnings.join('; '), 300)
  return null
}

/**
 * Marks the entries of a batch that are not pending as confirmed. Pending entries need no write, because they count as confirmed once their
 * batch is settled (`entryOutcome`). Does nothing for a batch that is not expanded.
 */
export async function confirmEntries(tx: Queryable, batchId: number): Promise<void> {
  await tx.execute(`update entry set outcome = 'confirmed', code = null, message = null where batch_id = $1 and outcome <> 'pending'`, [
    batchId,
  ])
}

/** Marks all entries of a batch as refused, because the service refused the whole batch. */
export async function refuseEntries(
  tx: Queryable,
  batchId: number,
  refusal: { readonly code: string; readonly message: string },
): Promise<void> {
  await tx.execute(`update entry set outcome = 'refused', code = $2, message = $3 where batch_id = $1`, [
    batchId,
    refusal.code,
    refusal.message,
  ])
}

/** Marks the entries of a parked batch as pending, or as ambiguous if the service may have applied them. */
export async function parkEntries(
  tx: Queryable,
  batchId: number,
  { maybeApplied, code }: { readonly maybeApplied: boolean; readonly code: string },
): Promise<void> {
  await tx.execute(`update entry set outcome = $2, code = $3 where batch_id = $1`, [batchId, maybeApplied ? 'ambiguous' : 'pending', code])
}

/** Marks all entries of a batch as pending, because they are sent again. */
export async function reopenEntries(tx: Queryable, batchId: number): Promise<void> {
  await tx.execute(`update entry set outcome = 'pending' where batch_id = $1`, [batchId])
}

/** Marks all entries of a batch as superseded except confirmed ones, because they are not sent any more. */
export async function supersedeEntries(tx: Queryable, batchId: number, code: 'expired' | 'suppressed'): Promise<void> {
  await tx.execute(`update entry set outcome = 'superseded', code = $2 where batch_id = $1 and outcome <> 'confirmed'`, [batchId, code])
}

/** Moves entries to the batch `to`, in the order of `entries`. `offsets`: offset of each entry's bytes in the body of `to`. */
export async function moveEntries(
  tx: Queryable,
  to: number,
  entries: readonly { readonly batchId: number | string; readonly ord: number }[],
  offsets: Int32Array,
): Promise<void> {
  await tx.execute(
    `update entry e set batch_id = $1, ord = x.place, byte_offset = x.byte_offset
     from unnest($2::bigint[], $3::int[], $4::int[], $5::int[]) as x (batch_id, ord, place, byte_offset) where e.batch_id = x.batch_id and e.ord = x.ord`,
    [to, entries.map(({ batchId }) => batchId), entries.map(({ ord }) => ord), entries.map((_, place) => place), [...offsets]],
  )
}

/** Inserts a part of an entry as the only entry of the batch `to`. `offset`, `length`: its bytes in the body of `to`. */
export async function copyEntryPart(
  tx: Queryable,
  whole: { readonly batchId: number; readonly ord: number },
  part: {
    readonly to: number
    readonly recordKey: Buffer
    readonly keys: readonly Buffer[]
    readonly users: number
    readonly offset: number
    readonly length: number
  },
): Promise<void> {
  await tx.execute(
    `insert into entry (batch_id, ord, destination_id, record_key, keys, change, hash, expires_at, users, byte_offset, byte_length)
     select $3, 0, destination_id, $4, $5, change, hash, expires_at, $6, $7, $8 from entry where batch_id = $1 and ord = $2`,
    [whole.batchId, whole.ord, part.to, part.recordKey, part.keys, part.users, part.offset, part.length],
  )
}

/** Deletes an entry whose parts were copied (`copyEntryPart`). */
export async function deleteEntry(tx: Queryable, { batchId, ord }: { readonly batchId: number; readonly ord: number }): Promise<void> {
  await tx.execute('delete from entry where batch_id = $1 and ord = $2', [batchId, ord])
}

/** Inserts the only entry of a batch that deletes users. `offset`, `length`: its bytes in the body. */
export async function insertDelete(
  tx: Queryable,
  batch: { readonly id: number; readonly destinationId: number },
  entry: { readonly keys: readonly Buffer[]; readonly users: number; readonly offset: number; readonly length: number },
): Promise<void> {
  await tx.execute(
    `insert into entry (batch_id, ord, destination_id, record_key, keys, change, users, byte_offset, byte_length) values ($1, 0, $2, $3, $4, 'delete', $5, $6, $7)`,
    [batch.id, batch.destinationId, entry.keys[0], entry.keys, entry.users, entry.offset, entry.length],
  )
}
