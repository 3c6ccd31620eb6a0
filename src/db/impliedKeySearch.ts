/** Searches the index of implied identifiers (docs/decisions/implied-keys.md). `impliedKeyEntries.ts` defines its entries and chunks. */
import { copyOut } from './copyOut.ts'
import { eachPortion } from './cursor.ts'
import type { Transaction } from './database.ts'
import { countRows, hasRows, type Queryable } from './queryable.ts'
import { rowIdentifiers } from './identifiers.ts'
import { byChunk, placesOf, prefixBytes, shortKeyBytes, type EntryPlace } from './impliedKeyEntries.ts'
import { aboveAllKeys, implyingBatch, recordMayImply } from './impliedKeys.ts'
import type { DbRow, Value } from './row.ts'

/** Number of leading bits of a digest in the filter of a search for many identifiers. */
const filterBits = 24
/**
 * Number of chunks that a search by COPY reads as one message. For a million users with two identifiers each, a message has 32 kB of
 * digests.
 */
const chunksPerMessage = 16
/** Maximum number of chunks per query. */
const maxChunksPerQuery = 256
/** Up to this many identifiers are searched in Postgres by one query. More are searched by COPY, in portions of this size. */
const identifiersAtOnce = 50_000

/** Implied identifier, and the key of the record that implies it. */
export interface ImpliedKey {
  readonly identifier: Buffer
  readonly recordKey: Buffer
}

export async function mayHaveImpliedKeys(db: Queryable, destinationId: number): Promise<boolean> {
  return hasRows(db, 'select from implied_key where destination_id = $1', [destinationId])
}

/** Returns those of the identifiers that are implied, each with its record. Reads only the chunks that may have one of them. */
export async function findImpliedKeys(db: Queryable, destinationId: number, identifiers: readonly Buffer[]): Promise<ImpliedKey[]> {
  const searched = byChunk(identifiers)
  const found: ImpliedKey[] = []
  const chunkNumbers = [...searched.keys()]
  for (let from = 0; from < chunkNumbers.length; from += maxChunksPerQuery) {
    const rows = await db.query<DbRow<'implied_key', 'chunk' | 'part' | 'digests'>>(
      'select chunk, part, digests from implied_key where destination_id = $1 and chunk = any($2::int[])',
      [destinationId, chunkNumbers.slice(from, from + maxChunksPerQuery)],
    )
    const places = rows.flatMap((row) => placesOf(row, searched.get(row.chunk)))
    found.push(...(await recordsAt(db, destinationId, places)))
  }
  return found
}

/**
 * Searches like `findImpliedKeys` for any number of identifiers, and yields the found keys in portions, which may be empty. Requires an
 * open transaction. `query`: trusted SQL of different identifiers, without parameters, with the column `identifier`. `atOnce`: up to this
 * many identifiers are searched in Postgres. More are read in portions of this size; two portions are in memory.
 */
export async function* searchImpliedKeys(
  tx: Transaction,
  destinationId: number,
  query: string,
  atOnce = identifiersAtOnce,
): AsyncGenerator<ImpliedKey[]> {
  if ((await countRows(tx, `${query} limit ${atOnce + 1}`)) <= atOnce) {
    const rows = await tx.query<{ identifier: Buffer }>(possiblyImplied(destinationId, query))
    const identifiers = rows.map(({ identifier }) => identifier)
    yield await findImpliedKeys(tx, destinationId, identifiers)
    return
  }
  for await (const rows of eachPortion<{ identifier: Buffer }>(tx.client, 'implied_key_cursor', query, atOnce)) {
    const identifiers = rows.map(({ identifier }) => identifier)
    yield await scanImpliedKeys(tx, destinationId, identifiers)
  }
}

/**
 * Returns SQL of the identifiers whose first digest bytes occur in the digests of their chunk, at any offset. A few identifiers pass by
 * chance, for example at an offset within a digest. So the result must be checked. For 10,000 identifiers and a million users the search
 * takes 0.1 s. It took 0.3 s when Node compared the identifiers with all digests.
 */
