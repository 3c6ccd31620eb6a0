/**
 * Finds frequent values by the algorithm of Misra and Gries. Keeps every value that is more than 1/`size` of all added
 * values. Counts may be too low, never too high.
 */
export class HeavyHitters {
  readonly #size: number
  readonly #counts = new Map<string, number>()

  constructor(size: number) {
    this.#size = size
  }

  add(value: string): void {
    const count = this.#counts.get(value)
    if (count !== undefined) this.#counts.set(value, count + 1)
    else if (this.#counts.size < this.#size) this.#counts.set(value, 1)
    else this.#decrement()
  }

  /** Returns values counted more than `limit` times, most frequent first. */
  above(limit: number): [string, number][] {
    return [...this.#counts].filter(([, count]) => count > limit).sort((a, b) => b[1] - a[1])
  }

  #decrement(): void {
    for (const [value, count] of this.#counts) {
      if (count === 1) this.#counts.delete(value)
      else this.#counts.set(value, count - 1)
    }
  }
}
