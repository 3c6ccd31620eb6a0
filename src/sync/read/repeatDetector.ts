import { randomBytes } from 'node:crypto'
import { PairLog, wordAt } from './pairLog.ts'
import { digestBytes, RecordDigester } from './recordDigest.ts'

/** Maximum number of keys in memory (20 MB). With more, `finish` returns true without a search. */
const maxKeys = 2_500_000

/**
 * Detects whether a key may be on two rows, by 64 bits of each key. Without a repeat, Postgres need not group the keys. Grouping takes half
 * a second for a million keys.
 */
export class RepeatDetector {
  readonly #digester = new RecordDigester(randomBytes(digestBytes))
  #bytes = Buffer.alloc(128)
  readonly #keys = new PairLog()
  #isFull = false
  readonly #areDigests: boolean

  /** `areDigests`: true if the keys are digests, and so evenly distributed. Then their first 8 bytes are used without another digest. */
  constructor({ areDigests = false }: { readonly areDigests?: boolean } = {}) {
    this.#areDigests = areDigests
  }

  add(key: Uint8Array): void {
    if (this.#isFull) return
    if (this.#keys.size === maxKeys) {
      this.#isFull = true
      return this.#keys.free()
    }
    if (this.#areDigests && key.length >= 8) return this.#keys.add(wordAt(key, 0), wordAt(key, 4))
    // The key is copied, because the digester is faster on one buffer than on many small ones.
    if (key.length > this.#bytes.length) this.#bytes = Buffer.alloc(key.length * 2)
    for (let i = 0; i < key.length; i++) this.#bytes[i] = key[i] as number
    this.#digester.writeDigest(this.#bytes, 0, key.length)
    const [low = 0, high = 0] = this.#digester.digest
    this.#keys.add(low, high)
  }

  /** Returns false if every key is certainly unique; true if a query must check. Frees the memory. */
  finish(): boolean {
    const mayRepeat = this.#isFull || this.#keys.repeats().next().done !== true
    this.#keys.free()
    return mayRepeat
  }
}
