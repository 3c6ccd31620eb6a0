/**
 * Writes the table `implied_key`, the index of implied identifiers (docs/decisions/implied-keys.md). `impliedKeyEntries.ts` defines
 * entries, chunks and parts.
 */
import { CopyWriter } from './copyBinary.ts'
import { eachPortion } from './cursor.ts'
import type { Queryable, Transaction } from './database.ts'
import { rowIdentifiers } from './identifiers.ts'
import { byChunk, chunkCount, otherBits, placesOf, prefixBytes, shortKeyBytes } from './impliedKeyEntries.ts'
import { aboveAllKeys, recordMayImply } from './impliedKeys.ts'
import type { DbRow } from './row.ts'

/** Maximum number of entries in memory (5 MB). Once it is reached, the entries are stored as one more part of each chunk. */
const defaultMaxEntries = 2 ** 19

/** Removes all entries of a destination. */
export async function dropImpliedKeys(tx: Queryable, destinationId: number): Promise<void> {
  await tx.execute('delete from implied_key where destination_id = $1', [destinationId])
}

/**
 * Writes the entries of a load, by chunk. Groups the entries in Node, which reads the records anyway: Postgres took 4 s to group two
 * million identifiers.
 */
export class ImpliedKeyIndex {
  readonly #tx: Transaction
  readonly #destinationId: number
  readonly #digests: Uint32Array
  readonly #keys: Buffer
  #entries = 0
  #parts: number

  /** `firstPart`: number of parts that the load has already stored. `maxEntries`: maximum number of entries in memory. */
  constructor(tx: Transaction, destinationId: number, { firstPart = 0, maxEntries = defaultMaxEntries } = {}) {
    this.#tx = tx
    this.#destinationId = destinationId
    this.#parts = firstPart
    this.#digests = new Uint32Array(maxEntries)
    this.#keys = Buffer.allocUnsafe(maxEntries * shortKeyBytes)
  }

  /** Adds the identifiers of records, and stores parts when the memory is full. `keys`: packed identifiers in hex, joined by commas. */
  async add(records: readonly { readonly key: Buffer; readonly keys: string }[]): Promise<void> {
    for (const { key, keys } of records) {
      for (let at = 0; at < keys.length; at = keys.indexOf(',', at) + 1 || keys.length) {
        if (!this.hasRoom(1)) await this.store()
        // Skips the type of the identifier, which is two hex digits.
        this.addOne(Number.parseInt(keys.slice(at + 2, at + 2 + prefixBytes * 2), 16), key, 0)
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

  /** Adds an identifier, for which there must be room. `digest`: first 4 bytes of its digest. The record key is at `at` in `source`. */
  addOne(digest: number, source: Buffer, at: number): void {
    this.#digests[this.#entries] = digest
    const to = this.#entries * shortKeyBytes
    // The cast holds because the index is within the key.
    for (let i = 0; i < shortKeyBytes; i++) this.#keys[to + i] = source[at + i] as number
    this.#entries++
  }

  /** Stores the remaining entries. Returns the number of parts that the load has stored. */
  async end(): Promise<number> {
    if (this.#entries > 0) await this.store()
    return this.#parts
  }

  /** Stores the entries so far as one more part of each chunk, after `after` has ended. Further identifiers may be added meanwhile. */
  async store(after?: Promise<void>): Promise<void> {
    const ends = new Uint32Array(chunkCount)
    for (let i = 0; i < this.#entries; i++) {
      const chunk = (this.#digests[i] ?? 0) >>> otherBits
      ends[chunk] = (ends[chunk] ?? 0) + 1
    }
    const places = new Uint32Array(chunkCount)
    for (let chunk = 1; chunk < chunkCount; chunk++) {
      places[chunk] = ends[chunk - 1] ?? 0
      ends[chunk] = (ends[chunk] ?? 0) + (ends[chunk - 1] ?? 0)
    }
    const digests = Buffer.allocUnsafe(this.#entries * prefixBytes)
    const keys = Buffer.allocUnsafe(this.#entries * shortKeyBytes)
    for (let i = 0; i < this.#entries; i++) {
      const digest = this.#digests[i] ?? 0
      const place = places[digest >>> otherBits] ?? 0
      places[digest >>> otherBits] = place + 1
      digests.writeUInt32BE(digest, place * prefixBytes)
      this.#keys.copy(keys, place * shortKeyBytes, i * shortKeyBytes, (i + 1) * shortKeyBytes)
    }
    const part = this.#parts++
    this.#entries = 0
    await after
    const copy = new CopyWriter(this.#tx.client, 'implied_key (destination_id, chunk, part, digests, record_keys)')
    let start = 0
    for (let chunk = 0; chunk < chunkCount; chunk++) {
      const end = ends[chunk] ?? 0
      if (end === start) continue
      copy.row(5)
      copy.int4(this.#destinationId)
      copy.int4(chunk)
      copy.int4(part)
      copy.bytes(digests.subarray(start * prefixBytes, end * prefixBytes))
      copy.bytes(keys.subarray(start * shortKeyBytes, end * shortKeyBytes))
      if (copy.full) await copy.flush()
      start = end
    }
    await copy.end()
  }
}

/** Removes the entries of identifiers. Keeps an entry if a record that still implies keys may have it. */
export async function eraseImpliedKeys(tx: Queryable, destinationId: number, identifiers: readonly Buffer[]): Promise<void> {
  const searched = byChunk(identifiers)
  if (searched.size === 0) return
  const rows = await tx.query<DbRow<'implied_key', 'chunk' | 'part' | 'digests' | 'record_keys'>>(
    'select chunk, part, digests, record_keys from implied_key where destination_id = $1 and chunk = any($2::int[]) for update',
    [destinationId, [...searched.keys()]],
  )
  for (const row of rows) {
    const places = placesOf(row, searched.get(row.chunk)).map(({ place }) => place)
    if (places.length === 0) continue
    const keys = places.map((place) => row.record_keys.subarray(place * shortKeyBytes, (place + 1) * shortKeyBytes))
    const implied = await tx.query<{ key: Buffer }>(
      `select k.key from unnest($2::bytea[]) as k (key) where exists (
         select from record r where r.destination_id = $1 and ${recordMayImply('r')} and r.key >= k.key and r.key < k.key || ${aboveAllKeys})`,
      [destinationId, keys],
    )
    const outdated = new Set(places.filter((_, i) => !implied.some(({ key }) => key.equals(keys[i] ?? key))))
    await tx.execute('update implied_key set digests = $4, record_keys = $5 where destination_id = $1 and chunk = $2 and part = $3', [
      destinationId,
      row.chunk,
      row.part,
      without(row.digests, prefixBytes, outdated),
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
    where destination_id = ${destinationId} and ${recordMayImply('record')}`
  for await (const rows of eachPortion<{ key: Buffer; keys: string }>(tx.client, 'record_cursor', records, 5_000)) await index.add(rows)
  await index.end()
}

/** Copies fixed-length elements except those with an index in `outdated`. */
function without(elements: Buffer, bytes: number, outdated: ReadonlySet<number>): Buffer {
  const keptElements: Buffer[] = []
  for (let i = 0; i * bytes < elements.length; i++) if (!outdated.has(i)) keptElements.push(elements.subarray(i * bytes, (i + 1) * bytes))
  return Buffer.concat(keptElements)
}
