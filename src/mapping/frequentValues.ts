/**
 * Counts values that are on many rows (item groups, identifiers), also in gated reads, which look at new rows only. The most frequent
 * values are counted exactly: the row statistics of a row show that the row has one (`rowStatistics.ts`). For the others there is an upper
 * bound: the count of the last full read, plus the new rows since.
 */
import { tracked, type FeatureSets } from './rowStatistics.ts'

/**
 * Counts for the next read, stored as JSON. `counts`: for each value, the highest count in one source. Rare values are not listed, because
 * there are too many: each has at most `slack` rows.
 */
export interface StoredFrequent {
  readonly counts: Readonly<Record<string, number>>
  readonly slack: number
}

/** Maximum number of values that are counted exactly. */
const mostTracked = 64
const mostStored = 1_000

export interface FrequentRows {
  /** Values on more rows than the limit, most frequent first. */
  readonly above: readonly (readonly [value: string, count: number])[]
  /** Rows that are known to have the most frequent value. `most`: upper bound of their number. */
  readonly first: number
  readonly most: number
  /** True if a value without an exact count may be over the limit. Then only a full read can decide. */
  readonly doubtful: boolean
}

export class FrequentValues {
  readonly #limit: number
  readonly #before: StoredFrequent | undefined
  readonly #gated: boolean
  readonly #apart: ReadonlySet<string>
  readonly #now = new Map<string, number>()
  #slack: number

  /** `gated`: `before` describes rows that are not read again. Otherwise it only lists the values to count exactly. */
  constructor(
    sets: FeatureSets,
    options: {
      readonly code: (typeof tracked)[keyof typeof tracked]
      readonly limit: number
      readonly before: StoredFrequent | undefined
      readonly gated: boolean
    },
  ) {
    const { code, limit, before, gated } = options
    this.#limit = limit
    this.#before = before
    this.#gated = gated
    if (!gated && before !== undefined) {
      const frequent = Object.entries(before.counts).filter(([, count]) => count > limit / 2)
      for (const [value] of sorted(frequent).slice(0, mostTracked)) sets.item(code, value, '')
    }
    this.#apart = new Set(sets.trackedValues(code))
    this.#slack = gated ? (before?.slack ?? 0) : Math.floor(limit / 4)
    if (gated && before !== undefined) for (const [value, count] of Object.entries(before.counts)) this.#now.set(value, count)
    // These are counted exactly, so their old counts are dropped.
    for (const value of this.#apart) this.#now.delete(value)
  }

  /** Returns the frequent values. `apart`: rows of a source by exactly counted value. `own`: rows of this read by value. */
  classify(apart: ReadonlyMap<string, number>, own: readonly (readonly [value: string, count: number])[]): FrequentRows {
    const above: [string, number][] = []
    let first = 0
    let doubtful = false
    for (const [value, count] of apart) {
      first = Math.max(first, count)
      if (count > this.#limit) above.push([value, count])
      this.#now.set(value, (this.#now.get(value) ?? 0) + count)
    }
    // A value that is not stored may have up to `slack` rows.
    let most = Math.max(first, this.#gated ? (this.#before?.slack ?? 0) : 0)
    const counted = new Map(own.filter(([value]) => !this.#apart.has(value)))
    const bounds = new Map(counted)
    if (this.#gated) {
      for (const [value, count] of counted) bounds.set(value, count + (this.#before?.counts[value] ?? this.#before?.slack ?? 0))
      for (const [value, count] of Object.entries(this.#before?.counts ?? {}))
        if (!this.#apart.has(value) && !bounds.has(value)) bounds.set(value, count)
    }
    for (const [value, bound] of bounds) {
      most = Math.max(most, bound)
      const isKnown = !this.#gated || (this.#before?.counts[value] ?? 0) > this.#limit
      if (isKnown) first = Math.max(first, bound)
      if (bound <= this.#limit) continue
      if (isKnown) above.push([value, bound])
      else doubtful = true
    }
    this.#keep(counted)
    return { above: sorted(above), first, most, doubtful }
  }

  /** True if a frequent value is not counted exactly yet, and there is room to do so. Then the next read must be a full one. */
  get due(): boolean {
    return this.#apart.size < mostTracked && [...this.#now].some(([value, count]) => count > this.#limit && !this.#apart.has(value))
  }

  stored(): StoredFrequent {
    const kept = sorted([...this.#now].filter(([value, count]) => count > this.#slack || this.#apart.has(value)))
    return { counts: Object.fromEntries(kept.slice(0, mostStored)), slack: Math.max(this.#slack, kept[mostStored]?.[1] ?? 0) }
  }

  #keep(counted: ReadonlyMap<string, number>): void {
    let single = false
    for (const [value, count] of counted) {
      const before = this.#now.get(value)
      if (!this.#gated || before !== undefined) this.#now.set(value, (before ?? 0) + count)
      else if (count > 1) this.#now.set(value, (this.#before?.slack ?? 0) + count)
      else single = true
    }
    // Values on a single row are too many to store, so they raise `slack`.
    if (single) this.#slack += 1
  }
}

/** Sorts by count, highest first, then by value. */
function sorted<Entry extends readonly [value: string, count: number]>(entries: Entry[]): Entry[] {
  return entries.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}
