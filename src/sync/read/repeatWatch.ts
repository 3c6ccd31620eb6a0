import { randomBytes } from 'node:crypto'
import { PairSet } from './pairSet.ts'
import { digestBytes, RecordDigester } from './recordDigest.ts'

/** Maximum number of keys in memory. With more, `possible` is true, and a query searches for repeats. */
const mostKeys = 2_500_000

/**
 * Detects keys that may be on two rows. Saves a query to Postgres, which takes half a second to group a million keys. Keeps 64 bits of
 * each key. Two keys with the same bits cost one needless query.
 */
export class RepeatWatch {
  readonly #digester = new RecordDigester(randomBytes(digestBytes))
  #bytes = Buffer.alloc(128)
  readonly #seen = new PairSet()
  #possible = false

  /** False if every key is certainly unique; true if a query must check. */
  get possible(): boolean {
    return this.#possible
  }

  add(key: Uint8Array): void {
    if (this.#possible) return
    if (this.#seen.size === mostKeys) return this.#giveUp()
    // Copied, because the digester is faster on one buffer than on many small ones. Every index is below its length.
    if (key.length > this.#bytes.length) this.#bytes = Buffer.alloc(key.length * 2)
    for (let i = 0; i < key.length; i++) this.#bytes[i] = key[i] as number
    this.#digester.take(this.#bytes, 0, key.length)
    const [low, high] = this.#digester.digest
    // A digest has four words.
    if (!this.#seen.add(low as number, high as number)) this.#giveUp()
  }

  #giveUp(): void {
    this.#possible = true
    this.#seen.free()
  }
}
