/** Deletes keys without desired or confirmed content (docs/retention.md, docs/erasure.md). */
import { openStatuses } from '../batches/states.ts'
import { keysOf } from '../entries/read.ts'
import type { Queryable } from '../queryable.ts'

/**
 * Deletes keys that are neither desired nor confirmed, without open batches, and that no late request can restore. Returns their number.
 */
export async function dropUnusedKeys(db: Queryable): Promise<number> {
  return db.execute(
    `delete from remote where ref_count <= 0 and synced_hash is null and (late_until is null or late_until <= statement_timestamp())
       and not exists (select from batch b cross join ${keysOf('b.id')} k
         where b.status in ${openStatuses} and b.destination_id = remote.destination_id and k.key = remote.key)`,
  )
}

/**
 * Deletes the undesired products of `keys` that the service has under the id of a desired product: both have one product key, because the
 * service compares ids without case. Returns their number. `keys`: SQL of `key`, a few of the destination.
 */
export async function dropRenamedProducts(tx: Queryable, destinationId: number, keys: string): Promise<number> {
  return tx.execute(
    `delete from remote m using (${keys}) x, remote desired
     where m.destination_id = $1 and m.key = x.key and m.ref_count <= 0
       and desired.destination_id = $1 and desired.remote_key = m.remote_key and desired.ref_count > 0`,
    [destinationId],
  )
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
