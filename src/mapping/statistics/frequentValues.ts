/**
 * Counts item groups and identifiers that are on many rows. A full read maps all rows. A gated read maps only new rows
 * (docs/architecture.md#three-gates-work-that-is-skipped-safely), so it cannot count all values again.
 * - Up to `maxExact` values are counted exactly. The feature set that is stored for a row says which of them the row has.
 * - Any other value has an upper bound: the stored bound of the last read plus the new rows. Values without a stored bound share one bound,
 *   `slack`.
 *
 * These other values are counted by sketches of 2,048 values. With more different values, a count and its bound may be too low by 1/2,049
 * of all added values. With 24,588 identifiers, or with 51,225 products with a group, that is about a quarter of the limit.
 */
import { exactCodes, type FeatureSets } from './featureSets.ts'

/** Counts for the next read, stored as JSON. */
export interface StoredFrequent {
  /** Value → upper bound of its rows in all sources: of the exactly counted values and the most frequent others. */
  readonly counts: Readonly<Record<string, number>>
  /** Upper bound for every other value. */
  readonly slack: number
}

const maxExact = 64
const maxStored = 1_000

export interface FrequentInSource {
  /**
   * Values above the limit, most frequent first. A gated read adds the values whose stored bound was above the limit. Such a bound covers
   * all sources, so each source reports it.
   */
  readonly aboveLimit: readonly (readonly [value: string, count: number])[]
  /**
   * Rows of the most frequent value in this source. A gated read considers only the exactly counted values and, with a single source, those
   * of `aboveLimit`.
   */
  readonly highestInSource: number
  /** Upper bound of the rows of any value. */
  readonly highestBound: number
  /** True if new rows raise the bound of a value above the limit. Only a full read can decide whether its count is above the limit. */
  readonly mayExceedLimit: boolean
}

/** Counts the item groups, or the identifiers, over all sources of a read. */
export class FrequentValues {
  readonly #limit: number
  /** Stored counts, to which a gated read adds the new rows. Empty in a full read. */
  readonly #storedCounts: ReadonlyMap<string, number>
  readonly #isGated: boolean
  readonly #sourceCount: number
  readonly #exactValues: ReadonlySet<string>
  /** Value → upper bound of its rows, for the next read. */
  readonly #toStore = new Map<string, number>()
  /** Upper bound for every value that is not in `#toStore`. */
  #slack: number

  /**
   * `limit`: a value on more rows is reported. `stored`: stored counts of the last read. A gated read adds to them. A full read only
   * selects from them the values that it counts exactly: the most frequent ones above half of the limit.
   */
  constructor(
    featureSets: FeatureSets,
    options: {
      readonly code: (typeof exactCodes)[keyof typeof exactCodes]
      readonly limit: number
      readonly stored: StoredFrequent | undefined
      readonly gated: boolean
      readonly sourceCount?: number
    },
  ) {
    const { code, limit, stored, gated, sourceCount = 1 } = options
    this.#limit = limit
    this.#isGated = gated
    this.#sourceCount = sourceCount
    if (!gated && stored !== undefined) {
      const frequent = Object.entries(stored.counts).filter(([, count]) => count > limit / 2)
      for (const [value] of sortByCount(frequent).slice(0, maxExact)) featureSets.addItem(code, value, '')
    }
    this.#exactValues = new Set(featureSets.exactValues(code))
    // In a full read, values up to a quarter of the limit are not stored.
    this.#slack = gated ? (stored?.slack ?? 0) : Math.floor(limit / 4)
    this.#storedCounts = new Map(Object.entries(gated ? (stored?.counts ?? {}) : {}))
    for (const [value, count] of this.#storedCounts) this.#toStore.set(value, count)
    // `addSource` counts these values from 0.
    for (const value of this.#exactValues) this.#toStore.delete(value)
  }

  /**
   * Adds the counts of one source, and returns its frequent values. `exact`: rows of each exactly counted value, unchanged rows included.
   * `mapped`: counts of the mapped rows, from a sketch.
   */
  addSource(exact: ReadonlyMap<string, number>, mapped: readonly (readonly [value: string, count: number])[]): FrequentInSource {
    const aboveLimit: [string, number][] = []
    let highestInSource = 0
    let mayExceedLimit = false
    for (const [value, count] of exact) {
      highestInSource = Math.max(highestInSource, count)
      if (count > this.#limit) aboveLimit.push([value, count])
      this.#toStore.set(value, (this.#toStore.get(value) ?? 0) + count)
    }
    // A gated read did not map the unchanged rows. A value without a stored count may be on up to `#slack` of them.
    const unstoredBound = this.#isGated ? this.#slack : 0
    let highestBound = Math.max(highestInSource, unstoredBound)
    const mappedCounts = new Map(mapped.filter(([value]) => !this.#exactValues.has(value)))
    const bounds = new Map([...mappedCounts].map(([value, count]) => [value, count + (this.#storedCounts.get(value) ?? unstoredBound)]))
    for (const [value, count] of this.#storedCounts) if (!this.#exactValues.has(value) && !bounds.has(value)) bounds.set(value, count)
    // In a gated read with several sources, the bounds count the rows of all of them.
    const areBoundsOfSource = !this.#isGated || this.#sourceCount === 1
    for (const [value, bound] of bounds) {
      highestBound = Math.max(highestBound, bound)
      // In a full read, the bound is a count.
      const reportsBound = !this.#isGated || (this.#storedCounts.get(value) ?? 0) > this.#limit
      if (reportsBound && areBoundsOfSource) highestInSource = Math.max(highestInSource, bound)
      if (bound <= this.#limit) continue
      if (reportsBound) aboveLimit.push([value, bound])
      else mayExceedLimit = true
    }
    this.#addMapped(mappedCounts)
    return { aboveLimit: sortByCount(aboveLimit), highestInSource, highestBound, mayExceedLimit }
  }

  /** True if the next read must be a full read, so that it counts a value above the limit exactly. */
  get needsFullRead(): boolean {
    return (
      this.#exactValues.size < maxExact && [...this.#toStore].some(([value, count]) => count > this.#limit && !this.#exactValues.has(value))
    )
  }

  stored(): StoredFrequent {
    const kept = sortByCount([...this.#toStore].filter(([value, count]) => count > this.#slack || this.#exactValues.has(value)))
    return { counts: Object.fromEntries(kept.slice(0, maxStored)), slack: Math.max(this.#slack, kept[maxStored]?.[1] ?? 0) }
  }

  #addMapped(mappedCounts: ReadonlyMap<string, number>): void {
    let hasValueWithOneRow = false
    for (const [value, count] of mappedCounts) {
      const storedCount = this.#toStore.get(value)
      if (!this.#isGated || storedCount !== undefined) this.#toStore.set(value, (storedCount ?? 0) + count)
      else if (count > 1) this.#toStore.set(value, this.#slack + count)
      else hasValueWithOneRow = true
    }
    // Values with one new row are too many to store. Instead, their common bound rises by 1.
    if (hasValueWithOneRow) this.#slack += 1
  }
}

/** Sorts in place by count, highest first, then by value. */
function sortByCount<Entry extends readonly [value: string, count: number]>(entries: Entry[]): Entry[] {
  return entries.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}
