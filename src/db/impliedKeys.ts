/**
 * Builds SQL for implied keys (docs/decisions/implied-keys.md). The keys of a first load have no rows in `remote`. Each implied key is a
 * desired key of one record (`record.load_id`), and is synced if the batch with that record is settled. Before the state of a key changes
 * in another way, all keys of its record are stored as rows (`remote/implied.ts`). A batch with `keys_stored` implies no keys.
 */
import { rowIdentifiers } from './identifiers.ts'
import { countRows, type Queryable } from './queryable.ts'
import type { DbRow } from './row.ts'

/** SQL of the `desired_hash` of an identifier whose row has no times of its own (`effective_at`, `expires_at`). */
export const plainTimes = `'\\x01'::bytea`

/** SQL of a value that is greater than every record key. */
export const aboveAllKeys = `decode(repeat('ff', 64), 'hex')`

/** Returns SQL of the batch that implies the keys of record `r`, to be joined laterally. The SQL returns no row if the keys are stored. */
export const implyingBatch = (r: string): string =>
  `lateral (
     select * from (
       select lb.id, lb.status = 'settled' as settled, lb.settled_at, lb.expires_at, lb.keys_stored from batch lb
       where lb.destination_id = ${r}.destination_id and lb.load_id = ${r}.load_id and lb.first_key <= ${r}.key
       order by lb.first_key desc limit 1) lb
     where not lb.keys_stored)`

/** Returns the SQL condition that the keys of record `r` may be implied. They are implied only if `implyingBatch` returns a row. */
export const recordMayImply = (r: string) => `${r}.load_id is not null`

/** Returns the SQL condition that batch `b` is part of a load. */
export const isOfLoad = (b: string) => `${b}.load_id is not null`

/** Returns the SQL condition that batch `b` is part of a load and may imply keys. */
export const mayImply = (b: string) => `(${isOfLoad(b)} and not ${b}.keys_stored)`

/**
 * Returns SQL of the records whose keys batch `b` implies, to be joined laterally. `b`: a batch for which `mayImply` is true, with the
 * additional column `next_key` (`nextKeyOf`).
 */
export const recordsOf = (b: string) =>
  `lateral (select lr.key, ${rowIdentifiers('lr')} as identifiers from record lr
     where lr.destination_id = ${b}.destination_id and lr.key >= ${b}.first_key and lr.key < ${b}.next_key and lr.load_id = ${b}.load_id
     order by lr.key)`

/**
 * Returns SQL of the `first_key` of the batch after `b` in its load; `aboveAllKeys` for the last batch. Not written with `min`: Postgres has
 * it for `bytea` only since version 18.
 */
export const nextKeyOf = (b: string) =>
  `coalesce((select ln.first_key from batch ln
     where ln.destination_id = ${b}.destination_id and ln.load_id = ${b}.load_id and ln.first_key > ${b}.first_key
     order by ln.first_key limit 1), ${aboveAllKeys})`

/**
 * Returns the SQL condition that batch `b` has a record whose keys are implied. Not written as `exists`: Postgres would expect an early
 * match, and might read the table from its beginning instead of the index.
 */
export const hasImplied = (b: string): string =>
  `(${mayImply(b)} and (select lr.key from record lr
     where lr.destination_id = ${b}.destination_id and lr.load_id = ${b}.load_id and lr.key >= ${b}.first_key and lr.key < ${nextKeyOf(b)}
     order by lr.key limit 1) is not null)`

/**
 * If the plan is a first load, reads all rows of `implied_key` once. Postgres marks rows as visible at their first read. After a
 * checkpoint, these marks would write each page to the log: 21 MB for the first change after a million users. Just after the load they
 * write nothing to the log.
 */
export async function markImpliedKeysVisible(db: Queryable, planId: string): Promise<void> {
  const [load] = await db.query<DbRow<'batch', 'destination_id'>>(
    `select destination_id from batch b where plan_id = $1 and ${isOfLoad('b')} limit 1`,
    [planId],
  )
  if (load === undefined) return
  await db.query('select count(*) from implied_key where destination_id = $1', [load.destination_id])
}

/**
 * Counts the records whose keys are implied, up to `enough`; all of them if `enough` is undefined. The caller must have stored the implied
 * keys of open batches. Then all counted records are confirmed.
 */
export async function countImpliedRecords(tx: Queryable, destinationId: number, enough: number | undefined): Promise<number> {
  const batches = await tx.query<DbRow<'batch', 'keys_stored'>>(
    `select b.keys_stored from batch b where b.destination_id = $1 and ${isOfLoad('b')} group by b.keys_stored`,
    [destinationId],
  )
  // If no batch is left, or each has stored its keys, then `remote` has rows for the records of the load. These records keep their `load_id`.
  if (!batches.some(({ keys_stored }) => !keys_stored)) return 0
  // Usually no batch of the load has stored keys. Then the query reads only records, which takes a quarter of the time (15 of 60 ms).
  const implying =
    batches.length === 1
      ? `select from record r where r.destination_id = $1 and ${recordMayImply('r')}`
      : `select from (select b.*, ${nextKeyOf('b')} as next_key from batch b where b.destination_id = $1 and ${mayImply('b')}) b
         cross join ${recordsOf('b')} r`
  return countRows(tx, `${implying} limit $2`, [destinationId, enough ?? null])
}
