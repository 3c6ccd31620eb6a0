import { typeByte } from '../identifiers/packIdentifier.ts'
import { identifierBytes, type PackedIdentifier } from '../../model/record.ts'

/**
 * Sketch that finds packed identifiers on many rows, by the algorithm of Misra and Gries. Keeps every value that makes up more than
 * 1/`size` of all added values. After n values, a count is too low by at most n / (`size` + 1). It is too high only if two identifiers have
 * the same 64 bits. Uses flat arrays, because a Map would allocate a string for every identifier of every row.
 */
export class FrequentDigests {
  readonly #size: number
  readonly #mask: number
  /** Slot → 64 bits of an identifier, high half first. A slot with a count of 0 is free. */
  #words: Uint32Array
  #counts: Uint32Array
  /** Arrays that the next `#decrement` fills and swaps with those in use. */
  #otherWords: Uint32Array
  #otherCounts: Uint32Array
  #keptCount = 0
  /** Low half of a value → the watched values with this half. */
  readonly #watched = new Map<number, { readonly high: number; readonly item: number }[]>()

  /** `size`: maximum number of values that are kept; a power of two. */
  constructor(size: number) {
    this.#size = size
    this.#mask = size * 2 - 1
    this.#words = new Uint32Array(size * 4)
    this.#counts = new Uint32Array(size * 2)
    this.#otherWords = new Uint32Array(size * 4)
    this.#otherCounts = new Uint32Array(size * 2)
  }

  /** Makes `add` return `item`, an item number of `FeatureSets`, for a value from now on. `hex`: the value, as in `entries()`. */
  watch(hex: string, item: number): void {
    const low = Number.parseInt(hex.slice(8), 16)
    const others = this.#watched.get(low) ?? []
    this.#watched.set(low, [...others, { high: Number.parseInt(hex.slice(0, 8), 16), item }])
  }

  /** Counts an identifier. Returns its item if it is watched, else -1. */
  add(identifier: PackedIdentifier): number {
    const length = identifier.length
    const type = identifier[0] ?? 0
    let high: number
    let low: number
    // Eight bytes of a digest and its type are enough. A `partner_user_id` is not a digest, so it is hashed.
    if (type !== typeByte.partner_user_id && length === identifierBytes) {
      high =
        Math.imul(type, 0x9e3779b1) ^
        ((identifier[1] ?? 0) | ((identifier[2] ?? 0) << 8) | ((identifier[3] ?? 0) << 16) | ((identifier[4] ?? 0) << 24))
      low = (identifier[5] ?? 0) | ((identifier[6] ?? 0) << 8) | ((identifier[7] ?? 0) << 16) | ((identifier[8] ?? 0) << 24)
    } else {
      high = type
      low = 0x811c9dc5
      for (let i = 1; i < length; i++) {
        low = Math.imul(low ^ (identifier[i] ?? 0), 0x01000193)
        high = Math.imul(high ^ (identifier[i] ?? 0), 0x5bd1e995) ^ (high >>> 15)
      }
    }
    high >>>= 0
    low >>>= 0
    this.#count(high, low)
    if (this.#watched.size === 0) return -1
    return this.#watched.get(low)?.find((watched) => watched.high === high)?.item ?? -1
  }

  /** Returns the kept values in 16 hex digits, with their counts. */
  entries(): [hex: string, count: number][] {
    const entries: [string, number][] = []
    for (const [slot, count] of this.#counts.entries()) {
      if (count === 0) continue
      const [high = 0, low = 0] = this.#words.subarray(slot * 2, slot * 2 + 2)
      entries.push([high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0'), count])
    }
    return entries
  }

  #count(high: number, low: number): void {
    let slot = (high ^ low) & this.#mask
    for (; this.#counts[slot] !== 0; slot = (slot + 1) & this.#mask) {
      if (this.#words[slot * 2] !== high || this.#words[slot * 2 + 1] !== low) continue
      this.#counts[slot] = (this.#counts[slot] ?? 0) + 1
      return
    }
    if (this.#keptCount < this.#size) this.#put(slot, high, low, 1)
    else this.#decrement()
  }

  #put(slot: number, high: number, low: number, count: number): void {
    this.#words[slot * 2] = high
    this.#words[slot * 2 + 1] = low
    this.#counts[slot] = count
    this.#keptCount++
  }

  /** Subtracts 1 from every count, and drops the values whose count is then 0. */
  #decrement(): void {
    const words = this.#words
    const counts = this.#counts
    this.#words = this.#otherWords
    this.#counts = this.#otherCounts.fill(0)
    this.#otherWords = words
    this.#otherCounts = counts
    this.#keptCount = 0
    for (let old = 0; old < counts.length; old++) {
      const count = counts[old] ?? 0
      if (count <= 1) continue
      const high = words[old * 2] ?? 0
      const low = words[old * 2 + 1] ?? 0
      let slot = (high ^ low) & this.#mask
      while (this.#counts[slot] !== 0) slot = (slot + 1) & this.#mask
      this.#put(slot, high, low, count - 1)
    }
  }
}
