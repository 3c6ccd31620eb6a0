/** Watches the identifiers of a first read, so that the first load needs no search through all of them. */
import { PairLog, wordAt } from './pairLog.ts'
import { SeenFilter } from './seenFilter.ts'

/** Facts about the staged identifiers. Rows that are removed from the stage later do not make these facts wrong. */
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
/** Maximum number of logged identifiers (20 MB). With more, a filter replaces the log. The filter also names some that are on one row only. */
const mostLogged = 2_500_000
const mostShared = 100_000

export class IdentifierWatch {
  readonly #log = new PairLog()
  readonly #mostLogged: number
  #filter: SeenFilter | undefined
  /** First bytes of identifiers that the filter has seen before. Undefined if there are too many of them, or if some are not digests. */
  #shared: Buffer[] | undefined = []
  #mayHaveTimes = false
  #areDigests = true

  constructor(logged = mostLogged) {
    this.#mostLogged = logged
  }

  add(identifiers: readonly Uint8Array[], hasTimes: boolean): void {
    if (hasTimes) this.#mayHaveTimes = true
    for (const identifier of identifiers) {
      if (identifier.length !== digestLength) {
        this.#areDigests = false
        this.#giveUp()
      }
      if (this.#shared === undefined) continue
      const low = wordAt(identifier, 0)
      const high = wordAt(identifier, 4)
      if (this.#filter !== undefined) this.#filtered(low, high)
      else if (this.#log.size < this.#mostLogged) this.#log.add(low, high)
      else {
        this.#filter = new SeenFilter()
        this.#log.each((low, high) => this.#filtered(low, high))
        this.#log.free()
        this.#filtered(low, high)
      }
    }
  }

  /** Ends the watch. */
  finish(): IdentifierFacts {
    for (const [low, high] of this.#log.repeats()) this.#share(low, high)
    const facts = { mayShare: this.#shared, mayHaveTimes: this.#mayHaveTimes, areDigests: this.#areDigests }
    this.#giveUp()
    return facts
  }

  #filtered(low: number, high: number): void {
    if (this.#filter?.add(low, high) === true) this.#share(low, high)
  }

  #share(low: number, high: number): void {
    if (this.#shared === undefined) return
    if (this.#shared.length === mostShared) {
      this.#giveUp()
      return
    }
    const bytes = Buffer.alloc(sharedBytes)
    bytes.writeInt32LE(low, 0)
    bytes.writeInt32LE(high, 4)
    this.#shared.push(bytes)
  }

  #giveUp(): void {
    this.#shared = undefined
    this.#log.free()
    this.#filter?.free()
    this.#filter = undefined
  }
}
