/**
 * Values that stand on many rows (item groups, identifiers), over readings that look at new rows only. Those known to be
 * frequent are counted apart, exactly (an item of each row's traits); of the others there is a bound: what the last whole
 * reading counted, and what came since.
 */
import { tracked, type TraitBook } from './rowTraits.ts'

/** JSON. `counts`: no value stood on more rows of one source; those that are not there, on no more than `slack`. */
export interface StoredFrequent {
  readonly counts: Readonly<Record<string, number>>
  readonly slack: number
}

/** Counted apart at once. */
const mostTracked = 64
const mostStored = 1_000

export interface FrequentRows {
  /** Values on more rows than the limit, most frequent first. */
  readonly above: readonly (readonly [value: string, count: number])[]
  /** Rows of the most frequent value; as far as is known, where `most` may be more. */
  readonly first: number
  readonly most: number
  /** A value that is not counted apart may have passed the limit: only a whole reading can tell. */
  readonly doubtful: boolean
}

export class FrequentValues {
  readonly #limit: number
  readonly #before: StoredFrequent | undefined
  readonly #gated: boolean
  readonly #apart: ReadonlySet<string>
  readonly #now = new Map<string, number>()
  #slack: number

  /** `gated`: `before` speaks of the rows that are not looked at. Otherwise it says which values to count apart. */
  constructor(
    book: TraitBook,
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
      for (const [value] of sorted(frequent).slice(0, mostTracked)) book.item(code, value, '')
    }
    this.#apart = new Set(book.trackedValues(code))
    this.#slack = gated ? (before?.slack ?? 0) : Math.floor(limit / 4)
    if (gated && before !== undefined) for (const [value, count] of Object.entries(before.counts)) this.#now.set(value, count)
    // Counted anew, over all rows.
    for (const value of this.#apart) this.#now.delete(value)
  }

  /** `apart`: all rows of a source by the values that are counted apart. `own`: the rows that were looked at, by all values. */
  judge(apart: ReadonlyMap<string, number>, own: readonly (readonly [value: string, count: number])[]): FrequentRows {
    const above: [string, number][] = []
    let first = 0
    let doubtful = false
    for (const [value, count] of apart) {
      first = Math.max(first, count)
      if (count > this.#limit) above.push([value, count])
      this.#now.set(value, (this.#now.get(value) ?? 0) + count)
    }
    // Of a value that is not remembered there may be as many.
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
      const told = !this.#gated || (this.#before?.counts[value] ?? 0) > this.#limit
      if (told) first = Math.max(first, bound)
      if (bound <= this.#limit) continue
      if (told) above.push([value, bound])
      else doubtful = true
    }
    this.#keep(counted)
    return { above: sorted(above), first, most, doubtful }
  }

  /** Something is frequent and was not counted apart, although it could be: the next reading has to look at every row. */
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
    // New values on a single row each are too many to be remembered.
    if (single) this.#slack += 1
  }
}

/** Most frequent first; alike ones by value. */
function sorted<Entry extends readonly [value: string, count: number]>(entries: Entry[]): Entry[] {
  return entries.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}
