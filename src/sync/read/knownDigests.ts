import type { UnseenDigests } from '../../db/digests.ts'
import { digestBytes, digestWords } from './recordDigest.ts'

/** Each record is compared with this number of digests after the last match of each sequence. */
const comparedAhead = 8
/** Each record is also compared with this number of digests at the start of each chunk, because a sequence may start there. */
const comparedAtStart = 4
/** Maximum number of sequences whose place is remembered. A first load has at most 32 (`stagePartitions`), each later read adds one. */
const maxSequences = 32

/** Number of misses in a row above which a file counts as reordered. */
const maxMissesInARow = 64
/** A file also counts as reordered once more than one miss occurs per this number of known records. */
const recordsPerMiss = 32

/**
 * Digests of the raw records of the last complete snapshot. A gated read (`readRecords.ts`) skips each record whose digest it finds here.
 *
 * The digests are stored in chunks. A sequence consists of consecutive chunks, and its digests are in the order of the file:
 *
 * - A full read stores one sequence. If it partitions the table `stage`, it may store one for each partition.
 * - Each later gated read adds a sequence of its new and changed records.
 *
 * A file usually keeps its order. So a record is compared only with the starts of the chunks, and with the next digests in each sequence. A
 * moved record may count as new. It is then mapped again, and the comparison with the stored records finds it unchanged.
 *
 * A hash table of all digests is built only for a reordered file, or if every repeat must be found (`everywhere`). Processor time for a
 * million records: 210 ms with the table; without it 80 ms in 16 sequences, 50 ms in one. Memory: 18 bytes per known record, and 5 to 11
 * for the table. The arrays are flat, because a million objects would take hundreds of megabytes.
 */
export class KnownDigests {
  /** Digests in the order of `add`. `find` returns the index of a digest. */
  readonly #words: Int32Array
  /** The memory of `#words`. */
  readonly #bytes: Uint8Array
  readonly #featureSets: Uint16Array
  /** Stored chunks. `firstIndex`: index of the chunk's first digest. `count`: number of its digests. */
  readonly #chunks: { readonly chunk: number; readonly firstIndex: number; readonly count: number }[] = []
  #count = 0
  /** One bit for each digest: 1 if it was seen. */
  readonly #seen: Uint8Array
  /** Index of the digest after the last match of each sequence. */
  readonly #next: number[] = []
  /** Index in `#next` of the sequence with the last match. */
  #sequence = 0
  /** Number of sequences found so far, including forgotten ones. */
  #sequenceCount = 0
  /** First digests of the chunks, at which a sequence may start: index by the first word of the digest. */
  readonly #starts = new Map<number, number>()
  #misses = 0
  /** Number of records without a match since the last match. */
  #missesInARow = 0
  readonly #everywhere: boolean
  /** Hash table of the digests: index plus 1, or 0 for a free slot. Undefined until it is needed. */
  #slots: Int32Array | undefined

  /** `capacity`: number of digests that will be added. `everywhere`: true to find a record at any place in the file. */
  constructor(capacity: number, { everywhere = false }: { readonly everywhere?: boolean } = {}) {
    this.#everywhere = everywhere
    this.#words = new Int32Array(capacity * digestWords)
    this.#bytes = new Uint8Array(this.#words.buffer)
    this.#featureSets = new Uint16Array(capacity)
    this.#seen = new Uint8Array((capacity >> 3) + 1)
  }

