/**
 * What a merchandiser would want to know of a source beyond single rows: counts with examples, gathered on the way.
 * Memory is bounded: counters and two sketches, whatever the number of rows.
 */
import type { Mapped, MemberRecord, ProductRecord } from './record.ts'
import { identifierTypes } from './record.ts'

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
  readonly notes: readonly QualityNote[]
}

export interface Quality {
  readonly add: (mapped: Mapped) => void
  readonly finish: () => QualityFacts
}

const groupRows = 100
const repeatedRows = 50
const tracked = 2048
// Shares are judged in files of 100 rows or more (bad-inputs, rules).
const judgedFrom = 100
/** Notes that withhold the run by themselves, until guards.accept names them (bad-inputs 91, 110, 119, 190, 201). */
export const heldCodes: readonly string[] = ['OUT_OF_STOCK_ROSE', 'EMAIL_ROLE_SHARE', 'IDENTIFIER_SHARE', 'OWNER_COLUMN', 'CONSENT_UNMAPPED']
const mojibake = /Ã[\u0080-\u00bf©«¶¼]|Â[\u00a0-\u00bf]|â€[™œ\u009d\u0153"“]/

export function createQuality(): Quality {
  const groups = new HeavyHitters(tracked)
  const brands = new HeavyHitters(16)
  const currencies = new Map<string, number>()
  const identifiers = new HeavyHitters(tracked)
  const filled = new Map<string, number>()
  const garbled: string[] = []
  let garbledCount = 0
  let products = 0
  let members = 0
  let outOfStock = 0
  let ownGroup = 0

  const addProduct = ({ json, line }: ProductRecord): void => {
    products += 1
    if (json.includes('"availability":"out of stock"')) outOfStock += 1
    const group = valueOf(json, 'item_group_id')
    if (group !== undefined) {
      groups.add(group)
      if (group === valueOf(json, 'id')) ownGroup += 1
    }
    const brand = valueOf(json, 'brand')
    if (brand !== undefined) brands.add(brand)
    const currency = /"price":"[\d.]+ ([A-Z]{3})"/.exec(json)?.[1]
    if (currency !== undefined && (currencies.has(currency) || currencies.size < 200)) currencies.set(currency, (currencies.get(currency) ?? 0) + 1)
    if ((json.includes('Ã') || json.includes('Â') || json.includes('â€')) && mojibake.test(json)) {
      garbledCount += 1
      if (garbled.length < 5) garbled.push(`line ${line}`)
    }
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
      // The first bytes of a digest tell digests apart well enough to count them, and are gone with this object.
      identifiers.add(identifier.toString('latin1', 0, 13))
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
      const note = (code: QualityCode, count: number, message: string, examples: readonly string[] = []) => notes.push({ code, count, message, examples })
      const large = groups.above(groupRows)
      if (large.length > 0) note('GROUP_LARGE', large.length, `${large.length} item groups have more than ${groupRows} products`, large.slice(0, 5).map(([group, count]) => `${group.slice(0, 60)}: ${count}`))
      if (products >= judgedFrom && outOfStock === products) note('ALL_OUT_OF_STOCK', products, `all ${products} products are out of stock`)
      else if (outOfStock > 0) note('OUT_OF_STOCK_SHARE', outOfStock, `${percent(outOfStock, products)} of the products are out of stock`)
      if (currencies.size > 1) note('CURRENCIES_MIXED', currencies.size, `prices come in ${currencies.size} currencies`, [...currencies].sort((a, b) => b[1] - a[1]).slice(0, 5).map(([code, count]) => `${code}: ${count}`))
      const [brand] = brands.above(0)
      if (products >= judgedFrom && brand !== undefined && brand[1] === products) note('BRAND_SAME', products, 'every product has the same brand', [brand[0].slice(0, 60)])
      if (ownGroup > 0) note('GROUP_OF_ITSELF', ownGroup, `${ownGroup} products are a group of their own id`)
      if (garbledCount > 0) note('MOJIBAKE', garbledCount, `${garbledCount} products hold wrongly decoded text`, garbled)
      const repeated = identifiers.above(repeatedRows)
      if (repeated.length > 0) note('IDENTIFIER_REPEATED', repeated.length, `${repeated.length} identifiers stand on more than ${repeatedRows} rows each, the most frequent on ${repeated[0]?.[1] ?? 0}`)
      const most = identifiers.above(1)[0]?.[1] ?? 0
      if (members >= judgedFrom && most > members * 0.3) note('IDENTIFIER_SHARE', most, `one identifier stands on ${percent(most, members)} of the rows`)
      for (const [kind, count] of filled) note('FILL_RATE', count, `${percent(count, members)} of the members have ${kind}`)
      return { products, members, outOfStock, filled: Object.fromEntries(filled), notes }
    },
  }
}

function percent(part: number, whole: number): string {
  return `${whole === 0 ? 0 : Math.round((part / whole) * 1000) / 10} %`
}

function valueOf(json: string, field: string): string | undefined {
  const at = json.indexOf(`"${field}":"`)
  if (at < 0) return undefined
  const from = at + field.length + 4
  const to = json.indexOf('"', from)
  return to < 0 ? undefined : json.slice(from, to)
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
