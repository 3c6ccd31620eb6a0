/**
 * What a row adds to the notes and figures of its source besides its record: what is warned of in it, what it fills, its
 * currency, the item group it is one of. Few sets of such traits cover all rows of a file, so each set has a number, which
 * is kept with the digest of the raw record: of a row that a later reading knows by its bytes nothing else has to be
 * looked at.
 */
import type { Warning } from './record.ts'

/** Bits of a set that says nothing of warnings. The number of the currency stands above them. */
export const feature = {
  product: 1,
  outOfStock: 2,
  garbled: 4,
  /** Its item_group_id is its own id. */
  ownGroup: 8,
  /** Not of the brand that the source began with, or of none. */
  otherBrand: 16,
  member: 32,
  /** An identifier was left out that would be right in another column. */
  misplaced: 64,
  /** Has an identifier of the first kind; the others are the bits above. */
  fills: 128,
} as const
const currencyFactor = 2 ** 14

/** What was counted under one code and field, with the first message; a value that is counted apart has one of `tracked`. */
export interface TraitItem {
  readonly code: string
  readonly field: string
  readonly message: string
}

/** Codes of items that are no warnings: an item group, an identifier, each on many rows. */
export const tracked = { group: '#group', identifier: '#identifier' } as const

/** A set is another one with an item more, or bare bits (`of` null). */
type TraitSet = readonly [of: number | null, more: number]

/** JSON. */
export interface StoredTraits {
  readonly items: readonly (readonly [code: string, field: string, message: string])[]
  readonly sets: readonly TraitSet[]
  readonly currencies: readonly string[]
}

/** Warnings differ by code and field; a feed that has more of them than this is told so by those it has. */
const mostItems = 700
/** Sets are two bytes with the digest, signed. Above this, a row is counted by its parts, and its own set is not known. */
const mostSets = 30_000
const mostCurrencies = 200

/** Of a row whose set was one too many. */
export const unknownSet = 32_767

/** Numbers sets of traits, in the order they turn up; those of a stored book stay as they were. */
export class TraitBook {
  readonly #items: TraitItem[] = []
  readonly #itemAt = new Map<string, Map<string, number>>()
  readonly #sets: TraitSet[] = []
  readonly #bare = new Map<number, number>()
  readonly #longer = new Map<number, number>()
  readonly #currencies: string[] = []
  #lastBits = -1
  #lastSet = -1

  constructor(stored?: StoredTraits) {
    if (stored === undefined) return
    for (const [code, field, message] of stored.items) this.item(code, field, message)
    this.#currencies.push(...stored.currencies)
    for (const [of, more] of stored.sets) {
      if (of === null) this.#bare.set(more, this.#sets.length)
      else this.#longer.set(of * mostItems + more, this.#sets.length)
      this.#sets.push([of, more])
    }
  }

