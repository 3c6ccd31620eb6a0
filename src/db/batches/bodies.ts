/** Stores the frozen body of an expanded batch, and removes bodies that no request needs (docs/retention.md, docs/erasure.md). */
import type { Queryable } from '../queryable.ts'
import { openStatuses } from './states.ts'

/** Stores the whole body of a batch. The caller deletes its template. */
export async function storeBody(tx: Queryable, batchId: string, body: Buffer): Promise<void> {
  await tx.execute('update batch set body = $2 where id = $1', [batchId, body])
}

/** SQL condition: batch `b` ended more than a week ago. No request needs its body any more. */
export const hasExpiredBody = `b.status in ('settled', 'split', 'superseded') and b.settled_at < statement_timestamp() - interval '7 days'`

/** Removes the bodies of batches that ended more than a week ago. Returns their number. */
export async function dropOldBodies(db: Queryable): Promise<number> {
  return db.execute(`update batch b set body = null where b.body is not null and ${hasExpiredBody}`)
}

/** Removes the bodies of all batches of a destination. */
export async function dropBodiesOf(tx: Queryable, destinationId: number): Promise<void> {
  await tx.execute('update batch set body = null where destination_id = $1 and body is not null', [destinationId])
}

/**
 * Removes the bodies of the batches with the ids `batches`. Also removes the body of an ended batch of the audience if the body contains
 * one of the `texts`.
 */
export async function eraseBodies(
  tx: Queryable,
  destinationId: number,
  { batches, texts }: { readonly batches: readonly string[]; readonly texts: readonly string[] },
): Promise<void> {
  await tx.execute('update batch set body = null where id = any($1::bigint[]) and body is not null', [batches])
  // A body still has the bytes of entries that were moved to other batches.
  await tx.execute(
    `update batch b set body = null where b.destination_id = $1 and b.body is not null and b.status not in ${openStatuses}
       and exists (select from unnest($2::text[]) as d (digest) where position(convert_to(d.digest, 'UTF8') in b.body) > 0)`,
    [destinationId, texts],
  )
}
