/**
 * Implied keys (docs/decisions/implied-keys.md). The keys of a first load have no rows in `remote`: each belongs to one record
 * (`record.load_id`), which wants it, and is confirmed by the batch of that load which has the record, unless that batch says
 * `keys_stored`. Before anything else happens to a key, all keys of its record are stored as rows (`remote/implied.ts`).
 */
import type pg from 'pg'
import type { Queryable } from './database.ts'

/** Desired content of an identifier without times, as SQL; the same for all. */
export const plainTimes = `'\\x01'::bytea`

/** Stands behind every record key. */
const behindAll = `decode(repeat('ff', 64), 'hex')`

/** SQL of the batch that implies the keys of record `r`, to be joined laterally; no row if they are stored. */
export const implyingBatch = (r: string): string =>
  `lateral (
     select * from (
       select lb.id, lb.status = 'settled' as settled, lb.settled_at, lb.expires_at, lb.keys_stored from batch lb
       where lb.destination_id = ${r}.destination_id and lb.load_id = ${r}.load_id and lb.first_key <= ${r}.key
       order by lb.first_key desc limit 1) lb
     where not lb.keys_stored)`

/** SQL condition: batch `b` is part of a load and may imply keys. */
export const mayImply = (b: string) => `(${b}.load_id is not null and not ${b}.keys_stored)`

/** SQL of the records of batch `b` whose keys it implies, if it may imply any, to be joined laterally. */
export const recordsOf = (b: string) =>
  `lateral (select lr.key, lr.identifiers from record lr
     where lr.destination_id = ${b}.destination_id and lr.key >= ${b}.first_key and lr.key < ${b}.next_key and lr.load_id = ${b}.load_id
     order by lr.key)`

/** SQL of the first record key behind batch `b` of a load. */
export const nextKeyOf = (b: string) =>
  `coalesce((select min(ln.first_key) from batch ln
     where ln.destination_id = ${b}.destination_id and ln.load_id = ${b}.load_id and ln.first_key > ${b}.first_key), ${behindAll})`

/**
 * SQL condition: batch `b` has a record whose keys are implied. Not `exists`: Postgres expects the first match soon, and may read the table
 * from its begin instead of the index.
 */
export const hasImplied = (b: string): string =>
  `(${mayImply(b)} and (select lr.key from record lr
     where lr.destination_id = ${b}.destination_id and lr.load_id = ${b}.load_id and lr.key >= ${b}.first_key and lr.key < ${nextKeyOf(b)}
     order by lr.key limit 1) is not null)`

/** Returns true if a destination may have implied keys. */
export async function hasImpliedKeys(db: Queryable, destinationId: number): Promise<boolean> {
  return (await db.query('select from implied_key where destination_id = $1 limit 1', [destinationId])).length > 0
}

/** Bytes of a digest, and of a record key, that an entry of `implied_key` has. */
const prefixBytes = 8
const prefixOf = (identifier: string) => `substring(${identifier} from 2 for ${prefixBytes})`
const chunkOf = (identifier: string) => `get_byte(${identifier}, 1) * 16 + (get_byte(${identifier}, 2) >> 4)`

/** Makes the implied keys of a load searchable, in place of those of an earlier load. */
export async function indexImpliedKeys(tx: Queryable, destinationId: number, loadId: number): Promise<void> {
  await dropImpliedKeys(tx, destinationId)
  await tx.execute(
    `insert into implied_key (destination_id, chunk, entries)
     select $1, chunk, array_agg(entry) from (
       select ${chunkOf('i.identifier')} as chunk, ${prefixOf('i.identifier')} || substring(r.key for ${prefixBytes}) as entry
       from record r cross join lateral unnest(r.identifiers) as i (identifier)
       where r.destination_id = $1 and r.load_id = $2) x
     group by chunk`,
    [destinationId, loadId],
  )
}

/**
 * SQL of the implied keys among `identifiers` (SQL with a column `identifier`), with the key of the record of each: columns `identifier` and
 * `record_key`. Reads only the chunks that may have one.
 */
