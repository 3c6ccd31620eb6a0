import { FrequentDigests } from './frequentDigests.ts'
import { FrequentTexts } from './frequentTexts.ts'
import type { MappedRecord, MemberRecord, ProductRecord } from '../../model/record.ts'
import { featureBits, exactCodes, type FeatureSets } from './featureSets.ts'

const quote = 34
const backslash = 92
const sketchSize = 2048
/** Matches UTF-8 that was read as windows-1252 or Latin-1: `Ã¼`, `â€™`. */
const mojibake = /Ã[\u0080-\u00bf©«¶¼]|Â[\u00a0-\u00bf]|â€[™œ\u009d\u0153"“]/

/** Computes the feature bits of the mapped records of one source, and finds their frequent item groups and identifiers. */
export class RecordFeatures {
  readonly #featureSets: FeatureSets
  /** Item groups, as JSON text without quotes. */
  readonly groups = new FrequentTexts(sketchSize)
  readonly identifiers = new FrequentDigests(sketchSize)
  /** First brand of the source as JSON, `"brand":"Acme"`; `''` before it is found. */
  firstBrandField: string
  /** First item group of the source, as JSON text without quotes; `''` before it is found. */
  firstGroup: string
  #lastCurrency = ''
  #currencyBits = 0

  /** `lastRead`: first brand and item group of the last read. A gated read compares its rows with them too. Empty texts in a full read. */
  constructor(featureSets: FeatureSets, lastRead: { readonly firstBrandField: string; readonly firstGroup: string }) {
    this.#featureSets = featureSets
    this.firstBrandField = lastRead.firstBrandField
    this.firstGroup = lastRead.firstGroup
    for (const name of featureSets.exactValues(exactCodes.identifier))
      this.identifiers.watch(name, featureSets.exactItemNumber(exactCodes.identifier, name))
  }

  /**
   * Counts the item group and identifiers of a record, and returns its feature bits. Appends the item numbers of exactly counted values to
   * `items`.
   */
  addRecord(record: MappedRecord, items: number[]): number {
    return record.kind === 'product' ? this.#addProduct(record, items) : this.#addMember(record, items)
  }

  // The fields of the JSON are in byte order, so each search can begin at a field that was found before. The numbers are the lengths of the
  // searched texts: 16 for `"availability":"`.
  #addProduct({ json }: ProductRecord, items: number[]): number {
    let bits: number = featureBits.product
    const availabilityAt = json.indexOf('"availability":"')
    if (json.startsWith('out of stock"', availabilityAt + 16)) bits += featureBits.outOfStock
    // No field of a product comes between `availability` and `brand`.
    const brandAt = json.indexOf('"', availabilityAt + 16) + 2
    if (this.firstBrandField === '' && json.startsWith('"brand":"', brandAt))
      this.firstBrandField = json.slice(brandAt, endOfText(json, brandAt + 9) + 1)
    if (this.firstBrandField === '' || !json.startsWith(this.firstBrandField, brandAt)) bits += featureBits.otherBrand
    const idAt = json.indexOf('"id":"', availabilityAt)
    const groupAt = json.indexOf('"item_group_id":"', idAt)
    if (groupAt >= 0) {
      const from = groupAt + 17
      const group = json.slice(from, endOfText(json, from))
      this.groups.add(group)
      if (this.firstGroup === '') this.firstGroup = group
      if (this.firstGroup !== group) bits += featureBits.otherGroup
      const item = this.#featureSets.exactItemNumber(exactCodes.group, group)
      if (item >= 0) items.push(item)
      if (json.startsWith(group, idAt + 6) && json.charCodeAt(idAt + 6 + group.length) === quote) bits += featureBits.ownGroup
    } else bits += featureBits.otherGroup
    const priceAt = json.indexOf('"price":"', groupAt < 0 ? idAt : groupAt)
    if (priceAt >= 0) {
      const end = json.indexOf('"', priceAt + 9)
      // Most products have the currency of the product before.
      if (!json.startsWith(this.#lastCurrency, end - 3) || this.#lastCurrency === '') {
        this.#lastCurrency = json.slice(end - 3, end)
        this.#currencyBits = this.#featureSets.addCurrency(this.#lastCurrency)
      }
      bits += this.#currencyBits
    }
    if ((json.includes('Ã') || json.includes('Â') || json.includes('â€')) && mojibake.test(json)) bits += featureBits.garbled
    return bits
  }

  #addMember({ identifiers: packed }: MemberRecord, items: number[]): number {
    let bits: number = featureBits.member
    let lastType = 0
    for (const identifier of packed) {
      const type = identifier[0] ?? 0
      if (type !== lastType) {
        // The identifiers are sorted by type, so no bit is added twice.
        bits += featureBits.firstIdentifierType << (type - 1)
        lastType = type
      }
      const item = this.identifiers.add(identifier)
      if (item >= 0) items.push(item)
    }
    return bits
  }
}

/** Returns the position of the quote that ends the JSON text at `from`. A quote after an odd number of backslashes is part of the text. */
function endOfText(json: string, from: number): number {
  for (let end = json.indexOf('"', from); ; end = json.indexOf('"', end + 1)) {
    let slashes = 0
    while (json.charCodeAt(end - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return end
  }
}
