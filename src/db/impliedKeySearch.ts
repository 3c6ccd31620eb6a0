/**
 * Stores, searches and erases the index of implied identifiers (docs/decisions/implied-keys.md). For each identifier, `implied_key` has the first bytes of
 * its digest and of its record's key. Entries may be outdated, or equal by chance, so the record is checked.
 */
import { CopyWriter } from './copyBinary.ts'
import { copyOut } from './copyOut.ts'
import { eachPortion } from './cursor.ts'
import { type Queryable, type Transaction } from './database.ts'
import { rowIdentifiers } from './identifiers.ts'
import { behindAll, implyingBatch, recordImplies } from './impliedKeys.ts'
import type { Row, Value } from './row.ts'

/** Number of bytes of the digest in an entry. */
const digestBytes = 4
/** Number of bytes of the record key in an entry. */
const shortKeyBytes = 6
/** Number of leading bits of a digest in the filter of a search for many identifiers. */
const filterBits = 24
/** Number of chunks. Digests with the same first 12 bits are in one chunk. */
const chunks = 4_096
/** Number of stored bits of a digest after the first 12. */
const otherBits = digestBytes * 8 - 12
/** Maximum number of entries in memory (5 MB). When it is reached, the entries are stored as one more part of each chunk. */
const partEntries = 2 ** 19
/** Number of chunks that a search by COPY reads as one message: 32 kB of digests for a million users. */
const chunksPerMessage = 16
/** Maximum number of chunks per query. */
const chunksAtOnce = 256
/** Up to this many identifiers are searched by query. More are searched by COPY, in portions of this size. */
const identifiersAtOnce = 50_000

/** Implied identifier, and the key of the record that implies it. */
export interface ImpliedKey {
  readonly identifier: Buffer
  readonly recordKey: Buffer
}

/** Returns true if a destination may have implied keys. */
export async function hasImpliedKeys(db: Queryable, destinationId: number): Promise<boolean> {
  return (await db.query('select from implied_key where destination_id = $1 limit 1', [destinationId])).length > 0
}

/** Removes all entries of a destination. */
export async function dropImpliedKeys(tx: Queryable, destinationId: number): Promise<void> {
  await tx.execute('delete from implied_key where destination_id = $1', [destinationId])
}

/**
 * Writes the entries of a load. Groups them in Node, which reads the records anyway: grouping two million identifiers took Postgres 4 s.
 */
export class ImpliedKeyIndex {
  readonly #tx: Transaction
  readonly #destinationId: number
  readonly #digests: Uint32Array
  readonly #keys: Buffer
  #entries = 0
  #parts: number

  /** `firstPart`: number of parts that the load has already stored. */
  constructor(tx: Transaction, destinationId: number, { firstPart = 0, entriesOfPart = partEntries } = {}) {
    this.#tx = tx
    this.#destinationId = destinationId
    this.#parts = firstPart
    this.#digests = new Uint32Array(entriesOfPart)
    this.#keys = Buffer.allocUnsafe(entriesOfPart * shortKeyBytes)
  }

  /** Adds records. `keys`: their identifiers, in hex and joined by commas. */
  async add(records: readonly { readonly key: Buffer; readonly keys: string }[]): Promise<void> {
    for (const { key, keys } of records) {
      for (let at = 0; at < keys.length; at = keys.indexOf(',', at) + 1 || keys.length) {
        if (!this.hasRoom(1)) await this.store()
        // Skips the type of the identifier, which is two hex digits.
        this.addOne(Number.parseInt(keys.slice(at + 2, at + 2 + digestBytes * 2), 16), key, 0)
      }
    }
  }

  /** Returns false if `store` must be called before `count` identifiers are added. */
  hasRoom(count: number): boolean {
    return this.#entries + count <= this.#digests.length
  }

  /** True if half of the room is used. */
  get isHalfFull(): boolean {
    return this.#entries * 2 >= this.#digests.length
  }

