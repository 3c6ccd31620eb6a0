/**
 * Stores the identifiers of one audience or do-not-reach list: their times, and which of them belong to the same user.
 *
 * Ten million identifiers must fit in memory, so each is a record of 48 bytes instead of an object (docs/benchmarks.md). A chunk of memory
 * has 65,536 records. A hash table with open addressing finds a record by its type and digest. The records of a user form a circular list:
 * each contains the number of the next one. Times are seconds since 1970.
 */
import { hash } from 'node:crypto'
import { userIdentifiers } from '../../service/contract/audienceResources.ts'

/** Types of identifiers. A record stores the index of its type in this list. */
export const IDENTIFIER_TYPES = userIdentifiers
export type IdentifierType = (typeof IDENTIFIER_TYPES)[number]

// Sizes of records and chunks, then offsets of fields in a record. The digest is at 0 and has 32 bytes.
const RECORD_BYTES = 48
const CHUNK_BITS = 16
const CHUNK_RECORDS = 1 << CHUNK_BITS
const TYPE = 32
const EFFECTIVE = 36
const EXPIRES = 40
const NEXT = 44
/** Bit of the type byte: the identifier was removed. If it is added again, `put` uses the same record. */
const REMOVED = 0x80
/** Bits of the type byte that contain the type. All of them are set in a new record, which has no type yet. */
const TYPE_BITS = 0x7f
/** Maximum share of used slots. Above it, the table doubles. Ten million identifiers need 16.8 million slots. */
const MAX_LOAD = 0.7

/** Identifier with its times. The identifier is in force from `effectiveAt` (inclusive) to `expiresAt` (exclusive). */
export interface Member {
  readonly type: IdentifierType
  /** Digest in 64 lower-case hex digits, or the plain value of a `partner_user_id`. */
  readonly value: string
  readonly effectiveAt: number
  readonly expiresAt: number
}

/** Content of `Memberships` for a state file, without chunks and hash table. Existing state files have these names. */
export interface SavedMemberships {
  readonly records: number
  readonly live: number
  /** As `Memberships.#partnerIds`. */
  readonly plain: Map<number, string>
}

/** Identifiers of one audience or do-not-reach list. Parameter `type`: index in `IDENTIFIER_TYPES`. `record`: number of a record. */
export class Memberships {
  #chunks: Buffer[] = []
  /** Number of records, including removed records. */
  #recordCount = 0
  /** Number of records that were not removed. */
  #liveCount = 0
  /** Hash table: record + 1; 0 for a free slot. */
  #table = new Uint32Array(1024)
  /** Values of `partner_user_id` by record. The record itself contains only the SHA-256. */
  #partnerIds = new Map<number, string>()

  /** Number of identifiers that were not removed, including those not in force. */
  get size(): number {
    return this.#liveCount
  }

