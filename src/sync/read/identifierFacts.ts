/** Finds identifiers that may be on several rows. A first load searches only these for shared identifiers. */
import { plainType } from '../../destinations/renderUserOperation.ts'
import { identifierBytes } from '../../model/record.ts'
import { PairLog, wordAt } from './pairLog.ts'
import { BloomFilter } from './bloomFilter.ts'

/** Facts about the staged identifiers. They stay true if rows are removed from the stage later. */
export interface IdentifierFacts {
  /** First bytes (`comparedBytes`) of the identifiers that may be on several rows. Undefined: any identifier may be. */
  readonly maybeSharedPrefixes: readonly Buffer[] | undefined
  /** False if no row has `effective_at` or `expires_at`. */
  readonly mayHaveTimes: boolean
  /** True if every identifier is a digest, and none a `partner_user_id`. */
  readonly areDigests: boolean
}

/** Number of bytes of an identifier that are compared: the type of the identifier and 7 bytes of its digest. */
export const comparedBytes = 8
/**
 * Maximum number of identifiers in the log (20 MB). Above it, a Bloom filter replaces the log. The filter also reports a few identifiers
 * that only one row has.
 */
const maxLoggedIdentifiers = 2_500_000
/** Maximum number of identifiers in `maybeSharedPrefixes`. Above it, `maybeSharedPrefixes` is undefined. */
const maxSharedIdentifiers = 100_000

/** Returns true if a packed identifier is a type byte and a digest, not a `partner_user_id`. */
export function isDigest(identifier: Uint8Array): boolean {
  return identifier.length === identifierBytes && identifier[0] !== plainType
}

/** Collects `IdentifierFacts` while rows are staged. */
export class IdentifierFactsCollector {
  readonly #log = new PairLog()
  readonly #maxLogged: number
  #filter: BloomFilter | undefined
  /** As `IdentifierFacts.maybeSharedPrefixes`. Undefined if there are too many, or if an identifier is not a digest. */
  #shared: Buffer[] | undefined = []
  #mayHaveTimes = false
  #areDigests = true

  constructor(maxLogged = maxLoggedIdentifiers) {
    this.#maxLogged = maxLogged
  }

  /**
   * Adds the packed identifiers of one row: a type byte, then the digest or text. `hasTimes`: true if the row has `effective_at` or
   * `expires_at`.
   */
  add(identifiers: readonly Uint8Array[], hasTimes: boolean): void {
    if (hasTimes) this.#mayHaveTimes = true
    for (const identifier of identifiers) {
      if (!isDigest(identifier)) {
        this.#areDigests = false
        this.#stopSearch()
      }
      if (this.#shared === undefined) continue
      const low = wordAt(identifier, 0)
      const high = wordAt(identifier, 4)
      if (this.#filter !== undefined) this.#addToFilter(low, high)
      else if (this.#log.size < this.#maxLogged) this.#log.add(low, high)
      else {
        this.#filter = new BloomFilter()
        this.#log.each((loggedLow, loggedHigh) => this.#addToFilter(loggedLow, loggedHigh))
        this.#log.free()
        this.#addToFilter(low, high)
      }
    }
  }

  /** Returns the facts, and frees the memory. */
  finish(): IdentifierFacts {
    for (const [low, high] of this.#log.repeats()) this.#addShared(low, high)
    const facts = { maybeSharedPrefixes: this.#shared, mayHaveTimes: this.#mayHaveTimes, areDigests: this.#areDigests }
    this.#stopSearch()
    return facts
  }

  #addToFilter(low: number, high: number): void {
    if (this.#filter?.add(low, high) === true) this.#addShared(low, high)
  }

  #addShared(low: number, high: number): void {
    if (this.#shared === undefined) return
    if (this.#shared.length === maxSharedIdentifiers) {
      this.#stopSearch()
      return
    }
    const bytes = Buffer.alloc(comparedBytes)
    bytes.writeInt32LE(low, 0)
    bytes.writeInt32LE(high, 4)
    this.#shared.push(bytes)
  }

  /** Sets `maybeSharedPrefixes` to undefined (any identifier may be shared), and frees the memory. */
  #stopSearch(): void {
    this.#shared = undefined
    this.#log.free()
    this.#filter?.free()
    this.#filter = undefined
  }
}
