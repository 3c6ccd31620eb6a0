/**
 * What a merchandiser would want to know of a source beyond single rows: counts with examples, gathered on the way.
 * Memory is bounded: counters by set of traits and two sketches, whatever the number of rows.
 */
import type { Mapped, MemberRecord, ProductRecord } from './record.ts'
import { FrequentDigests } from './frequentDigests.ts'
import { FrequentValues, type StoredFrequent } from './frequentValues.ts'
import { feature, itemsOf, TraitBook, TraitCounts, tracked, type StoredTraits, type TraitItem } from './rowTraits.ts'
import { sumUp, type CountedLines } from './traitSums.ts'

export interface QualityNote {
  /** Upper snake case, stable: GROUP_LARGE, ALL_OUT_OF_STOCK … */
  readonly code: QualityCode
  readonly message: string
  readonly count: number
  /** Lines, product ids, group ids or currencies; never anything of a person. */
  readonly examples: readonly string[]
}

export const qualityCodes = {
  GROUP_LARGE: 'More than 100 products share one item_group_id: often a placeholder.',
  ALL_OUT_OF_STOCK: 'Every product is out of stock.',
  OUT_OF_STOCK_SHARE: 'Share of products that are out of stock.',
  CURRENCIES_MIXED: 'Prices come in several currencies.',
  BRAND_SAME: 'Every product has one and the same brand: often a placeholder.',
  MOJIBAKE: 'Texts look as if they had been decoded wrongly (Ã©).',
  IDENTIFIER_REPEATED: 'One identifier stands on more than 50 rows.',
  IDENTIFIER_SHARE: 'One identifier stands on more than 30 % of the rows.',
  FILL_RATE: 'Share of members that have an identifier of the kind.',
  FILL_RATE_FELL: 'Far fewer members than last time have an identifier of the kind.',
  COLUMN_VANISHED: 'A column of the last reading is not in the source any more.',
  GROUP_OF_ITSELF: 'Products whose item_group_id is their own id.',
  PERSONAL_COLUMN: 'A column that is not read holds card or bank account numbers. It goes no further; it should not be in the export.',
  EMAIL_ROLE_SHARE: 'More than 1 % of the rows have an address of a role or an example.',
  MOST_CHANGED: 'More than half of the synced products changed since the last sync.',
  PRICE_MOVED: 'Prices moved by more than a percentage against what was synced (guards.max_price_change_percent, 50).',
  OUT_OF_STOCK_ROSE: 'More products than allowed went out of stock since the last sync (guards.max_out_of_stock_percent, 10).',
} as const
export type QualityCode = keyof typeof qualityCodes

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

/** Over all sources of a reading. */
export interface QualityBooks {
  readonly traits: TraitBook
  readonly groups: FrequentValues
  readonly identifiers: FrequentValues
}

/** JSON: what the next reading has to know of the rows that it will not look at. */
export interface StoredQuality extends StoredTraits {
  readonly groups: StoredFrequent
  readonly identifiers: StoredFrequent
  /** The next reading has to look at every row. */
  readonly due: boolean
}

/** `gated`: rows that `stored` speaks of are not looked at; otherwise all are, and it only says what to watch. */
export function openBooks(stored?: StoredQuality, gated = false): QualityBooks {
  const traits = new TraitBook(gated ? stored : undefined)
  return {
    traits,
    groups: new FrequentValues(traits, { code: tracked.group, limit: groupRows, before: stored?.groups, gated }),
    identifiers: new FrequentValues(traits, { code: tracked.identifier, limit: repeatedRows, before: stored?.identifiers, gated }),
  }
}

export function closeBooks({ traits, groups, identifiers }: QualityBooks): StoredQuality {
  return { ...traits.stored(), groups: groups.stored(), identifiers: identifiers.stored(), due: groups.due || identifiers.due }
}

