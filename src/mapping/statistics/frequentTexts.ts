/**
 * Sketch that finds frequent texts, by the algorithm of Misra and Gries. Keeps every value that makes up more than 1/`size` of all added
 * values. After n values, a count is too low by at most n / (`size` + 1). No count is too high.
 */
export class FrequentTexts {
  readonly #size: number
  readonly #counts = new Map<string, number>()

  /** `size`: maximum number of values that are kept. */
  constructor(size: number) {
    this.#size = size
  }

  add(value: string): void {
    const count = this.#counts.get(value)
    if (count !== undefined) this.#counts.set(value, count + 1)
    else if (this.#counts.size < this.#size) this.#counts.set(value, 1)
    else this.#decrement()
  }

  /** Returns the kept values with their counts. */
  entries(): [value: string, count: number][] {
    return [...this.#counts]
  }

  #decrement(): void {
    for (const [value, count] of this.#counts) {
      if (count === 1) this.#counts.delete(value)
      else this.#counts.set(value, count - 1)
    }
  }
}
