/**
 * Finds memberships that are due for renewal, by the earliest end of the batch that confirmed them. The ends of keys have no index, because
 * every answer would have to update it (docs/decisions/changed-keys.md).
 */
import { mayImply } from '../impliedKeys.ts'
import { hasRows, type Queryable } from '../queryable.ts'

/**
 * Ends that make a membership due for renewal: times up to `before`, and times later than `after`. The setting `expires_in` no longer
 * permits times later than `after`. Both are SQL of a time.
 */
export interface DueEnds {
  readonly before: string
  readonly after: string
}

/** Returns the SQL condition that an end is due. `end`: SQL of the end. */
export const isDue = (end: string, { before, after }: DueEnds) => `(${end} <= ${before} or ${end} > ${after})`

/**
 * Returns the SQL condition that settled batch `b` may have memberships that are due. Leaves out batches with implied keys:
 * `storeEndingKeys` has already stored their due keys as rows.
 */
const mayBeDue = (due: DueEnds) =>
  `b.destination_id = $1 and b.status = 'settled' and not ${mayImply('b')} and ${isDue('b.expires_at', due)}`

/** Returns true if a membership of the destination may be due. No membership ends before `expires_at` of its batch. */
export async function mayHaveDueMembers(tx: Queryable, destinationId: number, due: DueEnds): Promise<boolean> {
  return hasRows(tx, `select from batch b where ${mayBeDue(due)}`, [destinationId])
}

/**
 * Updates `expires_at` of each batch that may have due memberships. The new value is the earliest end of the keys that this batch confirmed
 * last. Null if there are none.
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