const groupRows = 100
const repeatedRows = 50
const quote = 34
const sketched = 2048
const toldFirst = 5
// Shares are judged in files of 100 rows or more (bad-inputs, rules).
const judgedFrom = 100
/** Notes that withhold the run by themselves, until guards.accept names them (bad-inputs 91, 110, 119, 131, 190, 201). */
export const heldCodes: readonly string[] = [
  'OUT_OF_STOCK_ROSE',
  'EMAIL_ROLE_SHARE',
  'IDENTIFIER_SHARE',
  'OWNER_COLUMN',
  'CONSENT_UNMAPPED',
  'CONSENT_UNKNOWN',
  'LEFT_UNMAPPED',
]
const mojibake = /Ã[\u0080-\u00bf©«¶¼]|Â[\u00a0-\u00bf]|â€[™œ\u009d\u0153"“]/

/**
 * One a source. Rows are counted by their sets of traits alone, so that known rows need not be looked at again. `brand`: the
 * one that the known rows were measured by.
 */
export function createQuality(books: QualityBooks = openBooks(), brand = ''): Quality {
  const { traits } = books
  const groups = new HeavyHitters(sketched)
  const identifiers = new FrequentDigests(sketched)
  for (const name of traits.trackedValues(tracked.identifier)) identifiers.watch(name, traits.trackedItem(tracked.identifier, name))
  const counts = new TraitCounts()
  let rows = 0
  /** `"brand":"Acme"` of the first product that has one. */
  let firstBrand = brand
  let lastCurrency = ''
  let currencyBits = 0

  // Keys stand in sorted order, so each search begins where the last one ended; nothing is cut out unless it is kept.
  const productBits = ({ json }: ProductRecord, items: number[]): number => {
    let bits: number = feature.product
    const stock = json.indexOf('"availability":"')
    if (json.startsWith('out of stock"', stock + 16)) bits += feature.outOfStock
    // No other key comes between the two.
    const brandAt = json.indexOf('"', stock + 16) + 2
    if (firstBrand === '' && json.startsWith('"brand":"', brandAt)) firstBrand = json.slice(brandAt, json.indexOf('"', brandAt + 9) + 1)
    if (firstBrand === '' || !json.startsWith(firstBrand, brandAt)) bits += feature.otherBrand
    const id = json.indexOf('"id":"', stock)
    const groupAt = json.indexOf('"item_group_id":"', id)
    if (groupAt >= 0) {
      const from = groupAt + 17
      const group = json.slice(from, json.indexOf('"', from))
      groups.add(group)
      const item = traits.trackedItem(tracked.group, group)
      if (item >= 0) items.push(item)
      if (json.startsWith(group, id + 6) && json.charCodeAt(id + 6 + group.length) === quote) bits += feature.ownGroup
    }
    const priceAt = json.indexOf('"price":"', groupAt < 0 ? id : groupAt)
    if (priceAt >= 0) {
      const end = json.indexOf('"', priceAt + 9)
      // Neighbours mostly have one currency.
      if (!json.startsWith(lastCurrency, end - 3) || lastCurrency === '') {
        lastCurrency = json.slice(end - 3, end)
        currencyBits = traits.currency(lastCurrency)
      }
      bits += currencyBits
    }
    if ((json.includes('Ã') || json.includes('Â') || json.includes('â€')) && mojibake.test(json)) bits += feature.garbled
    return bits
  }
  const memberBits = ({ identifiers: packed }: MemberRecord, items: number[]): number => {
    let bits: number = feature.member
    let last = 0
    for (const identifier of packed) {
      const type = identifier[0] ?? 0
      if (type !== last) {
        bits += feature.fills << (type - 1)
        last = type
      }
      const item = identifiers.add(identifier)
      if (item >= 0) items.push(item)
    }
    return bits
  }
  return {
    add: ({ record, reject, warnings }, own = noItems, more = 0) => {
      rows += 1
      const items = warnings.length === 0 && own.length === 0 ? [] : [...itemsOf(traits, warnings), ...own]
      const bits = record === undefined ? 0 : record.kind === 'product' ? productBits(record, items) : memberBits(record, items)
      const line = record?.line ?? reject?.line ?? 0
      return traits.setOf(bits + more, items, (set) => counts.add(set, line))
    },
    finish: (known) => {
      const total = sumUp(traits, counts, known)
      const { products, members, outOfStock, otherBrand, ownGroup, garbled, currencies, filled, items } = total
      const notes: QualityNote[] = []
      const note = (code: QualityCode, count: number, message: string, examples: readonly string[] = []) =>
        notes.push({ code, count, message, examples })
      const apart = (code: string) =>
        new Map(items.filter((item) => item.code === code).map(({ field, count }): [string, number] => [field, count]))
      const doubts: string[] = known !== undefined && known.unknown > 0 ? ['TRAITS_UNKNOWN'] : []
      const large = books.groups.judge(apart(tracked.group), groups.above(0))
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
        note('BRAND_SAME', products, 'every product has the same brand', [firstBrand.slice(9, 69).replace(/"$/, '')])
      if (ownGroup > 0) note('GROUP_OF_ITSELF', ownGroup, `${ownGroup} products are a group of their own id`)
      if (garbled.count > 0)
        note(
          'MOJIBAKE',
          garbled.count,
          `${garbled.count} products hold wrongly decoded text`,
          garbled.lines.map((line) => `line ${line}`),
        )
      const repeated = books.identifiers.judge(apart(tracked.identifier), identifiers.entries())
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
      return {
        rows: rows + (known?.rows ?? 0),
        products,
        members,
        outOfStock,
        misplaced: total.misplaced,
        filled: Object.fromEntries(filled),
        notes,
        items: items.filter(({ code }) => code !== tracked.group && code !== tracked.identifier),
        doubts,
        brand: firstBrand,
      }
    },
  }
}

const noItems: readonly number[] = []

function percent(part: number, whole: number): string {
  return `${whole === 0 ? 0 : Math.round((part / whole) * 1000) / 10} %`
}

/** Misra and Gries: values that stand on more than 1/size of all rows are surely kept; counts are never too high. */
class HeavyHitters {
  readonly #size: number
  readonly #counts = new Map<string, number>()

  constructor(size: number) {
    this.#size = size
  }

  add(value: string): void {
    const count = this.#counts.get(value)
    if (count !== undefined) this.#counts.set(value, count + 1)
    else if (this.#counts.size < this.#size) this.#counts.set(value, 1)
    else this.#decrement()
  }

  /** Values counted more than `least` times, most frequent first. */
  above(least: number): [string, number][] {
    return [...this.#counts].filter(([, count]) => count > least).sort((a, b) => b[1] - a[1])
  }

  #decrement(): void {
    for (const [value, count] of this.#counts) {
      if (count === 1) this.#counts.delete(value)
      else this.#counts.set(value, count - 1)
    }
  }
}
