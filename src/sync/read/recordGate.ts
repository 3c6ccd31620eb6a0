/**
 * The record gate (docs/architecture.md#three-gates-work-that-is-skipped-safely). If the digest of a raw record is in the last complete
 * snapshot, the record is unchanged. Then it is not parsed, mapped or staged. A digest includes the shape of the file (header, delimiter,
 * prefixes of XML): equal bytes under another header are another record.
 */
import type { RecordGate } from '../../formats/formatReader.ts'
import { FeatureSetCounts } from '../../mapping/statistics/rowStatistics.ts'
import type { KnownDigests } from './knownDigests.ts'
import { RecordDigester, digestWords } from './recordDigest.ts'

/** Gate that computes the digest of every raw record, and skips the known records. */
export class DigestGate implements RecordGate {
  /** Undefined for a full read. */
  #knownDigests: KnownDigests | undefined
  /** Columns of the last read (`RecordGate.columns`). The caller sets them for each source. */
  columns: readonly string[] = []
  readonly #digester: RecordDigester
  /** Digest of the present shape. */
  readonly #shape = new Int32Array(digestWords)
  /** Queue of the records that were not skipped: their lines, in order. */
  #lines = new Float64Array(1024)
  /** Digests of the records in the queue. */
  #digests = new Int32Array(1024 * digestWords)
  /** Number of records in the queue. */
  #count = 0
  /** Index in the queue of the next record that `digestOf` looks at. */
  #next = 0
  /** Digest that `digestOf` returned last. */
  readonly #returned = new Int32Array(digestWords)
  /** The memory of `#returned`. */
  readonly #returnedBytes = new Uint8Array(this.#returned.buffer)
  #unchanged = 0
  #repeated = 0
  #featureSets = new FeatureSetCounts()

  /** `key`: random digest key of the destination, 16 bytes. */
  constructor(key: Uint8Array) {
    this.#digester = new RecordDigester(key)
  }

  /** Sets the known records. Must be called before the first record. */
  setKnown(known: KnownDigests): void {
    this.#knownDigests = known
  }

  /** True if known records were given, so some may be skipped. */
  get canSkip(): boolean {
    return this.#knownDigests !== undefined
  }

  /** Number of different known records that were skipped. */
  get unchanged(): number {
    return this.#unchanged
  }

  /** Number of skipped repeats of known records. */
  get repeated(): number {
    return this.#repeated
  }

  /** Number of all skipped records. */
  get skipped(): number {
    return this.#unchanged + this.#repeated
  }

  /** Returns the row statistics of the skipped records of a source, and starts those of the next source. */
  takeCounts(): FeatureSetCounts {
    const featureSets = this.#featureSets
    this.#featureSets = new FeatureSetCounts()
    return featureSets
  }

  /** Sets the shape (`RecordGate`) of the following records. */
  beginShape(shape: string): void {
    // A shape starts with a line end and a record never does, so the two cannot have the same digest.
    const bytes = Buffer.from(`\nshape ${shape}`)
    this.#digester.compute(bytes, 0, bytes.length)
    this.#shape.set(this.#digester.digest)
    // The shape changes only after all earlier rows were yielded, so no digest in the queue is needed any more.
    this.#clearQueue()
  }

  /**
   * Returns true and counts the record `bytes[start, end)` if it is known; its row is then not parsed. Otherwise queues its digest for
   * `digestOf`, and returns false.
   */
  skips(bytes: Buffer, start: number, end: number, line: number): boolean {
    this.#digester.compute(bytes, start, end)
    const { digest } = this.#digester
    const shape = this.#shape
    // `digest` and `shape` have `digestWords` elements, so the casts hold.
    for (let i = 0; i < digestWords; i++) digest[i] = (digest[i] as number) ^ (shape[i] as number)
    const known = this.#knownDigests
    const found = known === undefined ? -1 : known.find(digest)
    if (known === undefined || found === -1) {
      this.#enqueue(line, digest)
      return false
    }
    this.#featureSets.add(known.featureSetOf(found), line)
    if (known.markSeen(found)) this.#unchanged++
    else this.#repeated++
    return true
  }

  /**
   * Returns the digest of a parsed row, valid until the next call. Returns undefined if the gate never got the raw record of the row:
   * unusual quoting, or a format without raw records. Must be called in the order of the rows.
   */
  digestOf(line: number): Uint8Array | undefined {
    const lines = this.#lines
    // Skips the lines of trailer rows: the gate got their raw records, but they are not yielded. Indexes below `#count` have a line.
    while (this.#next < this.#count && (lines[this.#next] as number) < line) this.#next++
    if (this.#next === this.#count || lines[this.#next] !== line) return undefined
    const at = this.#next++ * digestWords
    // A digest is stored for each line.
    for (let i = 0; i < digestWords; i++) this.#returned[i] = this.#digests[at + i] as number
    if (this.#next === this.#count) this.#clearQueue()
    return this.#returnedBytes
  }

  /** Adds a record to the queue. */
  #enqueue(line: number, digest: Int32Array): void {
    if (this.#count === this.#lines.length) this.#dropTaken()
    const at = this.#count++
    if (at === this.#lines.length) {
      const lines = new Float64Array(at * 2)
      const digests = new Int32Array(at * 2 * digestWords)
      lines.set(this.#lines)
      digests.set(this.#digests)
      this.#lines = lines
      this.#digests = digests
    }
    this.#lines[at] = line
    this.#digests.set(digest, at * digestWords)
  }

  /** Removes the records before `#next` from the queue. The queue is rarely empty, because rows are yielded in batches. */
  #dropTaken(): void {
    this.#lines.copyWithin(0, this.#next, this.#count)
    this.#digests.copyWithin(0, this.#next * digestWords, this.#count * digestWords)
    this.#count -= this.#next
    this.#next = 0
  }

  #clearQueue(): void {
    this.#count = 0
    this.#next = 0
  }
}
