/**
 * Stores implied keys as rows of `remote`, before their state changes (docs/decisions/implied-keys.md). Implied keys are those keys of a
 * first load that have no row in `remote`.
 */
import { isDue, type DueEnds } from '../batches/memberEnds.ts'
import { openStatuses } from '../batches/states.ts'
import { addChangedSql, type ChangedKeys } from '../changedKeys.ts'
import { rowIdentifiers } from '../identifiers.ts'
import { hasImplied, implyingBatch, isOfLoad, mayImply, nextKeyOf, plainTimes, recordMayImply, recordsOf } from '../impliedKeys.ts'
import { dropImpliedKeys } from '../impliedKeyIndex.ts'
import type { Queryable } from '../queryable.ts'
import { endImplying } from '../records.ts'
import type { ColumnName, DbRow } from '../row.ts'

const columns = (
  [
    'destination_id',
    'key',
    'ref_count',
    'suppressed',
    'group_key',
    'desired_hash',
    'synced_hash',
    'expires_at',
    'batch_id',
  ] satisfies ColumnName<'remote'>[]
).join(', ')

/** SQL of the columns of record `r` from which its implied keys are computed. */
export const recordColumns = `r.destination_id, r.key, ${rowIdentifiers('r')} as identifiers, r.load_id`

/** SQL of the values with which implied keys are stored. It may use the row `r` of the records and `i.identifier`. */
interface StoredState {
  readonly refCount: string
  readonly suppressed: string
  readonly desired: string
  /** Joins with further tables, which the other values may use. */
  readonly joins: string
}

const unchanged: StoredState = { refCount: '1', suppressed: 'false', desired: plainTimes, joins: '' }

/**
 * Inserts implied keys together with the changes of a plan, so that no key is written twice. `records`: SQL of records with a `load_id`,
 * each once, with `recordColumns` and the columns that `state` uses. Adds to the changed keys those whose desired content differs from the
 * confirmed content. The caller must add the removed keys.
 */
export async function insertChangedKeys(changed: ChangedKeys, records: string, state: Partial<StoredState>): Promise<void> {
  await changed.write(
    `${insertSql(records, { ...unchanged, ...state })} returning key, ref_count, desired_hash, synced_hash`,
    'ref_count > 0 and desired_hash <> synced_hash',
  )
}

/** Returns SQL that inserts the implied keys of `records` with the values of a `StoredState`. */
const insertSql = (records: string, { refCount, suppressed, desired, joins }: StoredState): string =>
  `insert into remote (${columns})
   select r.destination_id, i.identifier, ${refCount}, ${suppressed}, r.key, ${desired}, case when b.settled then ${plainTimes} end,
     case when b.settled then b.expires_at end, case when b.settled then b.id end
   from (${records}) r cross join ${implyingBatch('r')} b cross join lateral unnest(r.identifiers) as i (identifier) ${joins}
   order by r.key`

/** Stores the implied keys of records. If the batch of a record is not settled, stores all implied keys of this batch. Safe to repeat. */
export async function storeKeysOf(tx: Queryable, destinationId: number, records: readonly Buffer[]): Promise<void> {
  if (records.length === 0) return
  const open = await tx.query<DbRow<'batch', 'id'>>(
    `select distinct b.id from record r cross join ${implyingBatch('r')} b
     where r.destination_id = $1 and r.key = any($2::bytea[]) and ${recordMayImply('r')} and not b.settled`,
    [destinationId, records],
  )
  const openBatches = open.map(({ id }) => id)
  await storeKeysOfBatches(tx, openBatches)
  // The open batches imply no keys any more, so the statement finds only those of settled ones.
  const implying = `select ${recordColumns} from (select distinct unnest($2::bytea[]) as key) k
    join record r on r.destination_id = $1 and r.key = k.key and ${recordMayImply('r')}`
  await tx.execute(insertSql(implying, unchanged), [destinationId, records])
  await endImplying(tx, destinationId, 'select unnest($2::bytea[]) as key', [records])
}

/**
 * Maximum number of batches whose keys one statement stores. They have at most 500,000 users. Their changed keys are one array, and Postgres
 * has no array of more than 1 GB: 27 million keys.
 */
const batchesAtOnce = 200

/**
 * Stores all implied keys of batches. If a batch is not settled, its keys are added to the changed keys, and its answer confirms each of
 * them. Safe to repeat.
 */
