/**
 * Counts item groups and identifiers that are on many rows. A full read maps all rows. A gated read maps only new rows
 * (docs/architecture.md#three-gates-work-that-is-skipped-safely), so it cannot count all values again.
 * - It still counts up to `maxExact` values exactly. The stored feature set of a row lists which of these values the row has
 *   (`rowStatistics.ts`).
 * - For any other value it has an upper bound: the stored bound of the last read plus the new rows. Values without a stored bound share one
 *   bound, `slack`.
 *
 * These other values are counted by sketches of 2,048 values (`recordFeatures.ts`). If a source has more different values, a count and its
 * bound may be too low by 1/2,049 of all added values. With 24,588 identifiers, or with 51,225 products with a group, that is about a
 * quarter of the limit.
 */
import { tracked, type FeatureSets } from './rowStatistics.ts'

/** Counts for the next read, stored as JSON. */
export interface StoredFrequent {
  /** Value → upper bound of its rows in all sources of the read. Contains the exactly counted values and the most frequent others. */
  readonly counts: Readonly<Record<string, number>>
  /** Upper bound of the rows of any value that is not in `counts`. */
  readonly slack: number
}

/** Maximum number of values that are counted exactly. */
const maxExact = 64
/** Maximum number of values in `StoredFrequent.counts`. */
const maxStored = 1_000

/** Frequent values of one source. */
export interface FrequentInSource {
  /**
   * Values above the limit, most frequent first. In a gated read, a value that is not counted exactly is here only if its stored bound was
   * above the limit. Such a bound covers all sources, so each source reports it.
   */
  readonly above: readonly (readonly [value: string, count: number])[]
  /**
   * Rows of the most frequent value in this source. A gated read considers the exactly counted values and, for a single source,
   * the bounds in `above`. With several sources, these bounds count the rows of all of them.
   */
  readonly highestInSource: number
  /** Upper bound of the rows of any value. */
  readonly highestBound: number
  /** True if the new rows of a value raise its bound above the limit. Only a full read can decide whether its count is above the limit. */
  readonly doubtful: boolean
}

/** Counts the item groups, or the identifiers, over all sources of a read. */
export class FrequentValues {
  readonly #limit: number
  /** Stored counts, to which a gated read adds the new rows. Empty in a full read. */
  readonly #earlier: ReadonlyMap<string, number>
  readonly #gated: boolean
  readonly #sources: number
  /** Values that are counted exactly. */
  readonly #exact: ReadonlySet<string>
  /** Counts to store for the next read. */
  readonly #toStore = new Map<string, number>()
  /** Upper bound of the rows of any value that is not in `#toStore`. */
  #slack: number

  /**
   * `limit`: number of rows above which a value is reported. `sources`: number of sources of the read. `before`: stored counts of the last
   * read. A gated read adds to them. A full read only selects from them the values that it counts exactly, because these must be known
   * before the first row. It selects the most frequent ones above half of the limit.
   */
  constructor(
    featureSets: FeatureSets,
    options: {
      readonly code: (typeof tracked)[keyof typeof tracked]
      readonly limit: number
      readonly before: StoredFrequent | undefined
      readonly gated: boolean
      readonly sources?: number
    },
  ) {
    const { code, limit, before, gated, sources = 1 } = options
    this.#limit = limit
    this.#gated = gated
    this.#sources = sources
    if (!gated && before !== undefined) {
      const frequent = Object.entries(before.counts).filter(([, count]) => count > limit / 2)
      for (const [value] of sortByCount(frequent).slice(0, maxExact)) featureSets.addItem(code, value, '')
    }
    this.#exact = new Set(featureSets.trackedValues(code))
    // In a full read, values up to a quarter of the limit are not stored.
    this.#slack = gated ? (before?.slack ?? 0) : Math.floor(limit / 4)
    this.#earlier = new Map(Object.entries(gated ? (before?.counts ?? {}) : {}))
    for (const [value, count] of this.#earlier) this.#toStore.set(value, count)
    // `addSource` adds the exact counts.
    for (const value of this.#exact) this.#toStore.delete(value)
  }

  /**
   * Adds the counts of one source to the counts to store, and returns the frequent values of the source. `exact`: number of rows of each
   * exactly counted value, unchanged rows included. `mapped`: counts of the mapped rows, from a sketch. Exactly counted values in `mapped`
   * are ignored.
   */
  addSource(exact: ReadonlyMap<string, number>, mapped: readonly (readonly [value: string, count: number])[]): FrequentInSource {
    const above: [string, number][] = []
    let highestInSource = 0
    let doubtful = false
    for (const [value, count] of exact) {
      highestInSource = Math.max(highestInSource, count)
      if (count > this.#limit) above.push([value, count])
      this.#toStore.set(value, (this.#toStore.get(value) ?? 0) + count)
    }
    // In a gated read, a value without a stored count may have up to `#slack` rows.
    const unstoredBound = this.#gated ? this.#slack : 0
    let highestBound = Math.max(highestInSource, unstoredBound)
    const mappedCounts = new Map(mapped.filter(([value]) => !this.#exact.has(value)))
    const bounds = new Map([...mappedCounts].map(([value, count]) => [value, count + (this.#earlier.get(value) ?? unstoredBound)]))
    for (const [value, count] of this.#earlier) if (!this.#exact.has(value) && !bounds.has(value)) bounds.set(value, count)
    // In a gated read with several sources, the bounds count the rows of all of them.
    const areBoundsOfSource = !this.#gated || this.#sources === 1
    for (const [value, bound] of bounds) {
      highestBound = Math.max(highestBound, bound)
      // In a full read, the bound is a count. A gated read reports a value only if its stored bound was above the limit already.
      const reportsBound = !this.#gated || (this.#earlier.get(value) ?? 0) > this.#limit
      if (reportsBound && areBoundsOfSource) highestInSource = Math.max(highestInSource, bound)
      if (bound <= this.#limit) continue
      if (reportsBound) above.push([value, bound])
      else doubtful = true
    }
    this.#addMapped(mappedCounts)
    return { above: sortByCount(above), highestInSource, highestBound, doubtful }
  }

  /** True if a value above the limit is not counted exactly yet, and there is room for it. Then the next read must be a full read. */
  get needsFullRead(): boolean {
    return this.#exact.size < maxExact && [...this.#toStore].some(([value, count]) => count > this.#limit && !this.#exact.has(value))
  }

  /** Returns the counts for the next read. */
  stored(): StoredFrequent {
    const kept = sortByCount([...this.#toStore].filter(([value, count]) => count > this.#slack || this.#exact.has(value)))
    return { counts: Object.fromEntries(kept.slice(0, maxStored)), slack: Math.max(this.#slack, kept[maxStored]?.[1] ?? 0) }
  }

  /** Adds the counts of the mapped rows of one source to the counts to store. */
  #addMapped(mappedCounts: ReadonlyMap<string, number>): void {
    let hasSingle = false
    for (const [value, count] of mappedCounts) {
      const before = this.#toStore.get(value)
      if (!this.#gated || before !== undefined) this.#toStore.set(value, (before ?? 0) + count)
      else if (count > 1) this.#toStore.set(value, this.#slack + count)
      else hasSingle = true
    }
    // There are too many new values with a single row to store them. Instead, the bound of all values that are not stored rises by 1.
    if (hasSingle) this.#slack += 1
  }
}

/** Sorts in place by count, highest first, then by value. */
function sortByCount<Entry extends readonly [value: string, count: number]>(entries: Entry[]): Entry[] {
  return entries.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}
