/** Writes `remote.late_until`: the time until which late requests may change a key (docs/decisions/late-arrival-horizon.md). */
import { keysOf } from '../entries/read.ts'
import type { Queryable } from '../queryable.ts'
import { storeKeysOfBatches } from './implied.ts'

/**
 * Marks the keys of batches whose bytes may arrive within `horizonMs` from now. Until then no newer request is sent for these keys
 * (docs/guarantees.md#key-order). First stores implied keys (docs/decisions/implied-keys.md).
 */
export async function markLate(tx: Queryable, batchIds: readonly (number | string)[], horizonMs: number): Promise<void> {
  await storeKeysOfBatches(tx, batchIds)
  // The keys are passed as an array. With a join, Postgres may compare all keys of the destination with those of the batch. The reason is
  // that it has no statistics on keys that were just stored (77 batches of 5,000 keys: 163 s).
  for (const id of batchIds) {
    await tx.execute(
      `update remote m set late_until = greatest(m.late_until, statement_timestamp() + $2 * interval '1 millisecond')
       where m.destination_id = (select destination_id from batch where id = $1::bigint)
         and m.key = any(array(select k.key from ${keysOf('$1::bigint')} k))`,
      [id, horizonMs],
    )
  }
}

/**
 * Clears each `late_until` that is more than `longestMs` in the future. Sluice never stores a longer wait, so the clock of the database was
 * ahead. The caller must have waited for the time in which a lost request may still arrive (the horizon).
 */
export async function endFalseWaits(db: Queryable, destinationId: number, longestMs: number): Promise<void> {
  await db.execute(
    `update remote set late_until = null where destination_id = $1 and late_until > statement_timestamp() + $2 * interval '1 millisecond'`,
    [destinationId, longestMs],
  )
}
