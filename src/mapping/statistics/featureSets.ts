/**
 * Row statistics: the warnings, identifier types, currency and other features of each row. Rows have few different combinations of
 * features. Each combination is a feature set with a number, which is stored with the digest of the raw record. So an unchanged row is
 * counted without being mapped again.
 */
import type { Warning } from '../../model/record.ts'
import { maxWarningLines } from '../../model/report.ts'
import { storableText } from '../../storableText.ts'

/** Feature bits of a row. `bits / currencyFactor`, rounded down, is the number of its currency from 1 on; 0 for none. */
export const featureBits = {
  product: 1,
  outOfStock: 2,
  /** A text of the product looks wrongly decoded. */
  garbled: 4,
  /** The item_group_id is the product's own id. */
  ownGroup: 8,
  /** The brand is missing, or differs from the first brand of the source. */
  otherBrand: 16,
  member: 32,
  /** An identifier was dropped: it is in the column of another type. */
  misplaced: 64,
  /** The row has an identifier of the first of `identifierTypes`. The next five bits are for the other types. */
  firstIdentifierType: 128,
  /** The item group is missing, or differs from the first item group of the source. */
  otherGroup: 8192,
} as const
const currencyFactor = 2 ** 14

/**
 * Item of a feature set.
 * - A warning: its `code` and `field`, and its first `message`.
 * - An exactly counted value: `code` is one of `exactCodes`, `field` is the value, and `message` is empty.
 */
export interface CountedItem {
  readonly code: string
  readonly field: string
  readonly message: string
}

/** Codes of items that are exactly counted values: item groups and identifiers on many rows. */
export const exactCodes = { group: '#group', identifier: '#identifier' } as const

/** A set without items: `[null, its feature bits]`. Any other set: `[the set that it extends, the added item]`. */
type FeatureSet = readonly [shorter: number | null, bitsOrItem: number]

export interface StoredFeatureSets {
  readonly items: readonly (readonly [code: string, field: string, message: string])[]
  readonly sets: readonly FeatureSet[]
  readonly currencies: readonly string[]
}

/** Maximum number of items. Beyond it, a warning with a new code and field is not counted, and a new value is not counted exactly. */
const maxItems = 700
/**
 * Maximum number of sets. Beyond it, a row with items gets no new set. The row is counted in one set for its bits and one for each item,
 * and stored as `unknownSet`. Set numbers are stored in two bytes.
 */
const maxSets = 30_000
/** Maximum number of currencies. Further ones are not counted. */
const maxCurrencies = 200

/** Stored in place of a set number, for a row whose feature set got none. */
export const unknownSet = 32_767

/** Numbers the feature sets. Stored sets keep their numbers. */
export class FeatureSets {
  readonly #items: CountedItem[] = []
  /** Code of an item → its field → its number. */
  readonly #itemNumbers = new Map<string, Map<string, number>>()
  readonly #sets: FeatureSet[] = []
  /** Feature bits → number of the set with these bits and without items. */
  readonly #setsWithoutItems = new Map<number, number>()
  /** `set * maxItems + item` → number of the set with that item added. */
  readonly #extendedSets = new Map<number, number>()
  readonly #currencies: string[] = []
  /** Bits of the last row, and the set with these bits and without items. Most rows have the bits of the row before. */
  #lastBits = -1
  #lastSetWithoutItems = -1

  /** `stored`: sets of the last read; undefined in a full read. */
  constructor(stored?: StoredFeatureSets) {
    if (stored === undefined) return
    for (const [code, field, message] of stored.items) this.addItem(code, field, message)
    this.#currencies.push(...stored.currencies)
    for (const [shorter, added] of stored.sets) {
      if (shorter === null) this.#setsWithoutItems.set(added, this.#sets.length)
      else this.#extendedSets.set(shorter * maxItems + added, this.#sets.length)
      this.#sets.push([shorter, added])
    }
  }