export async function storeKeysOfBatches(tx: Queryable, batchIds: readonly (number | string)[]): Promise<void> {
  for (let from = 0; from < batchIds.length; from += batchesAtOnce) await storePortion(tx, batchIds.slice(from, from + batchesAtOnce))
}

async function storePortion(tx: Queryable, batchIds: readonly (number | string)[]): Promise<void> {
  const locked = await tx.query<DbRow<'batch', 'id'>>(
    `select id from batch b where id = any($1::bigint[]) and ${mayImply('b')} order by id for update`,
    [batchIds],
  )
  if (locked.length === 0) return
  await tx.execute(
    `with mine as materialized (
       select b.id, b.destination_id, b.load_id, b.first_key, ${nextKeyOf('b')} as next_key, b.status = 'settled' as settled, b.expires_at
       from batch b where b.id = any($1::bigint[])),
     stored as (
       insert into remote (${columns})
       select b.destination_id, i.identifier, 1, false, r.key, ${plainTimes}, case when b.settled then ${plainTimes} end,
         case when b.settled then b.expires_at end, case when b.settled then b.id end
       from mine b cross join ${recordsOf('b')} r cross join lateral unnest(r.identifiers) as i (identifier)
       returning key, destination_id, synced_hash),
     open as (${addChangedSql('select key, destination_id from stored where synced_hash is null', 'c.destination_id')})
     update batch b set keys_stored = true from mine where b.id = mine.id`,
    [locked.map(({ id }) => id)],
  )
}

/** Stores the implied keys of all open batches of a destination. These keys are not confirmed, so they are added to the changed keys. */
export async function storeOpenKeys(tx: Queryable, destinationId: number, changed: ChangedKeys): Promise<void> {
  const rows = await tx.query<DbRow<'batch', 'id' | 'user_count'>>(
    `select id, user_count from batch b where destination_id = $1 and status in ${openStatuses} and ${mayImply('b')} order by id for update`,
    [destinationId],
  )
  await changed.markAllIfMany(rows.reduce((sum, { user_count }) => sum + user_count, 0))
  const batchIds = rows.map(({ id }) => id)
  await storeKeysOfBatches(tx, batchIds)
}

/** Stores all implied keys of a destination, and deletes its index of implied keys. */
export async function storeAllKeys(tx: Queryable, destinationId: number): Promise<void> {
  await storeKeysWhere(tx, 'destination_id = $1', [destinationId])
  await dropImpliedKeys(tx, destinationId)
}

/** Stores the implied keys of settled batches with memberships that are due for renewal. */
export async function storeEndingKeys(tx: Queryable, destinationId: number, due: DueEnds): Promise<void> {
  await storeKeysWhere(tx, `destination_id = $1 and status = 'settled' and ${isDue('expires_at', due)}`, [destinationId])
}

/** Stores all implied keys of the batches `b` that meet the SQL condition `where`. `values`: its parameters. */
export async function storeKeysWhere(tx: Queryable, where: string, values: readonly unknown[]): Promise<void> {
  const rows = await tx.query<DbRow<'batch', 'id'>>(`select id from batch b where ${where} and ${mayImply('b')} order by id`, values)
  const batchIds = rows.map(({ id }) => id)
  await storeKeysOfBatches(tx, batchIds)
}

/**
 * Sets `keys_stored` for all batches of a load of these plans if no record of the load implies its keys any more. Must be called before a
 * batch of the load is deleted. Otherwise the batch before it would also cover the records of the deleted batch. It would imply their keys,
 * although these keys are stored.
 */
export async function endLoads(tx: Queryable, plans: readonly string[]): Promise<void> {
  await tx.execute(
    `with load as materialized (
       select distinct destination_id, load_id from batch b where plan_id = any($1) and ${isOfLoad('b')}),
     implying as materialized (
       select distinct b.destination_id, b.load_id from batch b
       where (b.destination_id, b.load_id) in (select destination_id, load_id from load) and ${hasImplied('b')})
     update batch b set keys_stored = true from load l
     where b.destination_id = l.destination_id and b.load_id = l.load_id and ${mayImply('b')}
       and not exists (select from implying i where i.destination_id = l.destination_id and i.load_id = l.load_id)`,
    [plans],
  )
}
