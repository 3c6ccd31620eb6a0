/** Maximum number of values that a memo keeps, and length of its longest key. */
const mostValues = 1_000
const longestKey = 200

/**
 * Results of a pure function for short texts, which repeat over the rows of a feed: brands, categories, prices. A full memo with fewer hits
 * than values turns itself off, because a search takes longer than most functions of one short text.
 */
export class ValueMemo<Value> {
  readonly #values = new Map<string, Value>()
  #hits = 0
  #isOff = false

  /** Returns the result for a text; undefined if it is not known. */
  get(text: string): Value | undefined {
    if (this.#isOff || text.length > longestKey) return undefined
    const value = this.#values.get(text)
    if (value !== undefined) this.#hits++
    return value
  }

  /** Keeps the result for a text that `get` did not know, unless the memo is full. The text must be well-formed: a copy is its key. */
  set(text: string, value: Value): void {
    if (this.#isOff || text.length > longestKey) return
    if (this.#values.size < mostValues) {
      // Copied, because a substring keeps the text of its whole record in memory.
      this.#values.set(Buffer.from(text).toString(), value)
      return
    }
    if (this.#hits >= mostValues) return
    this.#isOff = true
    this.#values.clear()
  }
}
