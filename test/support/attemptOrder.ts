/**
 * Finds values that were sent in the wrong order (docs/guarantees.md#key-order, docs/guarantees.md#suppression-wins). The plan of an entry
 * shows which value is newer.
 */
import type { Database } from '../../src/db/database.ts'
import { keysOf } from '../../src/db/entries/read.ts'

export interface OutOfOrder {
  /** Identifier or product, packed, in hex. */
  readonly key: string
  readonly attempt: string
  /** Attempt that began before it, with newer content for the same key. */
  readonly behind: string
}

/**
 * Returns attempts of an entry that followed an attempt of a newer one for the same key. Entries of a later plan are newer, and so is an
 * erasure that was split from the batch of an update. Only for histories in which one run follows another. Merged entries are followed
 * only to their root. So an attempt of a batch in between may be missed, but none is invented.
 */
export async function outOfOrder(db: Database): Promise<readonly OutOfOrder[]> {
  return db.query<OutOfOrder & Record<string, unknown>>(
    `with recursive carried (id, by) as (
       select id, id from sluice.batch
       union all select c.id, p.id from carried c join sluice.batch b on b.id = c.by join sluice.batch p on p.id = b.parent_id and p.operation = b.operation),
     sent as (
       select e.key, b.destination_id, a.id as attempt, n.run_id as planned, (r.id is not null)::int as erases
       from carried c join sluice.attempt a on a.batch_id = c.by join sluice.batch b on b.id = c.id join sluice.plan n on n.id = b.plan_id
         left join sluice.batch r on r.id = b.parent_id and r.operation <> b.operation
         cross join ${keysOf('c.id')} e)
     select distinct encode(older.key, 'hex') as key, older.attempt, min(newer.attempt) as behind
     from sent older join sent newer on newer.destination_id = older.destination_id and newer.key = older.key
       and (newer.planned, newer.erases) > (older.planned, older.erases) and newer.attempt < older.attempt
     group by older.key, older.attempt order by older.attempt`,
  )
}
