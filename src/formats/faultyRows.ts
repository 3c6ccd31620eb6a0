import { fileError } from './fileError.ts'
import type { ReadLimits } from './limits.ts'

/**
 * Counts rows that cannot be read. If their share is over `faultyShare`, the whole file is rejected (docs/inputs.md, cases 20 and 46).
 * In files below `shareFromRows` rows, only the faulty rows are rejected.
 */
export class FaultyRows {
  readonly #name: string
  readonly #limits: ReadLimits
  #faulty = 0
  #firstLine = 0
  /** Number of all rows, which the reader counts. */
  rows = 0

  constructor(name: string, limits: ReadLimits) {
    this.#name = name
    this.#limits = limits
  }

  /** Counts a faulty row. */
  add(line: number): void {
    if (this.#faulty === 0) this.#firstLine = line
    this.#faulty++
  }

  /** @throws RunError FILE_FAULTY_ROWS */
  rejectIfTooMany(hint: string): void {
    if (this.rows < this.#limits.shareFromRows || this.#faulty <= this.rows * this.#limits.faultyShare) return
    throw fileError('FILE_FAULTY_ROWS', `${this.#faulty} of ${this.rows} rows cannot be read`, {
      name: this.#name,
      at: `first on line ${this.#firstLine}`,
      hint,
    })
  }
}
