/** Collects statistics over all rows of a source, such as repeated identifiers. Its memory has an upper bound. */
import { createReadStatistics, type ReadStatistics } from './readStatistics.ts'
import { qualityNotes, type QualityNote } from './qualityNotes.ts'
import type { Mapped } from '../../model/record.ts'
import { RecordFeatures } from './recordFeatures.ts'
import { featureBits, addWarningItems, FeatureSetCounts, exactCodes, type CountedItem } from './featureSets.ts'
import { sumFeatureSets, type CountedLines } from './statisticsSums.ts'

/** Statistics of one source. The next run compares some of them with its own. */
export interface SourceFigures {
  readonly rows: number
  readonly products: number
  readonly members: number
  readonly outOfStock: number
  /** Rows with an identifier that was dropped: it is in the column of another type. */
  readonly misplaced: CountedLines
  /** Identifier type → number of members with at least one such identifier. */
  readonly rowsByIdentifierType: Readonly<Record<string, number>>
  readonly notes: readonly QualityNote[]
  /** Row warnings and other items, counted by code and field. */
  readonly items: readonly (CountedItem & CountedLines)[]
  /**
   * True if a note needs the unchanged rows to be mapped too. Also true if the feature set of an unchanged row is not known. False after a
   * full read.
   */
  readonly needsFullRead: boolean
  /** Field of the first brand, with which `featureBits.otherBrand` compares, as JSON: `"brand":"Acme"`. Empty if there is none. */
  readonly firstBrandField: string
  /** First item group, with which `featureBits.otherGroup` compares, as JSON text without quotes. Empty if there is none. */
  readonly firstGroup: string
}

/** Statistics of one source while its rows are read. */
export interface SourceStatistics {
  /** Counts a row, and returns the number of its feature set. `items` and `bits`: further items and feature bits of the row. */
  readonly add: (mapped: Mapped, items?: readonly number[], bits?: number) => number
  /** Returns the statistics. `unchanged`: counts of the rows that were not mapped. */
  readonly finish: (unchanged?: FeatureSetCounts) => SourceFigures
}

const noItems: readonly number[] = []

/**
 * Creates the statistics of one source. `statistics`: those that all sources of the read share. `lastRead`: for a gated read, the first
 * brand and the first item group of the last read.
 */
export function createSourceStatistics(
  statistics: ReadStatistics = createReadStatistics(),
  lastRead: { readonly brand?: string; readonly group?: string } = {},
): SourceStatistics {
  const { featureSets } = statistics
  const features = new RecordFeatures(featureSets, { firstBrandField: lastRead.brand ?? '', firstGroup: lastRead.group ?? '' })
  const counts = new FeatureSetCounts()
  let rows = 0
  return {
    add: ({ record, reject, warnings }, givenItems = noItems, givenBits = 0) => {
      rows += 1
      const items = warnings.length === 0 && givenItems.length === 0 ? [] : [...addWarningItems(featureSets, warnings), ...givenItems]
      const recordBits = record === undefined ? 0 : features.addRecord(record, items)
      const isGarbled = record?.kind === 'product' && warnings.some(({ code }) => code === 'TEXT_GARBLED')
      const bits = recordBits | (isGarbled ? featureBits.garbled : 0) | givenBits
      const line = record?.line ?? reject?.line ?? 0
      return featureSets.addRow(bits, items, (set) => counts.add(set, line))
    },
    finish: (unchanged) => {
      const sums = sumFeatureSets(featureSets, counts, unchanged)
      const { products, members, outOfStock, misplaced, rowsByIdentifierType, items } = sums
      const { firstBrandField, firstGroup } = features
      const exactCounts = (code: string) => new Map(items.filter((item) => item.code === code).map(({ field, count }) => [field, count]))
      const groups = statistics.groups.addSource(exactCounts(exactCodes.group), features.groups.entries())
      const identifiers = statistics.identifiers.addSource(exactCounts(exactCodes.identifier), features.identifiers.entries())
      return {
        rows: rows + (unchanged?.rowCount ?? 0),
        products,
        members,
        outOfStock,
        misplaced,
        rowsByIdentifierType: Object.fromEntries(rowsByIdentifierType),
        ...qualityNotes({ sums, groups, identifiers, firstBrandField, firstGroup, unchanged }),
        items: items.filter(({ code }) => code !== exactCodes.group && code !== exactCodes.identifier),
        firstBrandField,
        firstGroup,
      }
    },
  }
}