  /** Number of an item, or -1 where there are too many. */
  item(code: string, field: string, message: string): number {
    let fields = this.#itemAt.get(code)
    if (fields === undefined) this.#itemAt.set(code, (fields = new Map()))
    const known = fields.get(field)
    if (known !== undefined) return known
    if (this.#items.length === mostItems) return -1
    fields.set(field, this.#items.length)
    return this.#items.push({ code, field, message }) - 1
  }

  /** Of what is counted apart; -1 where it is not. */
  trackedItem(code: (typeof tracked)[keyof typeof tracked], value: string): number {
    return this.#itemAt.get(code)?.get(value) ?? -1
  }

  /** The values of a kind that are counted apart. */
  trackedValues(code: (typeof tracked)[keyof typeof tracked]): readonly string[] {
    return [...(this.#itemAt.get(code)?.keys() ?? [])]
  }

  /** Bits of a currency; none where there are too many. */
  currency(name: string): number {
    let at = this.#currencies.indexOf(name)
    if (at === -1 && this.#currencies.length < mostCurrencies) at = this.#currencies.push(name) - 1
    return (at + 1) * currencyFactor
  }

  /**
   * Number of a row's set, told to `count`, by which it must be counted: once, or by its parts where there are too many sets;
   * then `unknownSet`.
   */
  setOf(bits: number, items: readonly number[], count: (set: number) => void): number {
    const bare = bits === this.#lastBits ? this.#lastSet : this.#bareSet(bits)
    this.#lastBits = bits
    this.#lastSet = bare
    if (items.length === 0) {
      count(bare)
      return bare < unknownSet ? bare : unknownSet
    }
    let set = bare
    for (const item of items) {
      const next = this.#longer.get(set * mostItems + item) ?? this.#lengthen(set, item)
      if (next === undefined) {
        count(bare)
        const nothing = this.#bareSet(0)
        // As many as there are items at the most: there is room for them.
        for (const each of items) count(this.#longer.get(nothing * mostItems + each) ?? this.#add(nothing, each))
        return unknownSet
      }
      set = next
    }
    count(set)
    return set
  }

  /** What a set stands for. */
  describe(set: number): { readonly bits: number; readonly currency: string | undefined; readonly items: readonly TraitItem[] } {
    const items: TraitItem[] = []
    let at: number | null = set
    let bits = 0
    while (at !== null) {
      // Every number comes from this book.
      const [of, more]: TraitSet = this.#sets[at] as TraitSet
      if (of === null) bits = more
      else items.push(this.#items[more] as TraitItem)
      at = of
    }
    return { bits: bits % currencyFactor, currency: this.#currencies[Math.floor(bits / currencyFactor) - 1], items }
  }

  stored(): StoredTraits {
    return {
      items: this.#items.map(({ code, field, message }) => [code, field, message]),
      sets: this.#sets,
      currencies: this.#currencies,
    }
  }

  #bareSet(bits: number): number {
    const known = this.#bare.get(bits)
    if (known !== undefined) return known
    // Bits and currencies have a few thousand combinations at the most; those that occur are a handful.
    this.#bare.set(bits, this.#sets.length)
    return this.#sets.push([null, bits]) - 1
  }

  #lengthen(set: number, item: number): number | undefined {
    return this.#sets.length >= mostSets ? undefined : this.#add(set, item)
  }

  #add(set: number, item: number): number {
    this.#longer.set(set * mostItems + item, this.#sets.length)
    return this.#sets.push([set, item]) - 1
  }
}

/** First lines of a kind that are told. */
export const linesKept = 5

/** Rows by the number of their set: how many, and the lines of the first. */
export class TraitCounts {
  #counts = new Uint32Array(64)
  #lines = new Float64Array(64 * linesKept)
  #unknown = 0

  add(set: number, line: number): void {
    const before = this.#counts[set]
    // Of a million known rows nearly all end here.
    if (before !== undefined && before >= linesKept) this.#counts[set] = before + 1
    else if (set === unknownSet) this.#unknown++
    else this.#addFirst(set, line)
  }

  /** Of all sets together. */
  get rows(): number {
    return this.#counts.reduce((sum, count) => sum + count, this.#unknown)
  }

  /** Rows of which nothing can be told. */
  get unknown(): number {
    return this.#unknown
  }

  of(set: number): number {
    return this.#counts[set] ?? 0
  }

  /** In the order of the source. */
  linesOf(set: number): readonly number[] {
    return [...this.#lines.subarray(set * linesKept, set * linesKept + Math.min(this.of(set), linesKept))]
  }

  /** All sets with a row. */
  *sets(): Generator<number> {
    for (let set = 0; set < this.#counts.length; set++) if (this.#counts[set] !== 0) yield set
  }

  #addFirst(set: number, line: number): void {
    if (set >= this.#counts.length) this.#grow(set)
    const before = this.#counts[set] as number // grown to hold it
    this.#lines[set * linesKept + before] = line
    this.#counts[set] = before + 1
  }

  #grow(set: number): void {
    let size = this.#counts.length
    while (size <= set) size *= 2
    const [counts, lines] = [new Uint32Array(size), new Float64Array(size * linesKept)]
    counts.set(this.#counts)
    lines.set(this.#lines)
    this.#counts = counts
    this.#lines = lines
  }
}

/** The items of a row's warnings; those that are too many are left out. */
export function itemsOf(book: TraitBook, warnings: readonly Warning[]): number[] {
  const items: number[] = []
  for (const { code, field, message } of warnings) {
    const item = book.item(code, field, message)
    if (item >= 0) items.push(item)
  }
  return items
}
