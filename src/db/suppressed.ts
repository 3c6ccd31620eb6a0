/**
 * Members of a do-not-reach list (docs/guarantees.md#suppression-wins): those that the list names, and those that the service may still
 * have on it, because no answer has confirmed yet that they were removed or never added.
 */
import type { ClaimedBatch } from './batches/claim.ts'
import type { Queryable } from './database.ts'
import { raiseDesiredVersion } from './destinations.ts'
import { keysOf } from './entries/read.ts'

/**
 * SQL condition: key `r` of `remote` is on its do-not-reach list. `lists`: SQL of the array of these destinations. Unresolved entries
 * are looked up once a statement, and only for keys that are neither desired nor confirmed, so that few keys are collected.
 */
export const isSuppressed = (lists: string) => `(r.held > 0 or r.synced_hash is not null or r.key in (
  select u.key from batch b cross join ${keysOf('b.id')} e
    join remote u on u.destination_id = b.destination_id and u.key = e.key and u.held <= 0 and u.synced_hash is null
  where b.destination_id = any(${lists}) and b.operation = 'upsert' and e.outcome in ('pending', 'ambiguous')
    and (b.status in ('in_flight', 'ambiguous', 'parked') or (b.status = 'pending' and b.attempts > 0))))`

/**
 * Raises the desired revision when an answer concerns members that the list no longer names: they may be off the list now.
 * The account's audiences then read their files again. Otherwise these members would not be sent as long as a file's bytes stay
 * the same (docs/guarantees.md#nothing-lost).
 */
export async function noteNoLongerSuppressed(tx: Queryable, batch: ClaimedBatch): Promise<void> {
  const named = await tx.query(
    `select from ${keysOf('$1::bigint')} k left join remote m on m.destination_id = $2 and m.key = k.key
     where coalesce(m.held, 0) <= 0 limit 1`,
    [batch.id, batch.destinationId],
  )
  if (named.length > 0) await raiseDesiredVersion(tx, batch.destinationId, 1)
}
