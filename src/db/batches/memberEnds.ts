/**
 * Finds memberships that end soon or too late, by the batch that confirmed them. The ends of keys have no index, because every answer would have to
 * update the index.
 */
import { mayImply } from '../impliedKeys.ts'
import type { Queryable } from '../queryable.ts'

/** Ends that make memberships due, as SQL of times: up to `before`, and later than `after`. */
export interface DueEnds {
  readonly before: string
  readonly after: string
}

/** Returns the SQL condition that an end is due. `end`: SQL of the end. */
export const isDue = (end: string, { before, after }: DueEnds) => `(${end} <= ${before} or ${end} > ${after})`

/**
 * SQL condition: settled batch `b` may have memberships that are due. Batches with implied keys are left out, because
 * keys that are due were stored as rows before (`storeEndingKeys`).
 */
const mayBeDue = (due: DueEnds) =>
  `b.destination_id = $1 and b.status = 'settled' and not ${mayImply('b')} and ${isDue('b.expires_at', due)}`

/** Returns true if a membership of the destination may be due. No membership ends before the end of its batch. */
export async function mayMembersEnd(tx: Queryable, destinationId: number, due: DueEnds): Promise<boolean> {
  return (await tx.query(`select from batch b where ${mayBeDue(due)} limit 1`, [destinationId])).length > 0
}

/**
 * Updates the end of each batch that `mayBeDue` finds: the earliest end of the keys that this batch confirmed last; null if there are none.
 */
export async function updateMemberEnds(tx: Queryable, destinationId: number, due: DueEnds): Promise<void> {
  await tx.execute(
    `with ends as (select m.batch_id, min(m.expires_at) as first from remote m
       where m.destination_id = $1 and m.expires_at is not null group by m.batch_id)
     update batch b set expires_at = (select first from ends where batch_id = b.id)
     where ${mayBeDue(due)} and b.expires_at is distinct from (select first from ends where batch_id = b.id)`,
    [destinationId],
  )
}