  /**
   * Appends a stored chunk of 16-byte digests. `outdated`: positions in the chunk of digests that no longer belong to a record; `find`
   * never returns them. `featureSets`: two bytes for each digest, big-endian.
   */
  add(chunk: number, digests: Uint8Array, featureSets: Uint8Array, outdated: readonly number[]): void {
    const firstIndex = this.#count
    const sets = new DataView(featureSets.buffer, featureSets.byteOffset, featureSets.length)
    for (let i = 0; i < sets.byteLength; i += 2) this.#featureSets[firstIndex + i / 2] = sets.getUint16(i)
    this.#bytes.set(digests, firstIndex * digestBytes)
    this.#count += digests.length / digestBytes
    this.#chunks.push({ chunk, firstIndex, count: this.#count - firstIndex })
    for (const position of outdated) {
      this.markSeen(firstIndex + position)
      // No digest of a record is all zero.
      this.#words.fill(0, (firstIndex + position) * digestWords, (firstIndex + position + 1) * digestWords)
    }
    const to = Math.min(firstIndex + comparedAtStart, this.#count)
    // If two starts have the same first word, `#starts` keeps only the later one.
    for (let i = firstIndex; i < to; i++) this.#starts.set(this.#words[i * digestWords] as number, i)
  }

  /** Returns the index of the digest; -1 for a new record, and for a moved record that counts as new. */
  find(digest: Int32Array): number {
    const next = this.#next[this.#sequence] ?? this.#count
    if (next < this.#count && this.#equals(next, digest)) return this.#matched(this.#sequence, next)
    const i = this.#inSequences(digest)
    if (i !== -1) return i
    if (this.#slots === undefined && !this.#everywhere) {
      const start = this.#atStart(digest)
      if (start !== -1) return this.#matchedNewSequence(start)
      this.#misses++
      this.#missesInARow++
      if (this.#missesInARow <= maxMissesInARow && this.#misses * recordsPerMiss <= this.#count) return -1
    }
    const found = this.#lookUp(digest)
    return found === -1 ? -1 : this.#matchedNewSequence(found)
  }

  /** Marks a digest as seen. Returns true the first time. */
  markSeen(i: number): boolean {
    const before = this.#seen[i >> 3] ?? 0
    const bit = 1 << (i & 7)
    if ((before & bit) !== 0) return false
    this.#seen[i >> 3] = before | bit
    return true
  }

  /** Returns the number of a known record's feature set: its warnings, currency and the like (`mapping/statistics/featureSets.ts`). */
  featureSetOf(i: number): number {
    return this.#featureSets[i] as number
  }

  /** Returns the digests that were not marked as seen, by chunk and position, without the outdated ones. */
  unseen(): UnseenDigests[] {
    return this.#chunks.flatMap(({ chunk, firstIndex, count }) => {
      const positions: number[] = []
      for (let i = firstIndex; i < firstIndex + count; i++) {
        if ((i & 7) === 0 && this.#seen[i >> 3] === 0xff) i += 7
        else if (!this.#isSeen(i)) positions.push(i - firstIndex)
      }
      return positions.length === 0 ? [] : [{ chunk, positions }]
    })
  }

  /** Searches after the previous match of each sequence: first the next digest of all sequences, then those after it. */
  #inSequences(digest: Int32Array): number {
    const next = this.#next
    for (let k = 0; k < next.length; k++) {
      const i = next[k] as number
      if (i < this.#count && this.#equals(i, digest)) return this.#matched(k, i)
    }
    // If there is a table, it finds the digests further ahead.
    if (this.#slots !== undefined) return -1
    for (let k = 0; k < next.length; k++) {
      const from = next[k] as number
      const to = Math.min(from + comparedAhead, this.#count)
      for (let i = from + 1; i < to; i++) if (this.#equals(i, digest)) return this.#matched(k, i)
    }
    return -1
  }

  #atStart(digest: Int32Array): number {
    const i = this.#starts.get(digest[0] as number)
    return i !== undefined && this.#equals(i, digest) ? i : -1
  }

  /** Registers a match in a sequence, and returns its index `i`. */
  #matched(sequence: number, i: number): number {
    this.#sequence = sequence
    this.#next[sequence] = i + 1
    this.#missesInARow = 0
    return i
  }

  /** Adds a sequence with a match at `i`, and returns `i`. If there are too many sequences, forgets the oldest one. */
  #matchedNewSequence(i: number): number {
    return this.#matched(this.#sequenceCount++ % maxSequences, i)
  }

  #isSeen(i: number): boolean {
    return ((this.#seen[i >> 3] ?? 0) & (1 << (i & 7))) !== 0
  }

  /** Searches the hash table, and builds it first if it is missing. */
  #lookUp(digest: Int32Array): number {
    const slots = (this.#slots ??= this.#buildTable())
    const mask = slots.length - 1
    for (let slot = (digest[0] as number) & mask; ; slot = (slot + 1) & mask) {
      const i = (slots[slot] ?? 0) - 1
      if (i === -1 || this.#equals(i, digest)) return i
    }
  }

  /** Builds the table. At most three of four slots are used, so that a lookup takes few probes. */
  #buildTable(): Int32Array {
    let size = 16
    while (size * 3 < this.#count * 4) size *= 2
    const slots = new Int32Array(size)
    const mask = size - 1
    const words = this.#words
    const none = new Int32Array(digestWords)
    for (let i = 0; i < this.#count; i++) {
      const firstWord = words[i * digestWords] as number
      if (firstWord === 0 && this.#equals(i, none)) continue
      let slot = firstWord & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = i + 1
    }
    return slots
  }

  #equals(i: number, digest: Int32Array): boolean {
    const words = this.#words
    const at = i * digestWords
    return words[at] === digest[0] && words[at + 1] === digest[1] && words[at + 2] === digest[2] && words[at + 3] === digest[3]
  }
}
