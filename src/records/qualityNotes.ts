/** What is worth saying of a source as a whole, by the sums of its rows' traits. */
import { groupRows, repeatedRows, type QualityBooks } from './qualityBooks.ts'
import type { QualityCode } from './qualityCodes.ts'
import type { RecordTraits } from './recordTraits.ts'
import { tracked, type TraitCounts } from './rowTraits.ts'
import type { TraitSums } from './traitSums.ts'

export interface QualityNote {
  /** Upper snake case, stable: GROUP_LARGE, ALL_OUT_OF_STOCK … */
  readonly code: QualityCode
  readonly message: string
  readonly count: number
  /** Lines, product ids, group ids or currencies; never anything of a person. */
  readonly examples: readonly string[]
}

const toldFirst = 5
// Shares are judged in files of 100 rows or more (bad-inputs, rules).
const judgedFrom = 100

/** `total`: of all rows, looked at (`own`) and known; `doubts`: codes of notes that only a whole reading can tell of. */
export function qualityNotes(
  total: TraitSums,
  own: RecordTraits,
  known: TraitCounts | undefined,
  books: QualityBooks,
): { readonly notes: readonly QualityNote[]; readonly doubts: readonly string[] } {
  const { products, members, outOfStock, otherBrand, ownGroup, garbled, currencies, filled, items } = total
  const notes: QualityNote[] = []
  const note = (code: QualityCode, count: number, message: string, examples: readonly string[] = []) =>
    notes.push({ code, count, message, examples })
  const apart = (code: string) =>
    new Map(items.filter((item) => item.code === code).map(({ field, count }): [string, number] => [field, count]))
  const doubts: string[] = known !== undefined && known.unknown > 0 ? ['TRAITS_UNKNOWN'] : []
  const large = books.groups.judge(apart(tracked.group), own.groups.above(0))
  if (large.doubtful) doubts.push('GROUP_LARGE')
  if (large.above.length > 0)
    note(
      'GROUP_LARGE',
      large.above.length,
      `${large.above.length} item groups have more than ${groupRows} products`,
      large.above.slice(0, toldFirst).map(([group, count]) => `${group.slice(0, 60)}: ${count}`),
    )
  if (products >= judgedFrom && outOfStock === products) note('ALL_OUT_OF_STOCK', products, `all ${products} products are out of stock`)
  else if (outOfStock > 0) note('OUT_OF_STOCK_SHARE', outOfStock, `${percent(outOfStock, products)} of the products are out of stock`)
  if (currencies.size > 1)
    note(
      'CURRENCIES_MIXED',
      currencies.size,
      `prices come in ${currencies.size} currencies`,
      [...currencies]
        .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
        .slice(0, toldFirst)
        .map(([code, count]) => `${code}: ${count}`),
    )
  // Of other brands nothing is known but that they are others.
  if (known !== undefined && products >= judgedFrom && otherBrand === products) doubts.push('BRAND_SAME')
  if (products >= judgedFrom && otherBrand === 0)
    note('BRAND_SAME', products, 'every product has the same brand', [own.brand.slice(9, 69).replace(/"$/, '')])
  if (ownGroup > 0) note('GROUP_OF_ITSELF', ownGroup, `${ownGroup} products are a group of their own id`)
  if (garbled.count > 0)
    note(
      'MOJIBAKE',
      garbled.count,
      `${garbled.count} products hold wrongly decoded text`,
      garbled.lines.map((line) => `line ${line}`),
    )
  const repeated = books.identifiers.judge(apart(tracked.identifier), own.identifiers.entries())
  if (repeated.doubtful) doubts.push('IDENTIFIER_REPEATED')
  if (repeated.above.length > 0)
    note(
      'IDENTIFIER_REPEATED',
      repeated.above.length,
      `${repeated.above.length} identifiers stand on more than ${repeatedRows} rows each, the most frequent on ${repeated.above[0]?.[1] ?? 0}`,
    )
  const share = members * 0.3
  if (members >= judgedFrom && repeated.first > share)
    note('IDENTIFIER_SHARE', repeated.first, `one identifier stands on ${percent(repeated.first, members)} of the rows`)
  else if (members >= judgedFrom && repeated.most > share) doubts.push('IDENTIFIER_SHARE')
  for (const [kind, count] of filled) note('FILL_RATE', count, `${percent(count, members)} of the members have ${kind}`)
  return { notes, doubts }
}

function percent(part: number, whole: number): string {
  return `${whole === 0 ? 0 : Math.round((part / whole) * 1000) / 10} %`
}