  /** Returns the number of an item, new or not; -1 for one beyond `maxItems`. */
  addItem(code: string, field: string, message: string): number {
    let fields = this.#itemNumbers.get(code)
    if (fields === undefined) this.#itemNumbers.set(code, (fields = new Map()))
    const existing = fields.get(field)
    if (existing !== undefined) return existing
    if (this.#items.length === maxItems) return -1
    fields.set(field, this.#items.length)
    // The message may contain a value of the row that was cut within a surrogate pair.
    return this.#items.push({ code, field, message: storableText(message) }) - 1
  }

  /** Returns the item number of an exactly counted value; -1 for any other value. */
  exactItemNumber(code: (typeof exactCodes)[keyof typeof exactCodes], value: string): number {
    return this.#itemNumbers.get(code)?.get(value) ?? -1
  }

  exactValues(code: (typeof exactCodes)[keyof typeof exactCodes]): readonly string[] {
    return [...(this.#itemNumbers.get(code)?.keys() ?? [])]
  }

  /** Returns the bits of a currency, new or not; 0 for one beyond `maxCurrencies`. */
  addCurrency(name: string): number {
    let at = this.#currencies.indexOf(name)
    if (at === -1 && this.#currencies.length < maxCurrencies) at = this.#currencies.push(name) - 1
    return (at + 1) * currencyFactor
  }

  /**
   * Adds the set of a row if it is new. Returns the set's number, and calls `count` with it. If there are too many sets, returns
   * `unknownSet`. In that case, calls `count` with several sets: one has only the bits, each of the others one item.
   */
  addRow(bits: number, items: readonly number[], count: (set: number) => void): number {
    const setWithoutItems = bits === this.#lastBits ? this.#lastSetWithoutItems : this.#setWithoutItems(bits)
    this.#lastBits = bits
    this.#lastSetWithoutItems = setWithoutItems
    if (items.length === 0) {
      count(setWithoutItems)
      return setWithoutItems < unknownSet ? setWithoutItems : unknownSet
    }
    let set = setWithoutItems
    for (const item of items) {
      const next = this.#extendedSets.get(set * maxItems + item) ?? this.#extend(set, item)
      if (next === undefined) {
        count(setWithoutItems)
        const emptySet = this.#setWithoutItems(0)
        // At most one set for each item, so these add few sets.
        for (const each of new Set(items)) count(this.#extendedSets.get(emptySet * maxItems + each) ?? this.#add(emptySet, each))
        return unknownSet
      }
      set = next
    }
    count(set)
    return set
  }

  /** Returns the bits (without those of the currency), the currency and the items of a set. */
  describe(set: number): { readonly bits: number; readonly currency: string | undefined; readonly items: readonly CountedItem[] } {
    const items: CountedItem[] = []
    let rest: number | null = set
    let bits = 0
    while (rest !== null) {
      // `addRow` returned this number, so the set exists.
      const [shorter, added]: FeatureSet = this.#sets[rest] as FeatureSet
      if (shorter === null) bits = added
      else items.push(this.#items[added] as CountedItem)
      rest = shorter
    }
    return { bits: bits % currencyFactor, currency: this.#currencies[Math.floor(bits / currencyFactor) - 1], items }
  }

  stored(): StoredFeatureSets {
    return {
      items: this.#items.map(({ code, field, message }) => [code, field, message]),
      sets: this.#sets,
      currencies: this.#currencies,
    }
  }

  /** Returns the number of the set with these bits and without items, new or not. */
  #setWithoutItems(bits: number): number {
    const existing = this.#setsWithoutItems.get(bits)
    if (existing !== undefined) return existing
    // Not limited, because few combinations of bits and currencies occur.
    this.#setsWithoutItems.set(bits, this.#sets.length)
    return this.#sets.push([null, bits]) - 1
  }

  /** Adds a set with one more item, and returns its number; undefined if there are too many sets. */
  #extend(set: number, item: number): number | undefined {
    return this.#sets.length >= maxSets ? undefined : this.#add(set, item)
  }

  #add(set: number, item: number): number {
    this.#extendedSets.set(set * maxItems + item, this.#sets.length)
    return this.#sets.push([set, item]) - 1
  }
}

/** Counts rows by their feature set, and keeps the first lines of each set. */
export class FeatureSetCounts {
  #counts = new Uint32Array(64)
  #lines = new Float64Array(64 * maxWarningLines)
  #unknownCount = 0

  add(set: number, line: number): void {
    const previousCount = this.#counts[set]
    // Tested first, because it is true for nearly every row of a large source.
    if (previousCount !== undefined && previousCount >= maxWarningLines) this.#counts[set] = previousCount + 1
    else if (set === unknownSet) this.#unknownCount++
    else this.#addFirst(set, line)
  }

  /** Number of all rows. Too high if a row was counted in several sets (`FeatureSets.addRow`). */
  get rowCount(): number {
    return this.#counts.reduce((sum, count) => sum + count, this.#unknownCount)
  }

  get unknownCount(): number {
    return this.#unknownCount
  }

  countOf(set: number): number {
    return this.#counts[set] ?? 0
  }

  /** Returns the first lines with this set, at most `maxWarningLines`, in the order of the source. */
  linesOf(set: number): readonly number[] {
    return [...this.#lines.subarray(set * maxWarningLines, set * maxWarningLines + Math.min(this.countOf(set), maxWarningLines))]
  }

  /** Yields every set with at least one row. */
  *sets(): Generator<number> {
    for (let set = 0; set < this.#counts.length; set++) if (this.#counts[set] !== 0) yield set
  }

  #addFirst(set: number, line: number): void {
    if (set >= this.#counts.length) this.#grow(set)
    const previousCount = this.#counts[set] as number // `#grow` makes room for it
    this.#lines[set * maxWarningLines + previousCount] = line
    this.#counts[set] = previousCount + 1
  }

  #grow(set: number): void {
    let size = this.#counts.length
    while (size <= set) size *= 2
    const [counts, lines] = [new Uint32Array(size), new Float64Array(size * maxWarningLines)]
    counts.set(this.#counts)
    lines.set(this.#lines)
    this.#counts = counts
    this.#lines = lines
  }
}

/** Adds the warnings of a row as items. Returns the item numbers, without those beyond `maxItems`. */
export function addWarningItems(sets: FeatureSets, warnings: readonly Warning[]): number[] {
  const items: number[] = []
  for (const { code, field, message } of warnings) {
    const item = sets.addItem(code, field, message)
    if (item >= 0) items.push(item)
  }
  return items
}
