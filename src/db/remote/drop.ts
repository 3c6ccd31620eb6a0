/** Deletes rows of `remote` that are no longer needed (docs/retention.md, docs/erasure.md). */
import { openStatuses } from '../batches/states.ts'
import { keysOf } from '../entries/read.ts'
import type { Queryable } from '../queryable.ts'

/**
 * Deletes the keys of all destinations that are neither desired nor confirmed. Keeps keys with an open batch, and keys that a late request
 * can restore. Returns the number of deleted keys.
 */
export async function dropUnusedKeys(db: Queryable): Promise<number> {
  return db.execute(
    `delete from remote where ref_count <= 0 and synced_hash is null and (late_until is null or late_until <= statement_timestamp())
       and not exists (select from batch b cross join ${keysOf('b.id')} k
         where b.status in ${openStatuses} and b.destination_id = remote.destination_id and k.key = remote.key)`,
  )
}

export async function deleteKeysOf(tx: Queryable, destinationId: number): Promise<void> {
  await tx.execute('delete from remote where destination_id = $1', [destinationId])
}

/** Deletes the former ids of renamed products, although they are confirmed, because the service has each product under its new id. */
export async function deleteFormerIds(tx: Queryable, destinationId: number, keys: readonly Buffer[]): Promise<void> {
  await tx.execute('delete from remote where destination_id = $1 and key = any($2)', [destinationId, keys])
}

/** Deletes the keys of an erased person that are neither desired nor confirmed: `identifiers`, and keys in the groups of `records`. */
export async function eraseKeys(
  tx: Queryable,
  destinationId: number,
  { identifiers, records }: { readonly identifiers: readonly Buffer[]; readonly records: readonly Buffer[] },
): Promise<void> {
  await tx.execute(
    `delete from remote m where m.destination_id = $1 and (m.key = any($2::bytea[]) or m.group_key = any($3::bytea[])) and m.ref_count <= 0 and m.synced_hash is null`,
    [destinationId, identifiers, records],
  )
}