export const impliedKeysAmong = (destinationId: string, identifiers: string): string =>
  // The inner "offset 0": Postgres overestimates the entries found, and would otherwise look up the record of every entry first.
  `select w.identifier, r.key as record_key
   from (select w.identifier, f.record_prefix from (select distinct identifier from (${identifiers}) wi where length(identifier) > 2) w
     join (
       select substring(ie.entry for ${prefixBytes}) as prefix, substring(ie.entry from ${prefixBytes + 1}) as record_prefix
       from implied_key ik cross join lateral unnest(ik.entries) as ie (entry)
       where ik.destination_id = ${destinationId} and ik.chunk in (
         select ${chunkOf('wc.identifier')} from (${identifiers}) wc where length(wc.identifier) > 2)) f on f.prefix = ${prefixOf('w.identifier')} offset 0) w
     cross join lateral (
       select lr.destination_id, lr.key, lr.identifiers, lr.load_id from record lr
       where lr.destination_id = ${destinationId} and lr.load_id is not null
         and lr.key >= w.record_prefix and lr.key < w.record_prefix || ${behindAll} offset 0) r
     cross join ${implyingBatch('r')} b
   where w.identifier = any(r.identifiers)`

/**
 * Runs `search`, which uses `impliedKeysAmong` with many identifiers, without nested loops: Postgres does not know how many entries a chunk
 * has, and would open it once for each identifier (10,000 of 1,000,000 people: 17 s instead of 2). `inTransaction`: undone at its end.
 */
export async function withoutNestedLoops<T>(client: pg.PoolClient, inTransaction: boolean, search: () => Promise<T>): Promise<T> {
  const set = (value: string) => client.query(`select set_config('enable_nestloop', $1, $2)`, [value, inTransaction])
  const { rows } = await client.query<{ before: string }>(`select current_setting('enable_nestloop') as before`)
  await set('off')
  try {
    return await search()
  } finally {
    // In a transaction that failed the setting is undone with it.
    await set(rows[0]?.before ?? 'on').catch(() => undefined)
  }
}

/** Returns the number of confirmed records whose keys are implied, at most `enough`. No batch of the destination with implied keys is open. */
export async function countImpliedRecords(tx: Queryable, destinationId: number, enough: number | undefined): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    `select count(*)::int as n from (
       select from (select b.*, ${nextKeyOf('b')} as next_key from batch b where b.destination_id = $1 and ${mayImply('b')}) b
         cross join ${recordsOf('b')} r limit $2) c`,
    [destinationId, enough ?? null],
  )
  return row?.n ?? 0
}

/** Ends the search for implied keys of a destination that has none any more. */
export async function dropImpliedKeys(tx: Queryable, destinationId: number): Promise<void> {
  await tx.execute('delete from implied_key where destination_id = $1', [destinationId])
}

/** Removes the entries of records that are gone, or have other identifiers, from the search for implied keys. */
export async function dropOutdatedKeys(tx: Queryable, destinationId: number): Promise<void> {
  await tx.execute(
    `with current as materialized (
       select ${chunkOf('i.identifier')} as chunk, array_agg(${prefixOf('i.identifier')} || substring(r.key for ${prefixBytes})) as entries
       from record r cross join lateral unnest(r.identifiers) as i (identifier)
       where r.destination_id = $1 and r.load_id is not null group by 1)
     update implied_key ik set entries = coalesce((select c.entries from current c where c.chunk = ik.chunk), '{}')
     where ik.destination_id = $1`,
    [destinationId],
  )
}

/** Removes these identifiers from the search for implied keys. Keeps those that a later load implies again. */
export async function eraseImpliedKeys(tx: Queryable, destinationId: number, identifiers: readonly Buffer[]): Promise<void> {
  if (identifiers.length === 0) return
  await tx.execute(
    `update implied_key ik set entries = array(
       select ie.entry from unnest(ik.entries) as ie (entry)
       where substring(ie.entry for ${prefixBytes}) not in (select ${prefixOf('d.identifier')} from unnest($2::bytea[]) as d (identifier))
         or exists (select from record r where r.destination_id = ik.destination_id and r.load_id is not null
           and r.key >= substring(ie.entry from ${prefixBytes + 1}) and r.key < substring(ie.entry from ${prefixBytes + 1}) || ${behindAll}))
     where destination_id = $1 and chunk in (
       select ${chunkOf('d.identifier')} from unnest($2::bytea[]) as d (identifier) where length(d.identifier) > 2)`,
    [destinationId, identifiers],
  )
}
