/** Derives the notes on a whole source from its row statistics. */
import { cutText } from '../../cutText.ts'
import type { FrequentInSource } from './frequentValues.ts'
import { maxGroupRows, maxIdentifierRows } from './readStatistics.ts'
import type { QualityCode } from './qualityCodes.ts'
import type { FeatureSetCounts } from './featureSets.ts'
import type { StatisticsSums } from './statisticsSums.ts'

/** Note on a whole source. */
export interface QualityNote {
  readonly code: QualityCode
  readonly message: string
  /** Number of products, members, item groups, identifiers or currencies that the message is about. */
  readonly count: number
  /** Texts such as `line 12`, a value, or `value: count`; never personal data. */
  readonly examples: readonly string[]
}

const maxExamples = 5
/** Minimum number of products or members for notes on a share of them. In smaller files, `isEncodingDoubtful` needs a larger share. */
const minRowsForShare = 100
/** Minimum number of products for `GROUP_SAME`. In a smaller file, all products may be variants of one. */
const minRowsForGroup = 20

/** Returns true if so many products are garbled that the encoding of the whole file may be wrong. */
function isEncodingDoubtful(garbled: number, products: number): boolean {
  return garbled > products * (products >= minRowsForShare ? 0.05 : 0.5)
}

interface NoteInputs {
  readonly sums: StatisticsSums
  readonly groups: FrequentInSource
  readonly identifiers: FrequentInSource
  /** Field of the first brand, as JSON: `"brand":"Acme"`. */
  readonly firstBrandField: string
  /** First item group, as JSON text without quotes. */
  readonly firstGroup: string
  /** Counts of the unchanged rows; undefined in a full read. */
  readonly unchanged: FeatureSetCounts | undefined
}

/** Returns the notes on a source. `needsFullRead`: as in `SourceFigures`. */
export function qualityNotes({ sums, groups, identifiers, firstBrandField, firstGroup, unchanged }: NoteInputs): {
  readonly notes: readonly QualityNote[]
  readonly needsFullRead: boolean
} {
  const { products, members, outOfStock, otherBrand, otherGroup, ownGroup, garbled, currencies } = sums
  const notes: QualityNote[] = []
  const note = (code: QualityCode, count: number, message: string, examples: readonly string[] = []) =>
    notes.push({ code, count, message, examples })
  if (groups.aboveLimit.length > 0)
    note(
      'GROUP_LARGE',
      groups.aboveLimit.length,
      `${groups.aboveLimit.length} item groups have more than ${maxGroupRows} products`,
      groups.aboveLimit.slice(0, maxExamples).map(([name, count]) => `${cutText(name, 60)}: ${count}`),
    )
  if (products >= minRowsForShare && outOfStock === products)
    note('ALL_OUT_OF_STOCK', products, `all ${products} products are out of stock`)
  if (currencies.size > 1)
    note(
      'CURRENCIES_MIXED',
      currencies.size,
      `prices come in ${currencies.size} currencies`,
      [...currencies]
        .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
        .slice(0, maxExamples)
        .map(([code, count]) => `${code}: ${count}`),
    )
  if (products >= minRowsForShare && otherBrand === 0)
    // The field begins with `"brand":"`.
    note('BRAND_SAME', products, 'every product has the same brand', [cutText(firstBrandField.slice(9), 60).replace(/"$/, '')])
  if (products >= minRowsForGroup && otherGroup === 0)
    note('GROUP_SAME', products, `all ${products} products have the same item_group_id`, [cutText(firstGroup, 60)])
  if (ownGroup > 0) note('GROUP_OF_ITSELF', ownGroup, `${ownGroup} products have their own id as item_group_id`)
  if (garbled.count > 0)
    note(
      isEncodingDoubtful(garbled.count, products) ? 'ENCODING_DOUBTFUL' : 'MOJIBAKE',
      garbled.count,
      `${garbled.count} of ${products} products contain wrongly decoded text`,
      garbled.lines.map((line) => `line ${line}`),
    )
  if (identifiers.aboveLimit.length > 0)
    note(
      'IDENTIFIER_REPEATED',
      identifiers.aboveLimit.length,
      `${identifiers.aboveLimit.length} identifiers are on more than ${maxIdentifierRows} rows each, the most frequent on ${identifiers.aboveLimit[0]?.[1] ?? 0}`,
    )
  const shareLimit = members >= minRowsForShare ? members * 0.3 : Infinity
  if (identifiers.highestInSource > shareLimit)
    note(
      'IDENTIFIER_SHARE',
      identifiers.highestInSource,
      `${Math.round((identifiers.highestInSource / members) * 1000) / 10} % of the members have one identifier`,
    )
  // A feature set shows only whether the brand or the item group is the first one. If no row has the first one any more, all rows may have
  // the same other one.
  const mayHaveSameBrand = unchanged !== undefined && products >= minRowsForShare && firstBrandField !== '' && otherBrand === products
  const mayHaveSameGroup = unchanged !== undefined && products >= minRowsForGroup && firstGroup !== '' && otherGroup === products
  const mayExceedShare = identifiers.highestInSource <= shareLimit && identifiers.highestBound > shareLimit
  const mayExceedLimit = groups.mayExceedLimit || identifiers.mayExceedLimit
  const hasUnknownSets = unchanged !== undefined && unchanged.unknownCount > 0
  return { notes, needsFullRead: hasUnknownSets || mayExceedLimit || mayExceedShare || mayHaveSameBrand || mayHaveSameGroup }
}
