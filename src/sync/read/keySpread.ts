/** Counts the record keys of people by their first two bytes, so that a first load is split into parts without a query. */

const prefixes = 2 ** 16
/** Bytes to append to a prefix for a key above all record keys with this prefix, because record keys of people have 16 bytes. */
const highestSuffix = Buffer.alloc(16, 0xff)

/** Number of record keys by prefix. */
export class KeySpread {
  readonly #counts = new Uint32Array(prefixes)

  /** Counts a record key. `key`: a digest of at least two bytes. */
  add(key: Uint8Array): void {
    const prefix = ((key[0] ?? 0) << 8) | (key[1] ?? 0)
    this.#counts[prefix] = (this.#counts[prefix] ?? 0) + 1
  }

  /**
   * Splits the keys into parts, in their order, and returns the end of each part except the last. An end is not below any key of its part,
   * and below every later key. `sizes`: maximum number of keys of each part except the last. All keys with one prefix are in one part. A
   * size is skipped if the first prefix of its part has more keys, so no part is empty.
   */
  cut(sizes: readonly number[]): Buffer[] {
    const ends: Buffer[] = []
    let inPart = 0
    let i = 0
    for (let prefix = 0; prefix < prefixes && i < sizes.length; prefix++) {
      const count = this.#counts[prefix] ?? 0
      for (; i < sizes.length && inPart + count > (sizes[i] ?? 0); i++) {
        if (inPart === 0) continue
        const last = prefix - 1
        ends.push(Buffer.concat([Buffer.from([last >>> 8, last & 0xff]), highestSuffix]))
        inPart = 0
      }
      inPart += count
    }
    return ends
  }
}
