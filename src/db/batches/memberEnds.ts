/**
 * Finds memberships that end soon, by the batch that confirmed them. The ends of keys have no index, because every answer would have to
 * update the index.
 */
import { mayImply } from '../impliedKeys.ts'
import type { Queryable } from '../queryable.ts'

/**
 * SQL condition: settled batch `b` may have memberships that end before `before`. Batches with implied keys are left out, because
 * keys that end were stored as rows before (`storeEndingKeys`).
 */
const mayEnd = (before: string) => `b.destination_id = $1 and b.status = 'settled' and not ${mayImply('b')} and b.expires_at <= ${before}`

/**
 * Returns true if a membership of the destination may end before `before`, SQL of a time. No membership ends before the end of its
 * batch.
 */
export async function mayMembersEnd(tx: Queryable, destinationId: number, before: string): Promise<boolean> {
  return (await tx.query(`select from batch b where ${mayEnd(before)} limit 1`, [destinationId])).length > 0
}

/**
 * Updates the end of each batch that `mayEnd` finds: the earliest end of the keys that this batch confirmed last; null if there are none.
 */
export async function updateMemberEnds(tx: Queryable, destinationId: number, before: string): Promise<void> {
  await tx.execute(
    `with ends as (select m.batch_id, min(m.expires_at) as first from remote m
       where m.destination_id = $1 and m.expires_at is not null group by m.batch_id)
     update batch b set expires_at = (select first from ends where batch_id = b.id)
     where ${mayEnd(before)} and b.expires_at is distinct from (select first from ends where batch_id = b.id)`,
    [destinationId],
  )
}
