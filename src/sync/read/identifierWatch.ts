/** Watches the identifiers of a first read, so that the first load needs no search through all of them. */
import { PairLog, wordAt } from './pairLog.ts'

/** Facts about the staged identifiers. Rows that are removed from the stage later do not make it wrong. */
export interface IdentifierFacts {
  /** First bytes (`sharedBytes`) of the identifiers that may be on several rows. Undefined: any may be. */
  readonly mayShare: readonly Buffer[] | undefined
  /** False if no row has times of its own. */
  readonly mayHaveTimes: boolean
  /** True if every identifier is a digest, and none a `partner_user_id`. */
  readonly areDigests: boolean
}

/** A type and 7 bytes of a digest. */
export const sharedBytes = 8
const digestLength = 33
/** Maximum number of identifiers in memory: 20 MB. */
const mostIdentifiers = 2_500_000
const mostShared = 100_000

export class IdentifierWatch {
  readonly #log = new PairLog()
  #isFull = false
  #mayHaveTimes = false
  #areDigests = true
  readonly #most: number

  constructor(most = mostIdentifiers) {
    this.#most = most
  }

  add(identifiers: readonly Uint8Array[], hasTimes: boolean): void {
    if (hasTimes) this.#mayHaveTimes = true
    for (const identifier of identifiers) {
      const isDigest = identifier.length === digestLength
      if (!isDigest) this.#areDigests = false
      if (this.#isFull) continue
      if (isDigest && this.#log.size < this.#most) this.#log.add(wordAt(identifier, 0), wordAt(identifier, 4))
      else {
        this.#isFull = true
        this.#log.free()
      }
    }
  }

  /** Ends the watch. */
  finish(): IdentifierFacts {
    const mayShare = this.#isFull ? undefined : this.#shared()
    this.#log.free()
    return { mayShare, mayHaveTimes: this.#mayHaveTimes, areDigests: this.#areDigests }
  }

  #shared(): Buffer[] | undefined {
    const shared: Buffer[] = []
    for (const [low, high] of this.#log.repeats()) {
      if (shared.length === mostShared) return undefined
      const bytes = Buffer.alloc(sharedBytes)
      bytes.writeInt32LE(low, 0)
      bytes.writeInt32LE(high, 4)
      shared.push(bytes)
    }
    return shared
  }
}
