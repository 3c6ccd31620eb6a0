import { FrequentDigests } from './frequentDigests.ts'
import { HeavyHitters } from './heavyHitters.ts'
import type { MappedRecord, MemberRecord, ProductRecord } from './record.ts'
import { feature, tracked, type TraitBook } from './rowTraits.ts'

const quote = 34
const sketched = 2048
const mojibake = /Ã[\u0080-\u00bf©«¶¼]|Â[\u00a0-\u00bf]|â€[™œ\u009d\u0153"“]/

/** The bits of each record of one source (rowTraits.ts `feature`), and which groups and identifiers stand on many rows. */
export class RecordTraits {
  readonly #traits: TraitBook
  readonly groups = new HeavyHitters(sketched)
  readonly identifiers = new FrequentDigests(sketched)
  /** `"brand":"Acme"` of the first product that has one: what `feature.otherBrand` is measured by. */
  brand: string
  #lastCurrency = ''
  #currencyBits = 0

  /** `brand`: the one that known rows were measured by; empty where there is none. */
  constructor(traits: TraitBook, brand: string) {
    this.#traits = traits
    this.brand = brand
    for (const name of traits.trackedValues(tracked.identifier)) this.identifiers.watch(name, traits.trackedItem(tracked.identifier, name))
  }

  /** Items that are watched, of groups and identifiers, are put to `items`. */
  bitsOf(record: MappedRecord, items: number[]): number {
    return record.kind === 'product' ? this.#productBits(record, items) : this.#memberBits(record, items)
  }

  // Keys stand in sorted order, so each search begins where the last one ended; nothing is cut out unless it is kept.
  #productBits({ json }: ProductRecord, items: number[]): number {
    let bits: number = feature.product
    const stock = json.indexOf('"availability":"')
    if (json.startsWith('out of stock"', stock + 16)) bits += feature.outOfStock
    // No other key comes between the two.
    const brandAt = json.indexOf('"', stock + 16) + 2
    if (this.brand === '' && json.startsWith('"brand":"', brandAt)) this.brand = json.slice(brandAt, json.indexOf('"', brandAt + 9) + 1)
    if (this.brand === '' || !json.startsWith(this.brand, brandAt)) bits += feature.otherBrand
    const id = json.indexOf('"id":"', stock)
    const groupAt = json.indexOf('"item_group_id":"', id)
    if (groupAt >= 0) {
      const from = groupAt + 17
      const group = json.slice(from, json.indexOf('"', from))
      this.groups.add(group)
      const item = this.#traits.trackedItem(tracked.group, group)
      if (item >= 0) items.push(item)
      if (json.startsWith(group, id + 6) && json.charCodeAt(id + 6 + group.length) === quote) bits += feature.ownGroup
    }
    const priceAt = json.indexOf('"price":"', groupAt < 0 ? id : groupAt)
    if (priceAt >= 0) {
      const end = json.indexOf('"', priceAt + 9)
      // Neighbours mostly have one currency.
      if (!json.startsWith(this.#lastCurrency, end - 3) || this.#lastCurrency === '') {
        this.#lastCurrency = json.slice(end - 3, end)
        this.#currencyBits = this.#traits.currency(this.#lastCurrency)
      }
      bits += this.#currencyBits
    }
    if ((json.includes('Ã') || json.includes('Â') || json.includes('â€')) && mojibake.test(json)) bits += feature.garbled
    return bits
  }

  #memberBits({ identifiers: packed }: MemberRecord, items: number[]): number {
    let bits: number = feature.member
    let last = 0
    for (const identifier of packed) {
      const type = identifier[0] ?? 0
      if (type !== last) {
        bits += feature.fills << (type - 1)
        last = type
      }
      const item = this.identifiers.add(identifier)
      if (item >= 0) items.push(item)
    }
    return bits
  }
}
