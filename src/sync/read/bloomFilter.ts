/** Bits of a block: one line of the processor's cache. */
const blockBits = 512
/** Number of blocks. The upper 20 bits of `high` select the block of a value. */
const blockCount = 2 ** 20

/**
 * Bloom filter of 64 MB for 56-bit values: shows if a value may have been added before. Each value sets 4 bits of one block, so adding
 * costs one access to memory. Of 20 million different values some 2,200 are wrongly reported as repeats; no repeat is missed.
 */
export class BloomFilter {
  readonly #words = new Int32Array((blockCount * blockBits) / 32)

  /**
   * Adds a value: the upper three bytes of `low`, and the four bytes of `high`. Returns true if the value may have been added before,
   * false if it certainly was not.
   */
  add(low: number, high: number): boolean {
    const block = (high >>> 12) * blockBits
    // The value sets four bits of the block. Their places are the other 12 bits of `high` and the upper 24 bits of `low`: 9 bits per place.
    const first = this.#set(block + (high & 511))
    const second = this.#set(block + (((high >>> 9) & 7) | (((low >>> 8) & 63) << 3)))
    const third = this.#set(block + ((low >>> 14) & 511))
    const fourth = this.#set(block + ((low >>> 23) & 511))
    return first && second && third && fourth
  }

  /** Sets a bit. Returns true if it was set before. */
  #set(place: number): boolean {
    const word = this.#words[place >>> 5] as number
    const bit = 1 << (place & 31)
    this.#words[place >>> 5] = word | bit
    return (word & bit) !== 0
  }

  /** Frees the memory immediately instead of waiting for garbage collection. The filter must not be used afterwards. */
  free(): void {
    this.#words.buffer.transfer(0)
  }
}