  /** Adds an identifier. `digest`: its first 4 bytes. The record key is at `at` in `source`. */
  addOne(digest: number, source: Buffer, at: number): void {
    this.#digests[this.#entries] = digest
    const to = this.#entries * shortKeyBytes
    // The index is within the key.
    for (let i = 0; i < shortKeyBytes; i++) this.#keys[to + i] = source[at + i] as number
    this.#entries++
  }

  /** Stores the last entries. Returns the number of parts that are stored now. */
  async end(): Promise<number> {
    if (this.#entries > 0) await this.store()
    return this.#parts
  }

  /** Stores the identifiers so far as one more part of each chunk. */
  async store(): Promise<void> {
    const ends = new Uint32Array(chunks)
    for (let i = 0; i < this.#entries; i++) {
      const chunk = (this.#digests[i] ?? 0) >>> otherBits
      ends[chunk] = (ends[chunk] ?? 0) + 1
    }
    const places = new Uint32Array(chunks)
    for (let chunk = 1; chunk < chunks; chunk++) {
      places[chunk] = ends[chunk - 1] ?? 0
      ends[chunk] = (ends[chunk] ?? 0) + (ends[chunk - 1] ?? 0)
    }
    const digests = Buffer.allocUnsafe(this.#entries * digestBytes)
    const keys = Buffer.allocUnsafe(this.#entries * shortKeyBytes)
    for (let i = 0; i < this.#entries; i++) {
      const digest = this.#digests[i] ?? 0
      const place = places[digest >>> otherBits] ?? 0
      places[digest >>> otherBits] = place + 1
      digests.writeUInt32BE(digest, place * digestBytes)
      this.#keys.copy(keys, place * shortKeyBytes, i * shortKeyBytes, (i + 1) * shortKeyBytes)
    }
    const copy = new CopyWriter(this.#tx.client, 'implied_key (destination_id, chunk, part, digests, record_keys)')
    let start = 0
    for (let chunk = 0; chunk < chunks; chunk++) {
      const end = ends[chunk] ?? 0
      if (end === start) continue
      copy.row(5)
      copy.int4(this.#destinationId)
      copy.int4(chunk)
      copy.int4(this.#parts)
      copy.bytes(digests.subarray(start * digestBytes, end * digestBytes))
      copy.bytes(keys.subarray(start * shortKeyBytes, end * shortKeyBytes))
      if (copy.full) await copy.flush()
      start = end
    }
    await copy.end()
    this.#parts++
    this.#entries = 0
  }
}

/** Returns those of the identifiers that are implied, each with its record. Reads only the chunks that may have one of them. */
export async function findImpliedKeys(db: Queryable, destinationId: number, identifiers: readonly Buffer[]): Promise<ImpliedKey[]> {
  const wanted = byChunk(identifiers)
  const found: ImpliedKey[] = []
  const each = [...wanted.keys()]
  for (let from = 0; from < each.length; from += chunksAtOnce) {
    const rows = await db.query<Row<'implied_key', 'chunk' | 'part' | 'digests'>>(
      'select chunk, part, digests from implied_key where destination_id = $1 and chunk = any($2::int[])',
      [destinationId, each.slice(from, from + chunksAtOnce)],
    )
    found.push(
      ...(await recordsAt(
        db,
        destinationId,
        rows.flatMap((row) => placesOf(row, wanted.get(row.chunk))),
      )),
    )
  }
  return found
}

/**
 * Searches like `findImpliedKeys` for any number of identifiers, and yields the found keys in portions, which may be empty. `query`: SQL of
 * the identifiers. Requires an open transaction. `atOnce`: maximum number of identifiers in memory, and of those that Postgres searches.
 */
export async function* searchImpliedKeys(
  tx: Transaction,
  destinationId: number,
  query: string,
  atOnce = identifiersAtOnce,
): AsyncGenerator<ImpliedKey[]> {
  const [first] = await tx.query<{ n: number }>(`select count(*)::int as n from (${query} limit ${atOnce + 1}) x`)
  if (first === undefined || first.n <= atOnce) {
    const rows = await tx.query<{ identifier: Buffer }>(possiblyImplied(destinationId, query))
    yield await findImpliedKeys(
      tx,
      destinationId,
      rows.map(({ identifier }) => identifier),
    )
    return
  }
  for await (const rows of eachPortion<{ identifier: Buffer }>(tx.client, 'implied_key_cursor', query, atOnce)) {
    yield await scanImpliedKeys(
      tx,
      destinationId,
      rows.map(({ identifier }) => identifier),
    )
  }
}

/**
 * Returns SQL of the identifiers whose first bytes occur in the entries of their chunk, at any offset. With a million users, about ten of
 * 10,000 new identifiers pass by chance. The search takes 0.1 s; it took 0.3 s when Node compared the identifiers with all digests.
 */
const possiblyImplied = (destinationId: number, query: string): string =>
  `with wanted as materialized (
     select identifier, (get_byte(identifier, 1) << 4) | (get_byte(identifier, 2) >> 4) as chunk,
       substring(identifier from 2 for ${digestBytes}) as digest
     from (${query}) q where length(identifier) > ${digestBytes})
   select distinct w.identifier from wanted w join implied_key ik on ik.destination_id = ${destinationId} and ik.chunk = w.chunk
   where position(w.digest in ik.digests) > 0`

/** Searches like `findImpliedKeys` for very many identifiers: reads the digests of all chunks by COPY. */
async function scanImpliedKeys(tx: Transaction, destinationId: number, identifiers: readonly Buffer[]): Promise<ImpliedKey[]> {
  const wanted = byChunk(identifiers)
  // Almost no digest passes this filter, so almost no map is searched.
  const filter = new Uint8Array(2 ** (filterBits - 3))
  for (const identifier of identifiers) {
    if (identifier.length <= digestBytes) continue
    const bit = identifier.readUInt32BE(1) >>> (digestBytes * 8 - filterBits)
    filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7))
  }
  const places: Place[] = []
  // A load of a million users has 57,000 rows of 140 bytes. Joined to 256 rows they take half of the time: COPY sends each row as a message.
  const query = `select string_agg(int4send(chunk) || int4send(part) || int4send(length(digests)) || digests, '')
    from implied_key where destination_id = ${destinationId} group by chunk / ${chunksPerMessage}`
  for await (const rows of copyOut(tx.client, query)) {
    for (let at = 0; at < rows.length;) {
      const chunk = rows.readInt32BE(at)
      const start = at + 12
      const end = start + rows.readInt32BE(at + 8)
      places.push(...placesOf({ chunk, part: rows.readInt32BE(at + 4), digests: rows.subarray(start, end) }, wanted.get(chunk), filter))
      at = end
    }
  }
  return recordsAt(tx, destinationId, places)
}

function passes(filter: Uint8Array, digest: number): boolean {
  const bit = digest >>> (digestBytes * 8 - filterBits)
  return (((filter[bit >>> 3] ?? 0) >>> (bit & 7)) & 1) === 1
}

/** Removes the entries of these identifiers. Keeps the entries of records that still imply keys. */
export async function eraseImpliedKeys(tx: Queryable, destinationId: number, identifiers: readonly Buffer[]): Promise<void> {
  const wanted = byChunk(identifiers)
  if (wanted.size === 0) return
  const rows = await tx.query<Row<'implied_key', 'chunk' | 'part' | 'digests' | 'record_keys'>>(
    'select chunk, part, digests, record_keys from implied_key where destination_id = $1 and chunk = any($2::int[]) for update',
    [destinationId, [...wanted.keys()]],
  )
  for (const row of rows) {
    const places = placesOf(row, wanted.get(row.chunk)).map(({ place }) => place)
    if (places.length === 0) continue
    const keys = places.map((place) => row.record_keys.subarray(place * shortKeyBytes, (place + 1) * shortKeyBytes))
    const implied = await tx.query<{ key: Buffer }>(
      `select k.key from unnest($2::bytea[]) as k (key) where exists (
         select from record r where r.destination_id = $1 and ${recordImplies('r')} and r.key >= k.key and r.key < k.key || ${behindAll})`,
      [destinationId, keys],
    )
    const outdated = new Set(places.filter((_, i) => !implied.some(({ key }) => key.equals(keys[i] ?? key))))
    await tx.execute('update implied_key set digests = $4, record_keys = $5 where destination_id = $1 and chunk = $2 and part = $3', [
      destinationId,
      row.chunk,
      row.part,
      without(row.digests, digestBytes, outdated),
      without(row.record_keys, shortKeyBytes, outdated),
    ])
  }
}

/**
 * Removes the entries of deleted records, and of records that now have other identifiers, by writing all entries of the destination again.
 */
export async function dropOutdatedKeys(tx: Transaction, destinationId: number): Promise<void> {
  await dropImpliedKeys(tx, destinationId)
  const index = new ImpliedKeyIndex(tx, destinationId)
  const records = `select key, replace(array_to_string(${rowIdentifiers('record')}, ','), '\\x', '') as keys from record
    where destination_id = ${destinationId} and ${recordImplies('record')}`
  for await (const rows of eachPortion<{ key: Buffer; keys: string }>(tx.client, 'record_cursor', records, 5_000)) await index.add(rows)
  await index.end()
}

/** Identifiers to find, by chunk and by the other bits of their digest. Has no identifiers that are shorter than an entry's digest. */
type Wanted = ReadonlyMap<number, ReadonlyMap<number, readonly Buffer[]>>

function byChunk(identifiers: readonly Buffer[]): Wanted {
  const wanted = new Map<number, Map<number, Buffer[]>>()
  for (const identifier of identifiers) {
    if (identifier.length <= digestBytes) continue
    const digest = identifier.readUInt32BE(1)
    const chunk = wanted.get(digest >>> otherBits) ?? new Map<number, Buffer[]>()
    wanted.set(digest >>> otherBits, chunk)
    const bits = digest & (2 ** otherBits - 1)
    chunk.set(bits, [...(chunk.get(bits) ?? []), identifier])
  }
  return wanted
}

/** Place of an entry whose digest begins like the digest of an identifier. */
interface Place {
  readonly chunk: number
  readonly part: number
  readonly place: number
  readonly identifier: Buffer
}

function placesOf(
  { chunk, part, digests }: Row<'implied_key', 'chunk' | 'part' | 'digests'>,
  wanted: ReadonlyMap<number, readonly Buffer[]> | undefined,
  filter?: Uint8Array,
): Place[] {
  const places: Place[] = []
  if (wanted === undefined) return places
  const mask = 2 ** otherBits - 1
  for (let at = 0; at < digests.length; at += digestBytes) {
    const digest = digests.readUInt32BE(at)
    if (filter !== undefined && !passes(filter, digest)) continue
    const identifiers = wanted.get(digest & mask)
    if (identifiers !== undefined) for (const identifier of identifiers) places.push({ chunk, part, place: at / digestBytes, identifier })
  }
  return places
}

/** Returns the entries at these places whose record implies the identifier. */
async function recordsAt(db: Queryable, destinationId: number, places: readonly Place[]): Promise<ImpliedKey[]> {
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
         where lr.destination_id = $1 and ${recordImplies('lr')} and lr.key >= w.first and lr.key < w.first || ${behindAll} offset 0) r
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

/** Copies fixed-length elements except those with an index in `outdated`. */
function without(elements: Buffer, bytes: number, outdated: ReadonlySet<number>): Buffer {
  const kept: Buffer[] = []
  for (let i = 0; i * bytes < elements.length; i++) if (!outdated.has(i)) kept.push(elements.subarray(i * bytes, (i + 1) * bytes))
  return Buffer.concat(kept)
}
