import { randomBytes } from 'node:crypto'
import { digestBytes, RecordDigester } from './recordDigest.ts'

/** Maximum number of keys in memory. With more, `possible` is true, and a query searches for repeats. */
const mostKeys = 2_500_000

/**
 * Detects keys that may be on two rows. Saves a query to Postgres, which takes half a second to group a million keys. Keeps 64 bits
 * of each key in a hash table with open addressing: 8 to 20 bytes per key. Two keys with the same bits cost one needless query.
 */
export class RepeatWatch {
  readonly #digester = new RecordDigester(randomBytes(digestBytes))
  #bytes = Buffer.alloc(128)
  #table = new Int32Array(2 * 1024)
  #count = 0
  #possible = false

  /** False if every key is certainly unique; true if a query must check. */
  get possible(): boolean {
    return this.#possible
  }

  add(key: Uint8Array): void {
    if (this.#possible) return
    if (this.#count === mostKeys) {
      this.#possible = true
      release(this.#table)
      return
    }
    // Copied, because the digester is faster on one buffer than on many small ones. Every index is below its length.
    if (key.length > this.#bytes.length) this.#bytes = Buffer.alloc(key.length * 2)
    for (let i = 0; i < key.length; i++) this.#bytes[i] = key[i] as number
    this.#digester.take(this.#bytes, 0, key.length)
    const [low = 0, high = 0] = this.#digester.digest
    // A `high` of 0 marks an empty slot.
    this.#put(this.#table, low, high === 0 ? 1 : high)
    // Grows when three quarters of the slots are full; a slot is two numbers.
    if (++this.#count * 8 > this.#table.length * 3) this.#grow()
  }

  #put(table: Int32Array, low: number, high: number): void {
    const mask = table.length / 2 - 1
    for (let at = (low & mask) * 2; ; at = (at + 2) & (mask * 2)) {
      if (table[at + 1] === 0) {
        table[at] = low
        table[at + 1] = high
        return
      }
      if (table[at] === low && table[at + 1] === high) {
        this.#possible = true
        return
      }
    }
  }

  #grow(): void {
    const before = this.#table
    this.#table = new Int32Array(before.length * 2)
    // Slots are pairs: both indexes are below the length.
    for (let at = 0; at < before.length; at += 2)
      if (before[at + 1] !== 0) this.#put(this.#table, before[at] as number, before[at + 1] as number)
    release(before)
  }
}

/** Frees the memory immediately instead of waiting for garbage collection. */
function release(table: Int32Array<ArrayBuffer>): void {
  table.buffer.transfer(0)
}
