/** Watches the identifiers of a first read, so that the first load needs no search through all of them. */
import { PairSet } from './pairSet.ts'

/** Facts about the staged identifiers. Rows that are removed from the stage later do not make it wrong. */
export interface IdentifierFacts {
  /** First bytes (`sharedBytes`) of the identifiers that may be on several rows. Undefined: any may be. */
  readonly mayShare: readonly Buffer[] | undefined
  /** False if no row has times of its own. */
  readonly mayHaveTimes: boolean
  /** True if every identifier is a digest, and none a `partner_user_id`. */
  readonly areDigests: boolean
}

/** A type and 8 bytes of a digest. */
export const sharedBytes = 9
const digestLength = 33
/** Maximum number of identifiers in memory: 50 MB. */
const mostIdentifiers = 2_500_000
const mostShared = 100_000

export class IdentifierWatch {
  #seen: PairSet | undefined = new PairSet()
  #shared: Buffer[] = []
  #mayHaveTimes = false
  #areDigests = true
  readonly #most: number

  constructor(most = mostIdentifiers) {
    this.#most = most
  }

  add(identifiers: readonly Uint8Array[], hasTimes: boolean): void {
    if (hasTimes) this.#mayHaveTimes = true

    for (const identifier of identifiers) {
      if (identifier.length !== digestLength) this.#areDigests = false
      if (this.#seen === undefined) continue
      if (identifier.length !== digestLength || this.#seen.size === this.#most || this.#shared.length === mostShared) this.#giveUp()
      // Digests are evenly distributed. Equal digests of two types are different identifiers, but one needless candidate.
      else if (!this.#seen.add(wordAt(identifier, 1), wordAt(identifier, 5)))
        this.#shared.push(Buffer.from(identifier.subarray(0, sharedBytes)))
    }
  }

  /** Ends the watch. */
  finish(): IdentifierFacts {
    const mayShare = this.#seen === undefined ? undefined : this.#shared
    this.#seen?.free()
    this.#seen = undefined
    return { mayShare, mayHaveTimes: this.#mayHaveTimes, areDigests: this.#areDigests }
  }

  #giveUp(): void {
    this.#seen?.free()
    this.#seen = undefined
    this.#shared = []
  }
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)
}
