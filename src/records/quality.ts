/**
 * What a merchandiser would want to know of a source beyond single rows: counts with examples, gathered on the way.
 * Memory is bounded: counters and two sketches, whatever the number of rows.
 */
import type { Mapped, MemberRecord, ProductRecord } from './record.ts'
import { identifierTypes } from './record.ts'
import { FrequentDigests } from './frequentDigests.ts'

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
  readonly products: number
  readonly members: number
  readonly outOfStock: number
  /** Kind → members that have at least one. */
  readonly filled: Readonly<Record<string, number>>
  /** Rows of the most frequent identifier, where it stands on more than one. */
  readonly mostRepeated: number
  readonly notes: readonly QualityNote[]
}

export interface Quality {
  readonly add: (mapped: Mapped) => void
  readonly finish: () => QualityFacts
}

const groupRows = 100
const repeatedRows = 50
const quote = 34
const tracked = 2048
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

export function createQuality(): Quality {
  const groups = new HeavyHitters(tracked)
  let oneBrand = true
  /** `"brand":"Acme"` of the first product, and where it stood behind the availability. */
  let brand = ''
  let brandOffset = 0
  const currencies = new Map<string, number>()
  let lastCurrency = '\u0000'
  let lastCount = 0
  const identifiers = new FrequentDigests(tracked)
  const filled = new Map<string, number>()
  const garbled: string[] = []
  let garbledCount = 0
  let products = 0
  let members = 0
  let outOfStock = 0
  let ownGroup = 0

  // Keys stand in sorted order, so each search begins where the last one ended; nothing is cut out unless it is kept.
  const addProduct = ({ json, line }: ProductRecord): void => {
    products += 1
    const stock = json.indexOf('"availability":"')
    if (json.startsWith('out of stock"', stock + 16)) outOfStock += 1
    if (
      oneBrand &&
      !(brand === '' ? learnBrand(json, stock) : json.startsWith(brand, stock + brandOffset) || json.indexOf(brand, stock) >= 0)
    )
      oneBrand = false
    const id = json.indexOf('"id":"', stock)
    const groupAt = json.indexOf('"item_group_id":"', id)
    if (groupAt >= 0) {
      const from = groupAt + 17
      const group = json.slice(from, json.indexOf('"', from))
      groups.add(group)
      if (json.startsWith(group, id + 6) && json.charCodeAt(id + 6 + group.length) === quote) ownGroup += 1
    }
    const priceAt = json.indexOf('"price":"', groupAt < 0 ? id : groupAt)
    if (priceAt >= 0) {
      const end = json.indexOf('"', priceAt + 9)
      if (json.startsWith(lastCurrency, end - 3)) lastCount += 1
      else countCurrency(json.slice(end - 3, end))
    }
    if ((json.includes('Ã') || json.includes('Â') || json.includes('â€')) && mojibake.test(json)) {
      garbledCount += 1
      if (garbled.length < 5) garbled.push(`line ${line}`)
    }
  }
  const learnBrand = (json: string, from: number): boolean => {
    const at = json.indexOf('"brand":"', from)
    if (at < 0) return false
    brandOffset = at - from
    brand = json.slice(at, json.indexOf('"', at + 9) + 1)
    return true
  }
  /** Neighbours mostly have one currency: it is counted aside, and its name is cut out once. */
  const countCurrency = (currency: string): void => {
    if (lastCount > 0 && (currencies.has(lastCurrency) || currencies.size < 200))
      currencies.set(lastCurrency, (currencies.get(lastCurrency) ?? 0) + lastCount)
    lastCurrency = currency
    lastCount = 1
  }
  const addMember = ({ identifiers: packed }: MemberRecord): void => {
    members += 1
    let last = 0
    for (const identifier of packed) {
      const type = identifier[0] ?? 0
      if (type !== last) {
        const kind = identifierTypes[type - 1]
        if (kind !== undefined) filled.set(kind, (filled.get(kind) ?? 0) + 1)
        last = type
      }
      identifiers.add(identifier)
    }
  }
  return {
    add: ({ record }) => {
      if (record === undefined) return
      if (record.kind === 'product') addProduct(record)
      else addMember(record)
    },
    finish: () => {
      const notes: QualityNote[] = []
      const note = (code: QualityCode, count: number, message: string, examples: readonly string[] = []) =>
        notes.push({ code, count, message, examples })
      const large = groups.above(groupRows)
      if (large.length > 0)
        note(
          'GROUP_LARGE',
          large.length,
          `${large.length} item groups have more than ${groupRows} products`,
          large.slice(0, 5).map(([group, count]) => `${group.slice(0, 60)}: ${count}`),
        )
      if (products >= judgedFrom && outOfStock === products) note('ALL_OUT_OF_STOCK', products, `all ${products} products are out of stock`)
      else if (outOfStock > 0) note('OUT_OF_STOCK_SHARE', outOfStock, `${percent(outOfStock, products)} of the products are out of stock`)
      countCurrency('')
      if (currencies.size > 1)
        note(
          'CURRENCIES_MIXED',
          currencies.size,
          `prices come in ${currencies.size} currencies`,
          [...currencies]
            .sort((a, b) => b[1] - a[1])
            .slice(0, 5)
            .map(([code, count]) => `${code}: ${count}`),
        )
      if (products >= judgedFrom && oneBrand)
        note('BRAND_SAME', products, 'every product has the same brand', [brand.slice(9, 69).replace(/"$/, '')])
      if (ownGroup > 0) note('GROUP_OF_ITSELF', ownGroup, `${ownGroup} products are a group of their own id`)
      if (garbledCount > 0) note('MOJIBAKE', garbledCount, `${garbledCount} products hold wrongly decoded text`, garbled)
      const repeated = identifiers.above(repeatedRows)
      if (repeated.length > 0)
        note(
          'IDENTIFIER_REPEATED',
          repeated.length,
          `${repeated.length} identifiers stand on more than ${repeatedRows} rows each, the most frequent on ${repeated[0] ?? 0}`,
        )
      const most = identifiers.above(1)[0] ?? 0
      if (members >= judgedFrom && most > members * 0.3)
        note('IDENTIFIER_SHARE', most, `one identifier stands on ${percent(most, members)} of the rows`)
      for (const [kind, count] of filled) note('FILL_RATE', count, `${percent(count, members)} of the members have ${kind}`)
      return { products, members, outOfStock, filled: Object.fromEntries(filled), mostRepeated: most, notes }
    },
  }
}

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
