/**
 * Collects statistics over all rows of a source, such as fill rates and repeated identifiers. The memory does not grow with the rows. It
 * has a counter for each feature set (`rowStatistics.ts`), and two sketches.
 */
import { createReadStatistics, type ReadStatistics } from './readStatistics.ts'
import { qualityNotes, type QualityNote } from './qualityNotes.ts'
import type { Mapped } from '../../model/record.ts'
import { RecordFeatures } from './recordFeatures.ts'
import { feature, itemsOf, FeatureSetCounts, tracked, type CountedItem } from './rowStatistics.ts'
import { sumUp, type CountedLines } from './statisticsSums.ts'

/** Statistics of one source. The next run compares some of them with its statistics, for example to find a drop of a fill rate. */
export interface SourceFigures {
  readonly rows: number
  readonly products: number
  readonly members: number
  readonly outOfStock: number
  /** Rows with a dropped identifier that is in the column of another type. */
  readonly misplaced: CountedLines
  /** Identifier type → number of members that have at least one. */
  readonly filled: Readonly<Record<string, number>>
  readonly notes: readonly QualityNote[]
  /** Row warnings, and the items that the caller passed to `add`, counted by code and field. */
  readonly items: readonly (CountedItem & CountedLines)[]
  /**
   * Codes of notes that can be decided only if the unchanged rows are mapped too. Contains `FEATURE_SETS_UNKNOWN` if the feature set of an
   * unchanged row is not known. Empty after a full read, because it maps all rows.
   */
  readonly doubts: readonly string[]
  /** First brand, for the comparison of `feature.otherBrand`, as key and value of JSON: `"brand":"Acme"`. Empty before it. */
  readonly brand: string
  /** First item group, for the comparison of `feature.otherGroup`, as JSON text without quotes. Empty before it. */
  readonly group: string
}

/** Statistics of one source while its rows are read. */
export interface SourceStatistics {
  /**
   * Counts a row. `items`: numbers of further items of the row. `bits`: further feature bits. Returns the number of the row's feature set.
   * It is stored with the digest of the row.
   */
  readonly add: (mapped: Mapped, items?: readonly number[], bits?: number) => number
  /** Returns the statistics of all rows. `known`: counts of the unchanged rows. They were not mapped. */
  readonly finish: (known?: FeatureSetCounts) => SourceFigures
}

const noItems: readonly number[] = []

/**
 * Creates the statistics of one source. `statistics`: those of the whole read. All its sources share them. `first`: first brand and first
 * item group for the stored feature sets of the unchanged rows; none in a full read.
 */
export function createSourceStatistics(
  statistics: ReadStatistics = createReadStatistics(),
  first: { readonly brand?: string; readonly group?: string } = {},
): SourceStatistics {
  const { featureSets } = statistics
  const features = new RecordFeatures(featureSets, { brand: first.brand ?? '', group: first.group ?? '' })
  const counts = new FeatureSetCounts()
  let rows = 0
  return {
    add: ({ record, reject, warnings }, givenItems = noItems, givenBits = 0) => {
      rows += 1
      const items = warnings.length === 0 && givenItems.length === 0 ? [] : [...itemsOf(featureSets, warnings), ...givenItems]
      const recordBits = record === undefined ? 0 : features.bitsOf(record, items)
      const isGarbled = record?.kind === 'product' && warnings.some(({ code }) => code === 'TEXT_GARBLED')
      const bits = recordBits | (isGarbled ? feature.garbled : 0) | givenBits
      const line = record?.line ?? reject?.line ?? 0
      return featureSets.setOf(bits, items, (set) => counts.add(set, line))
    },
    finish: (known) => {
      const total = sumUp(featureSets, counts, known)
      const { products, members, outOfStock, misplaced, filled, items } = total
      const { brand, group } = features
      const exactCounts = (code: string) => new Map(items.filter((item) => item.code === code).map(({ field, count }) => [field, count]))
      const groups = statistics.groups.addSource(exactCounts(tracked.group), features.groups.entries())
      const identifiers = statistics.identifiers.addSource(exactCounts(tracked.identifier), features.identifiers.entries())
      return {
        rows: rows + (known?.rows ?? 0),
        products,
        members,
        outOfStock,
        misplaced,
        filled: Object.fromEntries(filled),
        ...qualityNotes({ total, groups, identifiers, brand, group, known }),
        items: items.filter(({ code }) => code !== tracked.group && code !== tracked.identifier),
        brand,
        group,
      }
    },
  }
}