const possiblyImplied = (destinationId: number, query: string): string =>
  `with searched as materialized (
     select identifier, (get_byte(identifier, 1) << 4) | (get_byte(identifier, 2) >> 4) as chunk,
       substring(identifier from 2 for ${prefixBytes}) as digest
     from (${query}) q where length(identifier) > ${prefixBytes})
   select distinct w.identifier from searched w join implied_key ik on ik.destination_id = ${destinationId} and ik.chunk = w.chunk
   where position(w.digest in ik.digests) > 0`

/** Searches like `findImpliedKeys` for very many identifiers: reads the digests of all chunks by COPY. */
async function scanImpliedKeys(tx: Transaction, destinationId: number, identifiers: readonly Buffer[]): Promise<ImpliedKey[]> {
  const searched = byChunk(identifiers)
  // Few digests pass this filter, so the maps of identifiers are rarely searched.
  const filter = new Uint8Array(2 ** (filterBits - 3))
  for (const identifier of identifiers) {
    if (identifier.length <= prefixBytes) continue
    const bit = identifier.readUInt32BE(1) >>> (prefixBytes * 8 - filterBits)
    filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7))
  }
  const mayMatch = (digest: number) => passes(filter, digest)
  const places: EntryPlace[] = []
  // COPY sends each row as a message. 256 joined rows take half of the time of the 57,000 rows (140 bytes each) of a million users.
  const query = `select string_agg(int4send(chunk) || int4send(part) || int4send(length(digests)) || digests, '')
    from implied_key where destination_id = ${destinationId} group by chunk / ${chunksPerMessage}`
  for await (const rows of copyOut(tx.client, query)) {
    for (let at = 0; at < rows.length;) {
      const chunk = rows.readInt32BE(at)
      const start = at + 12
      const end = start + rows.readInt32BE(at + 8)
      places.push(...placesOf({ chunk, part: rows.readInt32BE(at + 4), digests: rows.subarray(start, end) }, searched.get(chunk), mayMatch))
      at = end
    }
  }
  return recordsAt(tx, destinationId, places)
}

/** Returns true if the filter has the first bits of this digest. */
function passes(filter: Uint8Array, digest: number): boolean {
  const bit = digest >>> (prefixBytes * 8 - filterBits)
  return (((filter[bit >>> 3] ?? 0) >>> (bit & 7)) & 1) === 1
}

/** Returns the identifiers of these places that a record implies, each with the key of that record. */
async function recordsAt(db: Queryable, destinationId: number, places: readonly EntryPlace[]): Promise<ImpliedKey[]> {
  if (places.length === 0) return []
  const rows = await db.query<{ identifier: Buffer; record_key: Value<'record', 'key'> }>(
    // Without the "offset 0" of `w`, Postgres may read the records first.
    `select w.identifier, r.key as record_key
     from (
       select c.identifier, substring(ik.record_keys from c.place * ${shortKeyBytes} + 1 for ${shortKeyBytes}) as first
       from unnest($2::int[], $3::int[], $4::int[], $5::bytea[]) as c (chunk, part, place, identifier)
         join implied_key ik on ik.destination_id = $1 and ik.chunk = c.chunk and ik.part = c.part offset 0) w
       cross join lateral (
         select lr.destination_id, lr.key, ${rowIdentifiers('lr')} as identifiers, lr.load_id from record lr
         where lr.destination_id = $1 and ${recordMayImply('lr')} and lr.key >= w.first and lr.key < w.first || ${aboveAllKeys} offset 0) r
       cross join ${implyingBatch('r')} b
     where w.identifier = any(r.identifiers)`,
    [
      destinationId,
      places.map(({ chunk }) => chunk),
      places.map(({ part }) => part),
      places.map(({ place }) => place),
      places.map(({ identifier }) => identifier),
    ],
  )
  return rows.map(({ identifier, record_key }) => ({ identifier, recordKey: record_key }))
}
