/**
 * The record gate (docs/benchmarks.md): a raw record whose digest the last closed snapshot knew is as it was, so it
 * is neither parsed, mapped nor staged. Digests are tied to the shape of the file (header, delimiter, prefixes): equal
 * bytes under another header are another record.
 */
import type { RecordGate } from '../../formats/formatReader.ts'
import { FeatureSetCounts } from '../../mapping/rowStatistics.ts'
import type { KnownDigests } from './knownDigests.ts'
import { RecordDigester, digestWords } from './recordDigest.ts'

/** Digests every record that passes; with known ones, lets those through in silence. */
export class DigestGate implements RecordGate {
  #known: KnownDigests | undefined
  columns: readonly string[] = []
  readonly #digester: RecordDigester
  readonly #shape = new Int32Array(digestWords)
  /** Records handed on to be parsed, in order, with their digests: the rows come back in the same order. */
  #lines = new Float64Array(1024)
  #count = 0
  #digests = new Int32Array(1024 * digestWords)
  readonly #taken = new Int32Array(digestWords)
  readonly #takenBytes = new Uint8Array(this.#taken.buffer)
  #next = 0
  #unchanged = 0
  #repeated = 0
  #traits = new FeatureSetCounts()

  /** `key`: the destination's, 16 bytes. */
  constructor(key: Uint8Array, known?: KnownDigests) {
    this.#digester = new RecordDigester(key)
    this.#known = known
  }

  /** Records to hold back; set before the first record is checked. */
  use(known: KnownDigests): void {
    this.#known = known
  }

  /** True if there are known records. */
  get keepsBack(): boolean {
    return this.#known !== undefined
  }

  /** Known records, each counted once. */
  get unchanged(): number {
    return this.#unchanged
  }

  /** Known records that stood there once more. */
  get repeated(): number {
    return this.#repeated
  }

  /** What the known records of a source would be told of; those from here on are the next one's. */
  takeCounts(): FeatureSetCounts {
    const traits = this.#traits
    this.#traits = new FeatureSetCounts()
    return traits
  }

  begin(shape: string): void {
    // Begins as no record does: a record that reads like the shape would have a digest of zeros.
    const bytes = Buffer.from(`\nshape ${shape}`)
    this.#digester.take(bytes, 0, bytes.length)
    this.#shape.set(this.#digester.digest)
    // Another source, or another scope: what was asked about before has been handed over.
    this.#forget()
  }

  known(bytes: Buffer, start: number, end: number, line: number): boolean {
    this.#digester.take(bytes, start, end)
    const { digest } = this.#digester
    const shape = this.#shape
    // Both are arrays of four.
    for (let i = 0; i < digestWords; i++) digest[i] = (digest[i] as number) ^ (shape[i] as number)
    const known = this.#known
    const found = known === undefined ? -1 : known.find(digest)
    if (known === undefined || found === -1) {
      this.#remember(line, digest)
      return false
    }
    this.#traits.add(known.featureSetOf(found), line)
    if (known.tick(found)) this.#unchanged++
    else this.#repeated++
    return true
  }

  /**
   * Digest of a row that was parsed, valid until the next call; undefined when the reader never asked (odd quoting, formats
   * without raw records).
   */
  digestOf(line: number): Uint8Array | undefined {
    const lines = this.#lines
    // Trailer rows are asked about and not handed over.
    while (this.#next < this.#count && (lines[this.#next] as number) < line) this.#next++
    if (this.#next === this.#count || lines[this.#next] !== line) return undefined
    const at = this.#next++ * digestWords
    for (let i = 0; i < digestWords; i++) this.#taken[i] = this.#digests[at + i] as number
    if (this.#next === this.#count) this.#forget()
    return this.#takenBytes
  }

  #remember(line: number, digest: Int32Array): void {
    const at = this.#count++
    if (at === this.#lines.length) {
      const [lines, digests] = [new Float64Array(at * 2), new Int32Array(at * 2 * digestWords)]
      lines.set(this.#lines)
      digests.set(this.#digests)
      this.#lines = lines
      this.#digests = digests
    }
    this.#lines[at] = line
    this.#digests.set(digest, at * digestWords)
  }

  #forget(): void {
    this.#count = 0
    this.#next = 0
  }
}
