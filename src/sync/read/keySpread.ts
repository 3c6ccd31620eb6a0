/** Counts the record keys of people by their first two bytes, so that a first load is cut into parts without a query. */

const prefixes = 2 ** 16
/** Longer than the rest of a record key of people, which has 16 bytes. */
const rest = Buffer.alloc(16, 0xff)

export class KeySpread {
  readonly #counts = new Uint32Array(prefixes)

  /** `key`: a digest of at least two bytes. */
  add(key: Uint8Array): void {
    const prefix = ((key[0] ?? 0) << 8) | (key[1] ?? 0)
    this.#counts[prefix] = (this.#counts[prefix] ?? 0) + 1
  }

  /**
   * Cuts the keys into parts, in their order. `sizes`: the most keys of each part but the last. Returns the highest key of each of them, or
   * one above it. A size that is smaller than the number of keys with one prefix is left out, so no part is empty.
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
        ends.push(Buffer.concat([Buffer.from([last >>> 8, last & 0xff]), rest]))
        inPart = 0
      }
      inPart += count
    }
    return ends
  }
}