  /** Returns the record of an identifier; -1 if the identifier is unknown or removed. `digest`: result of `digestBytes`. */
  find(type: number, digest: Buffer): number {
    const slot = this.#slot(type, digest)
    const record = (this.#table[slot] ?? 0) - 1
    return record >= 0 && (this.#chunk(record)[this.#offset(record) + TYPE] ?? 0) < REMOVED ? record : -1
  }

  /** Adds an identifier, or changes its times. Returns its record. `partnerId`: value of a `partner_user_id`. */
  put(type: number, digest: Buffer, times: { readonly effectiveAt: number; readonly expiresAt: number }, partnerId?: string): number {
    let slot = this.#slot(type, digest)
    let record = (this.#table[slot] ?? 0) - 1
    if (record < 0) {
      if (this.#recordCount + 1 > this.#table.length * MAX_LOAD) {
        this.#resizeTable(this.#table.length * 2)
        slot = this.#slot(type, digest)
      }
      record = this.#append(digest)
      this.#table[slot] = record + 1
      if (partnerId !== undefined) this.#partnerIds.set(record, partnerId)
    }
    const chunk = this.#chunk(record)
    const at = this.#offset(record)
    // A new or removed record starts as the only record of a user.
    if (chunk[at + TYPE] !== type) {
      chunk[at + TYPE] = type
      chunk.writeUInt32LE(record, at + NEXT)
      this.#liveCount++
    }
    chunk.writeUInt32LE(times.effectiveAt, at + EFFECTIVE)
    chunk.writeUInt32LE(times.expiresAt, at + EXPIRES)
    return record
  }

  /** Merges the users that two records belong to into one user. */
  mergeUsers(a: number, b: number): void {
    if (a === b) return
    for (let record = this.#next(a); record !== a; record = this.#next(record)) if (record === b) return
    // Exchanging the next records of `a` and `b` makes one circular list of the two.
    const nextOfA = this.#next(a)
    this.#setNext(a, this.#next(b))
    this.#setNext(b, nextOfA)
  }

  /** Removes all identifiers of the user that the record belongs to. */
  removeUser(record: number): void {
    let current = record
    do {
      const next = this.#next(current)
      this.#markRemoved(current)
      current = next
    } while (current !== record)
  }

  /** Removes one identifier and keeps the others of its user. */
  removeOne(record: number): void {
    let before = record
    while (this.#next(before) !== record) before = this.#next(before)
    this.#setNext(before, this.#next(record))
    this.#markRemoved(record)
  }

  /** Counts the identifiers in force at `nowS` by type. `members`: number of users with at least one of them. */
  count(nowS: number): { members: number; identifiers: Record<IdentifierType, number> } {
    const identifiers: Record<IdentifierType, number> = {
      email: 0,
      device_id: 0,
      handle: 0,
      service_id: 0,
      phone_number: 0,
      partner_user_id: 0,
    }
    const seen = new Uint8Array(this.#recordCount)
    let members = 0
    for (let record = 0; record < this.#recordCount; record++) {
      if (!this.#inForce(record, nowS)) continue
      const type = IDENTIFIER_TYPES[this.#chunk(record)[this.#offset(record) + TYPE] ?? 0]
      if (type !== undefined) identifiers[type]++
      if (seen[record] === 1) continue
      members++
      let current = record
      do {
        seen[current] = 1
        current = this.#next(current)
      } while (current !== record)
    }
    return { members, identifiers }
  }

  /**
   * Returns the records in force at `nowS`, sorted by type name, then bytewise by value. Compares digests, not their hex texts: that needs
   * less memory and gives the same order.
   */
  sortedInForce(nowS: number): Uint32Array {
    const inForce = new Uint32Array(this.#recordCount)
    let length = 0
    for (let record = 0; record < this.#recordCount; record++) if (this.#inForce(record, nowS)) inForce[length++] = record
    return inForce.subarray(0, length).sort((a, b) => this.#compare(a, b))
  }

  clone(): Memberships {
    const copy = new Memberships()
    copy.#chunks = this.#chunks.map((chunk) => Buffer.from(chunk))
    copy.#recordCount = this.#recordCount
    copy.#liveCount = this.#liveCount
    copy.#table = this.#table.slice()
    copy.#partnerIds = new Map(this.#partnerIds)
    return copy
  }

  /** Returns the content for a state file, without the hash table. Does not copy the bytes of the chunks. */
  save(): { readonly plain: SavedMemberships; readonly bytes: readonly Uint8Array[] } {
    const bytes = this.#chunks.map((chunk, at) =>
      chunk.subarray(0, Math.min(CHUNK_RECORDS, this.#recordCount - at * CHUNK_RECORDS) * RECORD_BYTES),
    )
    return { plain: { records: this.#recordCount, live: this.#liveCount, plain: this.#partnerIds }, bytes }
  }

  /** Restores the result of `save`, and builds the hash table. */
  static fromSaved({ records, live, plain }: SavedMemberships, bytes: readonly Uint8Array[]): Memberships {
    const restored = new Memberships()
    restored.#chunks = bytes.map((one) => {
      const chunk = Buffer.alloc(CHUNK_RECORDS * RECORD_BYTES)
      chunk.set(one)
      return chunk
    })
    restored.#recordCount = records
    restored.#liveCount = live
    restored.#partnerIds = plain
    let slots = restored.#table.length
    while (records + 1 > slots * MAX_LOAD) slots *= 2
    restored.#resizeTable(slots)
    return restored
  }

  /** Returns the identifier of a record that was not removed. */
  member(record: number): Member {
    const chunk = this.#chunk(record)
    const at = this.#offset(record)
    return {
      type: IDENTIFIER_TYPES[chunk[at + TYPE] ?? 0] ?? 'email',
      value: this.#partnerIds.get(record) ?? chunk.toString('hex', at, at + 32),
      effectiveAt: chunk.readUInt32LE(at + EFFECTIVE),
      expiresAt: chunk.readUInt32LE(at + EXPIRES),
    }
  }

  #compare(a: number, b: number): number {
    const leftChunk = this.#chunk(a)
    const rightChunk = this.#chunk(b)
    const leftAt = this.#offset(a)
    const rightAt = this.#offset(b)
    const byType = (TYPE_RANK[leftChunk[leftAt + TYPE] ?? 0] ?? 0) - (TYPE_RANK[rightChunk[rightAt + TYPE] ?? 0] ?? 0)
    if (byType !== 0) return byType
    if (this.#partnerIds.size > 0 && this.#partnerIds.has(a))
      return Buffer.compare(Buffer.from(this.#partnerIds.get(a) ?? ''), Buffer.from(this.#partnerIds.get(b) ?? ''))
    return leftChunk.compare(rightChunk, rightAt, rightAt + 32, leftAt, leftAt + 32)
  }

  #inForce(record: number, nowS: number): boolean {
    const chunk = this.#chunk(record)
    const at = this.#offset(record)
    return (chunk[at + TYPE] ?? REMOVED) < REMOVED && chunk.readUInt32LE(at + EFFECTIVE) <= nowS && chunk.readUInt32LE(at + EXPIRES) > nowS
  }

  #markRemoved(record: number): void {
    const at = this.#offset(record)
    const chunk = this.#chunk(record)
    chunk[at + TYPE] = (chunk[at + TYPE] ?? 0) | REMOVED
    chunk.writeUInt32LE(record, at + NEXT)
    this.#liveCount--
  }

  /** Returns the slot of an identifier. For an unknown identifier, returns the free slot that `put` will use. */
  #slot(type: number, digest: Buffer): number {
    const mask = this.#table.length - 1
    let slot = firstSlot(type, digest.readUInt32LE(0)) & mask
    for (;;) {
      const entry = this.#table[slot] ?? 0
      if (entry === 0) return slot
      const record = entry - 1
      const chunk = this.#chunk(record)
      const at = this.#offset(record)
      if (((chunk[at + TYPE] ?? 0) & TYPE_BITS) === type && digest.compare(chunk, at, at + 32) === 0) return slot
      slot = (slot + 1) & mask
    }
  }

  /** Appends a record that is marked as removed, and returns its number. `put` then writes its type and times, and counts it. */
  #append(digest: Buffer): number {
    const record = this.#recordCount++
    if (record >> CHUNK_BITS === this.#chunks.length) this.#chunks.push(Buffer.alloc(CHUNK_RECORDS * RECORD_BYTES))
    const chunk = this.#chunk(record)
    const at = this.#offset(record)
    digest.copy(chunk, at, 0, 32)
    chunk[at + TYPE] = REMOVED | TYPE_BITS
    return record
  }

  #resizeTable(slots: number): void {
    const mask = slots - 1
    const index = new Uint32Array(slots)
    for (let record = 0; record < this.#recordCount; record++) {
      const chunk = this.#chunk(record)
      const at = this.#offset(record)
      const type = (chunk[at + TYPE] ?? 0) & TYPE_BITS
      let slot = firstSlot(type, chunk.readUInt32LE(at)) & mask
      while (index[slot] !== 0) slot = (slot + 1) & mask
      index[slot] = record + 1
    }
    this.#table = index
  }

  #next(record: number): number {
    return this.#chunk(record).readUInt32LE(this.#offset(record) + NEXT)
  }

  #setNext(record: number, next: number): void {
    this.#chunk(record).writeUInt32LE(next, this.#offset(record) + NEXT)
  }

  #chunk(record: number): Buffer {
    // Every record has its chunk: `#append` created it, or it was saved or copied with the record.
    return this.#chunks[record >> CHUNK_BITS] as Buffer
  }

  #offset(record: number): number {
    return (record & (CHUNK_RECORDS - 1)) * RECORD_BYTES
  }
}

/** Returns the slot, before the mask, at which the search for an identifier begins. `digestStart`: first four bytes of the digest. */
function firstSlot(type: number, digestStart: number): number {
  return digestStart ^ Math.imul(type + 1, 0x9e3779b1)
}

/** Returns the 32 bytes that a record stores of an identifier: its digest, or the SHA-256 of a `partner_user_id`. */
export function digestBytes(type: number, value: string): Buffer {
  return IDENTIFIER_TYPES[type] === 'partner_user_id' ? Buffer.from(hash('sha256', value), 'hex') : Buffer.from(value, 'hex')
}

/** Yields the line of each identifier in force at `nowS`, in the order of `sortedInForce`. */
export function* linesOf(memberships: Memberships, nowS: number, toLine: (member: Member) => string): Generator<string> {
  for (const record of memberships.sortedInForce(nowS)) yield toLine(memberships.member(record))
}

/** Position of each type in the order of the type names. */
const TYPE_RANK = IDENTIFIER_TYPES.map((type) => [...IDENTIFIER_TYPES].sort().indexOf(type))
