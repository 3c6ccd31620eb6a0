/** Ends of memberships by the batch that confirmed them: the ends of keys are in no index, because every answer writes them. */
import { mayImply } from '../impliedKeys.ts'
import type { Queryable } from '../queryable.ts'

/** SQL condition. The ends of implied keys are those of their batch: they were stored before, unless they end a moment later. */
const mayEnd = (before: string) => `b.destination_id = $1 and b.status = 'settled' and not ${mayImply('b')} and b.expires_at <= ${before}`

/** Returns true if a membership of the destination may end before `before`, SQL of a time: no one ends before the end of its batch. */
export async function mayMembersEnd(tx: Queryable, destinationId: number, before: string): Promise<boolean> {
  return (await tx.query(`select from batch b where ${mayEnd(before)} limit 1`, [destinationId])).length > 0
}

/** Moves the ends of batches to the first end of the keys that they confirmed and that are still there with it. */
export async function updateMemberEnds(tx: Queryable, destinationId: number, before: string): Promise<void> {
  await tx.execute(
    `with ends as (select m.batch_id, min(m.expires_at) as first from remote m
       where m.destination_id = $1 and m.expires_at is not null group by m.batch_id)
     update batch b set expires_at = (select first from ends where batch_id = b.id)
     where ${mayEnd(before)} and b.expires_at is distinct from (select first from ends where batch_id = b.id)`,
    [destinationId],
  )
}
