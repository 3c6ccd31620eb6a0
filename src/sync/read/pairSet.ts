/** Set of 64-bit values as two words each: a hash table with open addressing, 8 to 20 bytes a value. */
export class PairSet {
  #table = new Int32Array(2 * 1024)
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Adds a value. Returns false if the set has it already. `low` should be evenly distributed. */
  add(low: number, high: number): boolean {
    // A `high` of 0 marks an empty slot.
    if (!put(this.#table, low | 0, (high | 0) === 0 ? 1 : high | 0)) return false
    // Grows when three quarters of the slots are full; a slot is two numbers.
    if (++this.#size * 8 > this.#table.length * 3) this.#grow()
    return true
  }

  /** Frees the memory immediately instead of waiting for garbage collection. The set must not be used any more. */
  free(): void {
    release(this.#table)
  }

  #grow(): void {
    const before = this.#table
    this.#table = new Int32Array(before.length * 2)
    // Slots are pairs: both indexes are below the length.
    for (let at = 0; at < before.length; at += 2) if (before[at + 1] !== 0) put(this.#table, before[at] as number, before[at + 1] as number)
    release(before)
  }
}

function put(table: Int32Array, low: number, high: number): boolean {
  const mask = table.length / 2 - 1
  for (let at = (low & mask) * 2; ; at = (at + 2) & (mask * 2)) {
    if (table[at + 1] === 0) {
      table[at] = low
      table[at + 1] = high
      return true
    }
    if (table[at] === low && table[at + 1] === high) return false
  }
}

function release(table: Int32Array<ArrayBuffer>): void {
  table.buffer.transfer(0)
}
