/** Maximum number of values that a memo keeps. */
const mostValues = 1_000
/** Maximum length of a key in characters. */
const longestKey = 200

/**
 * Results of a pure function of short texts that repeat over the rows of a feed: brands, categories, prices. A lookup takes longer than
 * most of these functions. So a full memo turns itself off if it had fewer hits than it has values.
 */
export class ValueMemo<Value> {
  readonly #values = new Map<string, Value>()
  #hits = 0
  #isOff = false

  /** Returns the result for a text; undefined if the memo does not have it. */
  get(text: string): Value | undefined {
    if (this.#isOff || text.length > longestKey) return undefined
    const value = this.#values.get(text)
    if (value !== undefined) this.#hits++
    return value
  }

  /**
   * Keeps the result for a text that `get` did not find, if the memo is not full. The text must be well-formed Unicode, because its key is
   * a copy made through UTF-8.
   */
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
