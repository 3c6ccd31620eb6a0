/**
 * Gathers statistics of a source beyond single rows: counts with examples. Memory is bounded by counters for each set of
 * features and two sketches, independent of the number of rows.
 */
import { openStatistics, type QualityStatistics } from './qualityStatistics.ts'
import { qualityNotes, type QualityNote } from './qualityNotes.ts'
import type { Mapped } from '../model/record.ts'
import { RecordFeatures } from './recordFeatures.ts'
import { feature, itemsOf, FeatureSetCounts, tracked, type CountedItem } from './rowStatistics.ts'
import { sumUp, type CountedLines } from './statisticsSums.ts'

/** Numbers to compare with the last run: a drop of a fill rate, a jump to out of stock. */
export interface QualityFacts {
  readonly rows: number
  readonly products: number
  readonly members: number
  readonly outOfStock: number
  /** Members with an identifier in the wrong column. */
  readonly misplaced: CountedLines
  /** Kind → members that have at least one. */
  readonly filled: Readonly<Record<string, number>>
  readonly notes: readonly QualityNote[]
  /** Row warnings and every other item passed to `add`. */
  readonly items: readonly (CountedItem & CountedLines)[]
  /** Codes of notes that only a full read can decide. Empty if no rows were known. */
  readonly doubts: readonly string[]
  /** Brand that `feature.otherBrand` refers to, and item group that `feature.otherGroup` refers to. */
  readonly brand: string
  readonly group: string
}

export interface Quality {
  /** Counts a row with its items and bits; returns the number of its feature set. */
  readonly add: (mapped: Mapped, items?: readonly number[], bits?: number) => number
  /** `known`: counts of rows that were not read again, by feature set. */
  readonly finish: (known?: FeatureSetCounts) => QualityFacts
}

const noItems: readonly number[] = []

/**
 * Creates the statistics of one source. Rows are counted by feature set, so that known rows need not be read again. `first`:
 * brand and group that the known rows refer to.
 */
export function createQuality(
  statistics: QualityStatistics = openStatistics(),
  first: { readonly brand?: string; readonly group?: string } = {},
): Quality {
  const { featureSets } = statistics
  const own = new RecordFeatures(featureSets, { brand: first.brand ?? '', group: first.group ?? '' })
  const counts = new FeatureSetCounts()
  let rows = 0
  return {
    add: ({ record, reject, warnings }, given = noItems, more = 0) => {
      rows += 1
      const items = warnings.length === 0 && given.length === 0 ? [] : [...itemsOf(featureSets, warnings), ...given]
      const found = record === undefined ? 0 : own.bitsOf(record, items)
      const bits = record?.kind === 'product' && warnings.some(({ code }) => code === 'TEXT_GARBLED') ? found | feature.garbled : found
      const line = record?.line ?? reject?.line ?? 0
      return featureSets.setOf(bits + more, items, (set) => counts.add(set, line))
    },
    finish: (known) => {
      const total = sumUp(featureSets, counts, known)
      const { products, members, outOfStock, misplaced, filled, items } = total
      return {
        rows: rows + (known?.rows ?? 0),
        products,
        members,
        outOfStock,
        misplaced,
        filled: Object.fromEntries(filled),
        ...qualityNotes(total, own, known, statistics),
        items: items.filter(({ code }) => code !== tracked.group && code !== tracked.identifier),
        brand: own.brand,
        group: own.group,
      }
    },
  }
}
