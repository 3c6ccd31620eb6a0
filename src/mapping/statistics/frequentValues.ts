/**
 * Counts item groups and identifiers that are on many rows. A gated read maps only new rows, so it cannot count all values again
 * (docs/architecture.md#three-gates-work-that-is-skipped-safely). It still counts the most frequent values exactly: the stored feature set
 * of a row names the ones that the row has (`rowStatistics.ts`). For any other value it has an upper bound: the count of the last full
 * read, plus the new rows since.
 *
 * A full read counts with sketches of 2,048 values (`recordFeatures.ts`). If a source has more different values, a count, and so the bound,
 * may be too low by 1/2,049 of the added values: by 12 for 24,588 identifiers, by 25 for 51,225 products with a group.
 */
import { tracked, type FeatureSets } from './rowStatistics.ts'

/** Counts for the next read, stored as JSON. */
export interface StoredFrequent {
  /** Value → upper bound of its rows, over all sources of the read. Contains only the most frequent values. */
  readonly counts: Readonly<Record<string, number>>
  /** Upper bound of the rows of any value that is not in `counts`. */
  readonly slack: number
}

/** Maximum number of values that are counted exactly. */
const mostTracked = 64
/** Maximum number of values in `StoredFrequent.counts`. */
const mostStored = 1_000

/** Frequent values of one source. */
export interface FrequentRows {
  /** Values above the limit by their count, or by a stored bound that already was above it; most frequent first. */
  readonly above: readonly (readonly [value: string, count: number])[]
  /**
   * Number of rows with the most frequent value. A gated read considers only the values that are counted exactly and, if it has a single
   * source, those whose stored bound is above the limit.
   */
  readonly highestCount: number
  /** Upper bound of the rows of any value. */
  readonly highestBound: number
  /**
   * True if a value may be above the limit: its stored bound was within the limit, and is above it with the new rows. Only a full read can
   * decide.
   */
  readonly doubtful: boolean
}

/** Counts the item groups, or the identifiers, over all sources of a read. */
export class FrequentValues {
  readonly #limit: number
  /** Stored counts that the new rows add to. Empty in a full read. */
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
   * `limit`: number of rows above which a value is reported. `before`: stored counts of the last read. A gated read adds to them. A full
   * read only selects their most frequent values, which it then counts exactly. `sources`: number of sources of the read.
   */
  constructor(
    sets: FeatureSets,
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
      for (const [value] of sorted(frequent).slice(0, mostTracked)) sets.addItem(code, value, '')
    }
    this.#exact = new Set(sets.trackedValues(code))
    // In a full read, values up to a quarter of the limit are not stored.
    this.#slack = gated ? (before?.slack ?? 0) : Math.floor(limit / 4)
    this.#earlier = new Map(Object.entries(gated ? (before?.counts ?? {}) : {}))
    for (const [value, count] of this.#earlier) this.#toStore.set(value, count)
    // `addSource` adds the exact counts.
    for (const value of this.#exact) this.#toStore.delete(value)
  }

  /**
   * Adds the counts of one source to the counts to store, and returns its frequent values. `exact`: number of rows of each exactly counted
   * value, unchanged rows included. `mapped`: number of rows of each value among the mapped rows; exactly counted values are ignored in it.
   */
  addSource(exact: ReadonlyMap<string, number>, mapped: readonly (readonly [value: string, count: number])[]): FrequentRows {
    const above: [string, number][] = []
    let highestCount = 0
    let doubtful = false
    for (const [value, count] of exact) {
      highestCount = Math.max(highestCount, count)
      if (count > this.#limit) above.push([value, count])
      this.#toStore.set(value, (this.#toStore.get(value) ?? 0) + count)
    }
    // In a gated read, a value without a stored count may have up to `#slack` rows.
    const unstoredBound = this.#gated ? this.#slack : 0
    let highestBound = Math.max(highestCount, unstoredBound)
    const mappedCounts = new Map(mapped.filter(([value]) => !this.#exact.has(value)))
    const bounds = new Map([...mappedCounts].map(([value, count]) => [value, count + (this.#earlier.get(value) ?? unstoredBound)]))
    for (const [value, count] of this.#earlier) if (!this.#exact.has(value) && !bounds.has(value)) bounds.set(value, count)
    for (const [value, bound] of bounds) {
      highestBound = Math.max(highestBound, bound)
      // In a full read, the bound is a count. A gated read reports only a value whose stored bound was above the limit already.
      const isReported = !this.#gated || (this.#earlier.get(value) ?? 0) > this.#limit
      // A stored bound counts the rows of all sources, so it is not a share of one of them.
      if (isReported && (!this.#gated || this.#sources === 1)) highestCount = Math.max(highestCount, bound)
      if (bound <= this.#limit) continue
      if (isReported) above.push([value, bound])
      else doubtful = true
    }
    this.#addMapped(mappedCounts)
    return { above: sorted(above), highestCount, highestBound, doubtful }
  }

  /** True if the next read must be a full read: a value above the limit is not counted exactly yet, and there is room for it. */
  get needsFullRead(): boolean {
    return this.#exact.size < mostTracked && [...this.#toStore].some(([value, count]) => count > this.#limit && !this.#exact.has(value))
  }

  /** Returns the counts for the next read. */
  stored(): StoredFrequent {
    const kept = sorted([...this.#toStore].filter(([value, count]) => count > this.#slack || this.#exact.has(value)))
    return { counts: Object.fromEntries(kept.slice(0, mostStored)), slack: Math.max(this.#slack, kept[mostStored]?.[1] ?? 0) }
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
    // New values on a single row are too many to store. They raise the bound of all values that are not stored.
    if (hasSingle) this.#slack += 1
  }
}

/** Sorts in place by count, highest first, then by value. */
function sorted<Entry extends readonly [value: string, count: number]>(entries: Entry[]): Entry[] {
  return entries.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}
