/** Maximum number of values that a memo keeps. */
const maxValues = 1_000
/** Maximum length of a key in characters. */
const maxKeyLength = 200

/**
 * Memo of the results of a pure function. Its keys are short texts that repeat over the rows of a feed: brands, categories, prices. A
 * lookup takes longer than most of these functions. So a full memo turns itself off if it had fewer hits than it has values.
 */
export class ValueMemo<Value> {
  readonly #values = new Map<string, Value>()
  #hits = 0
  #isOff = false

  /** Returns the stored result for a text; undefined if there is none. */
  get(text: string): Value | undefined {
    if (this.#isOff || text.length > maxKeyLength) return undefined
    const value = this.#values.get(text)
    if (value !== undefined) this.#hits++
    return value
  }

  /**
   * Stores the result for a text that `get` did not find, unless the memo is full. The text must be well-formed Unicode, because the key is
   * a copy of it made through UTF-8.
   */
  set(text: string, value: Value): void {
    if (this.#isOff || text.length > maxKeyLength) return
    if (this.#values.size < maxValues) {
      // Copied, because a substring keeps the text of its whole record in memory.
      this.#values.set(Buffer.from(text).toString(), value)
      return
    }
    if (this.#hits >= maxValues) return
    this.#isOff = true
    this.#values.clear()
  }
}
