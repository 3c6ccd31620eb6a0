const maxValues = 1_000
const maxKeyLength = 200

/**
 * Memo of the results of a pure function, for short texts that repeat over the rows of a feed: brands, categories, prices. A lookup takes
 * longer than most of these functions, so a full memo with fewer hits than values turns itself off.
 */
export class ValueMemo<Value> {
  readonly #values = new Map<string, Value>()
  #hits = 0
  #isOff = false

  get(text: string): Value | undefined {
    if (this.#isOff || text.length > maxKeyLength) return undefined
    const value = this.#values.get(text)
    if (value !== undefined) this.#hits++
    return value
  }

  /** Stores the result for a text that `get` did not find, unless the memo is full. The text must be well-formed Unicode. */
  set(text: string, value: Value): void {
    if (this.#isOff || text.length > maxKeyLength) return
    if (this.#values.size < maxValues) {
      // Copied through UTF-8, because a substring keeps the text of its whole record in memory.
      this.#values.set(Buffer.from(text).toString(), value)
      return
    }
    if (this.#hits >= maxValues) return
    this.#isOff = true
    this.#values.clear()
  }
}
