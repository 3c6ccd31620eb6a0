import type { UnseenDigests } from '../../db/digests.ts'
import { digestBytes, digestWords } from './recordDigest.ts'

/** Number of digests after the last match that are compared before the hash table is used. */
const ahead = 8

/** A file counts as reordered after 64 misses in a row, or once the misses are more than one in 32 known records. */
const newInARow = 64
const newOfAll = 32

/**
 * Digests of a snapshot, which a read finds and marks as seen.
 *
 * A file usually keeps its order, so a record is compared with the digests after the previous match. A record without a match there
 * is nearly always new. A moved record may count as new: the record is read again, and the diff finds its content unchanged. A hash
 * table of all digests is built only for a reordered file, or if every repeat must be found (`everywhere`). Building the table takes
 * 31 ms for a million records, in a run of some 500 ms. Memory: 18 bytes per known record, and 5 to 11 for the table. The arrays are
 * flat, because a million objects would take hundreds of megabytes.
 */
export class KnownDigests {
  readonly #words: Int32Array
  readonly #bytes: Uint8Array
  readonly #featureSets: Uint16Array
  readonly #chunks: { readonly chunk: number; readonly first: number; readonly count: number }[] = []
  #count = 0
  readonly #seen: Uint8Array
  #next = 0
  #new = 0
  #newInARow = 0
  readonly #everywhere: boolean
  #slots: Int32Array | undefined

  /** `capacity`: number of digests that will be added. `everywhere`: finds a record at any place in the file. */
  constructor(capacity: number, { everywhere = false }: { readonly everywhere?: boolean } = {}) {
    this.#everywhere = everywhere
    this.#words = new Int32Array(capacity * digestWords)
    this.#bytes = new Uint8Array(this.#words.buffer)
    this.#featureSets = new Uint16Array(capacity)
    this.#seen = new Uint8Array((capacity >> 3) + 1)
  }

  /**
   * Appends a stored chunk of 16-byte digests. The digests at the positions `outdated` are no longer current, so they are never found.
   * `featureSets`: two bytes for each digest, big-endian.
   */
  add(chunk: number, digests: Uint8Array, featureSets: Uint8Array, outdated: readonly number[]): void {
    const first = this.#count
    const sets = new DataView(featureSets.buffer, featureSets.byteOffset, featureSets.length)
    for (let i = 0; i < sets.byteLength; i += 2) this.#featureSets[first + i / 2] = sets.getUint16(i)
    this.#bytes.set(digests, first * digestBytes)
    this.#count += digests.length / digestBytes
    this.#chunks.push({ chunk, first, count: this.#count - first })
    for (const position of outdated) {
      this.markSeen(first + position)
      // All zero is never found, because no digest is all zero.
      this.#words.fill(0, (first + position) * digestWords, (first + position + 1) * digestWords)
    }
  }

  /** Returns the index of the digest; -1 for a new record, and for a moved record that counts as new. */
  find(digest: Int32Array): number {
    const from = this.#next
    const to = Math.min(from + ahead, this.#count)
    for (let i = from; i < to; i++) {
      if (!this.#is(i, digest)) continue
      this.#next = i + 1
      this.#newInARow = 0
      return i
    }
    if (this.#slots === undefined && !this.#everywhere && ++this.#newInARow <= newInARow && ++this.#new * newOfAll <= this.#count) return -1
    const i = this.#lookUp(digest)
    if (i !== -1) this.#next = i + 1
    return i
  }

  /** Marks a digest as seen. Returns true the first time. */
  markSeen(i: number): boolean {
    const before = this.#seen[i >> 3] ?? 0
    const bit = 1 << (i & 7)
    if ((before & bit) !== 0) return false
    this.#seen[i >> 3] = before | bit
    return true
  }

  /** Returns the feature set of a known record (mapping/rowStatistics.ts). */
  featureSetOf(i: number): number {
    return this.#featureSets[i] as number // an index that `find` gave
  }

  /** Returns the current digests that were not marked as seen, by chunk and position. */
  unseen(): UnseenDigests[] {
    return this.#chunks.flatMap(({ chunk, first, count }) => {
      const positions: number[] = []
      for (let i = first; i < first + count; i++) {
        if ((i & 7) === 0 && this.#seen[i >> 3] === 0xff) i += 7
        else if (((this.#seen[i >> 3] ?? 0) & (1 << (i & 7))) === 0) positions.push(i - first)
      }
      return positions.length === 0 ? [] : [{ chunk, positions }]
    })
  }

  #lookUp(digest: Int32Array): number {
    const slots = (this.#slots ??= this.#table())
    const mask = slots.length - 1
    // A digest has four words. A free slot is 0, so positions start at 1.
    for (let slot = (digest[0] as number) & mask; ; slot = (slot + 1) & mask) {
      const i = (slots[slot] ?? 0) - 1
      if (i === -1 || this.#is(i, digest)) return i
    }
  }

  /** Builds the table. At most three of four slots are used, so that a lookup takes few probes. */
  #table(): Int32Array {
    let size = 16
    while (size * 3 < this.#count * 4) size *= 2
    const slots = new Int32Array(size)
    const mask = size - 1
    const words = this.#words
    const none = new Int32Array(digestWords)
    for (let i = 0; i < this.#count; i++) {
      const first = words[i * digestWords] as number // below the length
      if (first === 0 && this.#is(i, none)) continue
      let slot = first & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = i + 1
    }
    return slots
  }

  #is(i: number, digest: Int32Array): boolean {
    const words = this.#words
    const at = i * digestWords
    return words[at] === digest[0] && words[at + 1] === digest[1] && words[at + 2] === digest[2] && words[at + 3] === digest[3]
  }
}
