/**
 * Counts the record keys of people by their first two bytes (the prefix). With these counts a first load is split into parts
 * (docs/decisions/first-load-in-parts.md), and each part into steps, without a query.
 */

const prefixCount = 2 ** 16

export class KeyHistogram {
  readonly #counts = new Uint32Array(prefixCount)

  /** Counts a record key. `key`: a digest of at least two bytes. */
  add(key: Uint8Array): void {
    const prefix = ((key[0] ?? 0) << 8) | (key[1] ?? 0)
    this.#counts[prefix] = (this.#counts[prefix] ?? 0) + 1
  }

  /**
   * Splits the sorted keys into parts, and returns the prefix at which each part after the first begins. `sizes`: maximum numbers of keys of
   * all parts but the last, which has no maximum. All keys with one prefix are in one part. If one prefix has more keys than the size of its
   * part, that size is skipped and the next one applies. So no part is empty.
   */
  partStarts(sizes: readonly number[]): Buffer[] {
    const starts: Buffer[] = []
    let inPart = 0
    let part = 0
    for (let prefix = 0; prefix < prefixCount && part < sizes.length; prefix++) {
      const count = this.#counts[prefix] ?? 0
      while (part < sizes.length && inPart + count > (sizes[part] ?? 0)) {
        if (inPart > 0) starts.push(prefixBytes(prefix))
        inPart = 0
        part++
      }
      inPart += count
    }
    return starts
  }

  /**
   * Splits the sorted keys into steps of at most `maxKeys` keys. Returns the prefix at which each step after the first begins. All keys
   * with one prefix are in one step, even if they are more. A step with at least half of `maxKeys` also ends at the end of a partition.
   * `partitions`: number of partitions, which are equal ranges of prefixes.
   */
  stepStarts(maxKeys: number, partitions: number): Buffer[] {
    const starts: Buffer[] = []
    let inStep = 0
    for (let prefix = 0; prefix < prefixCount; prefix++) {
      const count = this.#counts[prefix] ?? 0
      const startsPartition = prefix % (prefixCount / partitions) === 0
      const isFull = inStep + count > maxKeys
      if (inStep > 0 && (isFull || (startsPartition && inStep >= maxKeys / 2))) {
        starts.push(prefixBytes(prefix))
        inStep = 0
      }
      inStep += count
    }
    return starts
  }
}

const prefixBytes = (prefix: number) => Buffer.from([prefix >>> 8, prefix & 0xff])
