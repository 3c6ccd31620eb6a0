import { identifierTypes } from '../../model/record.ts'
import { maxWarningLines } from '../../model/report.ts'
import { featureBits, type FeatureSets, type FeatureSetCounts, type CountedItem } from './featureSets.ts'

/** Number of rows, and the lines of the first of them. */
export interface CountedLines {
  readonly count: number
  /** At most `maxWarningLines` lines, in the order of the source. */
  readonly lines: readonly number[]
}

class LineSum {
  count = 0
  readonly #allLines: number[] = []

  add(count: number, lines: readonly number[]): void {
    this.count += count
    this.#allLines.push(...lines)
  }

  get lines(): readonly number[] {
    return this.#allLines.sort((a, b) => a - b).slice(0, maxWarningLines)
  }
}

/** Sums of one source: its rows by feature, currency, identifier type and item. */
export type StatisticsSums = ReturnType<typeof sumFeatureSets>

/** Returns the sums of one source. `unchanged`: rows that a gated read did not map. `featureSets.ts` defines features and items. */
export function sumFeatureSets(featureSets: FeatureSets, mapped: FeatureSetCounts, unchanged: FeatureSetCounts | undefined) {
  const sums = { products: 0, members: 0, outOfStock: 0, otherBrand: 0, otherGroup: 0, ownGroup: 0 }
  const [garbled, misplaced] = [new LineSum(), new LineSum()]
  const currencies = new Map<string, number>()
  const rowsByIdentifierType = new Map<string, number>()
  const items = new Map<CountedItem, LineSum>()
  for (const set of new Set([...mapped.sets(), ...(unchanged?.sets() ?? [])])) {
    const count = mapped.countOf(set) + (unchanged?.countOf(set) ?? 0)
    const lines = [...mapped.linesOf(set), ...(unchanged?.linesOf(set) ?? [])]
    const { bits, currency, items: itemsOfSet } = featureSets.describe(set)
    const hasFeature = (bit: number) => (bits & bit) !== 0
    if (hasFeature(featureBits.product)) sums.products += count
    if (hasFeature(featureBits.member)) sums.members += count
    if (hasFeature(featureBits.outOfStock)) sums.outOfStock += count
    if (hasFeature(featureBits.otherBrand)) sums.otherBrand += count
    if (hasFeature(featureBits.otherGroup)) sums.otherGroup += count
    if (hasFeature(featureBits.ownGroup)) sums.ownGroup += count
    if (hasFeature(featureBits.garbled)) garbled.add(count, lines)
    if (hasFeature(featureBits.misplaced)) misplaced.add(count, lines)
    if (currency !== undefined) currencies.set(currency, (currencies.get(currency) ?? 0) + count)
    for (const [index, type] of identifierTypes.entries())
      if (hasFeature(featureBits.firstIdentifierType << index))
        rowsByIdentifierType.set(type, (rowsByIdentifierType.get(type) ?? 0) + count)
    // A row with two role addresses (info@, sales@) has one item twice. The row counts once.
    for (const item of new Set(itemsOfSet)) {
      const sum = items.get(item) ?? new LineSum()
      sum.add(count, lines)
      items.set(item, sum)
    }
  }
  return {
    ...sums,
    garbled,
    misplaced,
    currencies,
    rowsByIdentifierType,
    items: [...items].map(([item, { count, lines }]) => ({ ...item, count, lines })),
  }
}
