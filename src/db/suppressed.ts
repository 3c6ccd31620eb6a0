/**
 * Finds the suppressed members of a do-not-reach list (docs/guarantees.md#suppression-wins). These are the desired members, and members
 * that the service may still have because no answer has confirmed their removal.
 */
import type { ClaimedBatch } from './batches/claim.ts'
import { hasRows, type Queryable } from './queryable.ts'
import { raiseDesiredVersion } from './destinations.ts'
import { isUnresolved } from './batches/states.ts'
import { keysOf } from './entries/read.ts'

/**
 * Returns the SQL condition that a key of a do-not-reach list is suppressed. `member`: alias of its row of `remote`. `lists`: SQL of the array
 * of the lists' ids. Unresolved entries are read once per statement, and only for the few keys that are neither desired nor synced.
 */
export const isSuppressed = (
  member: string,
  lists: string,
) => `(${member}.ref_count > 0 or ${member}.synced_hash is not null or ${member}.key in (
  select u.key from batch b cross join ${keysOf('b.id')} e
    join remote u on u.destination_id = b.destination_id and u.key = e.key and u.ref_count <= 0 and u.synced_hash is null
  where b.destination_id = any(${lists}) and b.operation = 'upsert' and ${isUnresolved}))`

/**
 * Raises `desired_version` of a do-not-reach list if the answered or expired batch has members that the list no longer desires. They may not
 * be suppressed any more (`isSuppressed`), so the audiences of the account must read their sources again. Otherwise these members would not
 * be sent to the audiences while the sources are unchanged (docs/guarantees.md#nothing-lost).
 */
export async function raiseVersionOfShrunkList(tx: Queryable, batch: ClaimedBatch): Promise<void> {
  const hasUndesired = await hasRows(
    tx,
    `select from ${keysOf('$1::bigint')} k left join remote m on m.destination_id = $2 and m.key = k.key
     where coalesce(m.ref_count, 0) <= 0`,
    [batch.id, batch.destinationId],
  )
  if (hasUndesired) await raiseDesiredVersion(tx, batch.destinationId, 1)
}
