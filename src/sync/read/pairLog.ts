const bucketCount = 256
/** Number of 32-bit numbers in a chunk of a bucket: 4 KB. */
const numbersPerChunk = 1024
/** Number of chunks in one allocation (slab): 128 KB. With 1 MB, small reads caused full garbage collections. */
const chunksPerSlab = 32

/**
 * Log of 64-bit values (two 32-bit numbers) that finds repeated values. `add` appends the value to one of 256 buckets, and `repeats`
 * searches bucket by bucket: 0.02 s for a million values. One hash table of all values takes 0.2 s, because nearly each access misses the
 * processor's cache.
 */
export class PairLog {
  /** Allocations, each with `chunksPerSlab` chunks. */
  readonly #slabs: Int32Array<ArrayBuffer>[] = []
  /** Number of chunks, which is the id of the next one. */
  #chunks = 0
  /** Ids of the chunks of each bucket, in order. */
  readonly #chunksOf: number[][] = Array.from({ length: bucketCount }, () => [])
  /** Index of the slab with the last chunk of each bucket. */
  readonly #lastSlab = new Int32Array(bucketCount)
  /** Index of the next value of each bucket in its `#lastSlab`. */
  readonly #nextPlace = new Int32Array(bucketCount)
  /** Number of values that still fit into the last chunk of each bucket. */
  readonly #freeValues = new Int32Array(bucketCount)
  #size = 0

  /** Number of added values, with repeats. */
  get size(): number {
    return this.#size
  }

  /** Adds a value. The bytes of `high` should be evenly distributed. */
  add(low: number, high: number): void {
    const bucket = high & (bucketCount - 1)
    if (this.#freeValues[bucket] === 0) this.#addChunk(bucket)
    const at = this.#nextPlace[bucket] as number
    const freeValues = this.#freeValues[bucket] as number
    const slab = this.#slabs[this.#lastSlab[bucket] as number] as Int32Array
    slab[at] = low
    slab[at + 1] = high
    this.#nextPlace[bucket] = at + 2
    this.#freeValues[bucket] = freeValues - 1
    this.#size++
  }

  /** Calls `visit` with every value, in no particular order. */
  each(visit: (low: number, high: number) => void): void {
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      const chunks = this.#chunksOf[bucket] as number[]
      const freeValues = this.#freeValues[bucket] as number
      for (const [i, chunk] of chunks.entries()) {
        const slab = this.#slabs[Math.floor(chunk / chunksPerSlab)] as Int32Array // chunks are numbered in the order of the slabs
        const from = (chunk % chunksPerSlab) * numbersPerChunk
        const freeNumbers = i === chunks.length - 1 ? freeValues * 2 : 0
        for (let at = from; at < from + numbersPerChunk - freeNumbers; at += 2) visit(slab[at] as number, slab[at + 1] as number)
      }
    }
  }

  /** Yields each repeat of a value: a value that was added three times is yielded twice. */
  *repeats(): Generator<readonly [low: number, high: number]> {
    let slots = new Int32Array(0)
    let values = new Int32Array(0)
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      const chunks = this.#chunksOf[bucket] as number[]
      const freeValues = this.#freeValues[bucket] as number
      const numbers = chunks.length * numbersPerChunk - freeValues * 2
      // A single value (two numbers) cannot be a repeat.
      if (numbers < 4) continue
      if (values.length < chunks.length * numbersPerChunk) {
        values = new Int32Array(chunks.length * numbersPerChunk)
        slots = new Int32Array(2 ** Math.ceil(Math.log2(values.length)))
      }
      for (const [i, chunk] of chunks.entries()) {
        const from = (chunk % chunksPerSlab) * numbersPerChunk
        const slab = this.#slabs[Math.floor(chunk / chunksPerSlab)] as Int32Array
        values.set(slab.subarray(from, from + numbersPerChunk), i * numbersPerChunk)
      }
      slots.fill(0)
      const mask = slots.length - 1
      for (let i = 0; i < numbers; i += 2) {
        const low = values[i] as number
        const high = values[i + 1] as number
        // A free slot is 0, so a slot has the index of the value plus 1.
        let slot = (Math.imul(low, 0x9e3779b1) ^ (high >>> 8)) & mask
        let at = slots[slot] ?? 0
        while (at !== 0 && (values[at - 1] !== low || values[at] !== high)) {
          slot = (slot + 1) & mask
          at = slots[slot] ?? 0
        }
        if (at === 0) slots[slot] = i + 1
        else yield [low, high]
      }
    }
  }

  /** Frees the memory immediately instead of waiting for garbage collection. The log is empty afterwards. */
  free(): void {
    for (const slab of this.#slabs.splice(0)) slab.buffer.transfer(0)
    for (const chunks of this.#chunksOf) chunks.length = 0
    this.#freeValues.fill(0)
    this.#chunks = 0
    this.#size = 0
  }

  #addChunk(bucket: number): void {
    const chunk = this.#chunks++
    if (chunk % chunksPerSlab === 0) this.#slabs.push(new Int32Array(chunksPerSlab * numbersPerChunk))
    this.#chunksOf[bucket]?.push(chunk)
    this.#lastSlab[bucket] = this.#slabs.length - 1
    this.#nextPlace[bucket] = (chunk % chunksPerSlab) * numbersPerChunk
    this.#freeValues[bucket] = numbersPerChunk / 2
  }
}

/** Returns the four bytes from `at` as a signed number, little-endian. Missing bytes count as 0. */
export function wordAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)
}
