/**
 * What a merchandiser would want to know of a source beyond single rows: counts with examples, gathered on the way.
 * Memory is bounded: counters by set of traits and two sketches, whatever the number of rows.
 */
import { openBooks, type QualityBooks } from './qualityBooks.ts'
import { qualityNotes, type QualityNote } from './qualityNotes.ts'
import type { Mapped } from './record.ts'
import { RecordTraits } from './recordTraits.ts'
import { itemsOf, TraitCounts, tracked, type TraitItem } from './rowTraits.ts'
import { sumUp, type CountedLines } from './traitSums.ts'

/** Numbers to hold against the last run: a fall of a fill rate, a flip to out of stock. */
export interface QualityFacts {
  readonly rows: number
  readonly products: number
  readonly members: number
  readonly outOfStock: number
  /** Members with an identifier that would be right in another column. */
  readonly misplaced: CountedLines
  /** Kind → members that have at least one. */
  readonly filled: Readonly<Record<string, number>>
  readonly notes: readonly QualityNote[]
  /** What was warned of row by row, and whatever else was handed to `add` as an item. */
  readonly items: readonly (TraitItem & CountedLines)[]
  /** Codes of notes that only a whole reading can tell of. Empty where no rows were known. */
  readonly doubts: readonly string[]
  /** The brand that `feature.otherBrand` is measured by. */
  readonly brand: string
}

export interface Quality {
  /** Counts a row, with items of its own (rowTraits.ts) and bits; returns the number of its set of traits. */
  readonly add: (mapped: Mapped, items?: readonly number[], bits?: number) => number
  /** `known`: rows that were not looked at, by their sets. */
  readonly finish: (known?: TraitCounts) => QualityFacts
}

const noItems: readonly number[] = []

/**
 * One a source. Rows are counted by their sets of traits alone, so that known rows need not be looked at again. `brand`: the
 * one that the known rows were measured by.
 */
export function createQuality(books: QualityBooks = openBooks(), brand = ''): Quality {
  const { traits } = books
  const own = new RecordTraits(traits, brand)
  const counts = new TraitCounts()
  let rows = 0
  return {
    add: ({ record, reject, warnings }, given = noItems, more = 0) => {
      rows += 1
      const items = warnings.length === 0 && given.length === 0 ? [] : [...itemsOf(traits, warnings), ...given]
      const bits = record === undefined ? 0 : own.bitsOf(record, items)
      const line = record?.line ?? reject?.line ?? 0
      return traits.setOf(bits + more, items, (set) => counts.add(set, line))
    },
    finish: (known) => {
      const total = sumUp(traits, counts, known)
      const { products, members, outOfStock, misplaced, filled, items } = total
      return {
        rows: rows + (known?.rows ?? 0),
        products,
        members,
        outOfStock,
        misplaced,
        filled: Object.fromEntries(filled),
        ...qualityNotes(total, own, known, books),
        items: items.filter(({ code }) => code !== tracked.group && code !== tracked.identifier),
        brand: own.brand,
      }
    },
  }
}
