/**
 * Who is on a do-not-reach list (I16): whoever it names, and whoever the service may still have on it, because no answer has
 * settled yet that they were taken off, or were never put on.
 */
import type { ClaimedBatch } from './batches.ts'
import type { Queryable } from './database.ts'

/**
 * A key `r` of `sluice.remote` that is on its list. `lists`: SQL of the array of these destinations. What is unsettled is
 * looked up once a statement, and only if a key asks for it that is neither wanted nor confirmed; only such keys are
 * collected, so that they are few however much is unsettled.
 */
export const isListed = (lists: string) => `(r.held > 0 or r.synced_hash is not null or r.key in (
  select u.key from sluice.batch b join sluice.entry e on e.batch_id = b.id cross join lateral unnest(e.keys) as k (key)
    join sluice.remote u on u.destination_id = b.destination_id and u.key = k.key and u.held <= 0 and u.synced_hash is null
  where b.destination_id = any(${lists}) and b.operation = 'upsert' and e.outcome in ('pending', 'ambiguous')
    and (b.status in ('in_flight', 'ambiguous', 'parked') or (b.status = 'pending' and b.attempts > 0))))`

/**
 * The service has said something of somebody whom the list does not name any more: they may be off it from now on, so the
 * account's audiences look at their files again, as they do when what is wanted changes. Else nobody would send them,
 * as long as a file's bytes stay the same (I2).
 */
export async function noteDelisted(tx: Queryable, batch: ClaimedBatch): Promise<void> {
  await tx.execute(
    `update sluice.destination set desired_version = desired_version + 1
     where id = $2 and exists (
       select from sluice.entry e cross join lateral unnest(e.keys) as k (key)
         left join sluice.remote m on m.destination_id = $2 and m.key = k.key
       where e.batch_id = $1 and coalesce(m.held, 0) <= 0)`,
    [batch.id, batch.destinationId],
  )
}
