/**
 * Skips raw records whose digest is in the last complete snapshot, before they are parsed, mapped and staged
 * (docs/architecture.md#three-gates-work-that-is-skipped-safely). A digest includes the shape of the file (header, delimiter, prefixes of
 * XML), because equal bytes under another header are another record.
 */
import type { RecordGate } from '../../formats/formatReader.ts'
import { FeatureSetCounts } from '../../mapping/statistics/featureSets.ts'
import type { KnownDigests } from './knownDigests.ts'
import { RecordDigester, digestWords } from './recordDigest.ts'

export class DigestGate implements RecordGate {
  /** Undefined for a full read. */
  #knownDigests: KnownDigests | undefined
  /** Columns of the last read (`RecordGate.columns`). The caller sets them for each source. */
  columns: readonly string[] = []
  readonly #digester: RecordDigester
  /** Digest of the present shape. */
  readonly #shape = new Int32Array(digestWords)
  /** Queue of the records that were not skipped: `#count` lines, in order, and their digests. */
  #lines = new Float64Array(1024)
  #digests = new Int32Array(1024 * digestWords)
  #count = 0
  /** Index of the record in the queue with which `digestOf` starts. */
  #next = 0
  /** Digest that `digestOf` returns; overwritten by each call. */
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
    this.#digester.writeDigest(bytes, 0, bytes.length)
    this.#shape.set(this.#digester.digest)
    // The shape changes only after all earlier rows were yielded, so no digest in the queue is needed any more.
    this.#clearQueue()
  }

  /**
   * Returns true if the record `bytes[start, end)` is known, and counts it. Otherwise queues its digest for `digestOf`, and returns false.
   */
  skips(bytes: Buffer, start: number, end: number, line: number): boolean {
    this.#digester.writeDigest(bytes, start, end)
    const { digest } = this.#digester
    const shape = this.#shape
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
    // Skips the line of a trailer row (`complete.trailer`): the gate got its raw record, but the reader yields no row for it.
    while (this.#next < this.#count && (lines[this.#next] as number) < line) this.#next++
    if (this.#next === this.#count || lines[this.#next] !== line) return undefined
    const at = this.#next++ * digestWords
    for (let i = 0; i < digestWords; i++) this.#returned[i] = this.#digests[at + i] as number
    if (this.#next === this.#count) this.#clearQueue()
    return this.#returnedBytes
  }

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

  /** Removes the records before `#next` from the queue. */
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
