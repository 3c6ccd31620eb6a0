import type { RecordCode } from '../mapping/rejectCodes.ts'
import { fileError } from './fileError.ts'
import type { ReadLimits } from './limits.ts'

/** Reject codes of rows that the readers of formats reject. */
export type RowFaultCode = Extract<RecordCode, `ROW_${string}` | 'HEADER_REPEATED' | 'TEXT_BROKEN'>

/**
 * Counts the rows of a file, and the rows that cannot be read. If the share of these is over `faultyShare`, the whole file is rejected
 * (docs/inputs.md, cases 20 and 46). In files below `shareFromRows` rows, only the faulty rows are rejected.
 */
export class FaultyRows {
  readonly #name: string
  readonly #limits: ReadLimits
  #faulty = 0
  #firstLine = 0
  #rows = 0

  constructor(name: string, limits: ReadLimits) {
    this.#name = name
    this.#limits = limits
  }

  /** Number of all rows so far. */
  get rows(): number {
    return this.#rows
  }

  /** Counts a row, which may be faulty. */
  count(): void {
    this.#rows++
  }

  /** Counts a row as faulty, which `count` has counted already. `line`: first line of the row. */
  add(line: number): void {
    if (this.#faulty === 0) this.#firstLine = line
    this.#faulty++
  }

  /** Rejects the file if its share of faulty rows is too large. @throws RunError FILE_FAULTY_ROWS */
  rejectIfTooMany(hint: string): void {
    if (this.#rows < this.#limits.shareFromRows || this.#faulty <= this.#rows * this.#limits.faultyShare) return
    throw fileError('FILE_FAULTY_ROWS', `${this.#faulty} of ${this.#rows} rows cannot be read`, {
      name: this.#name,
      at: `first on line ${this.#firstLine}`,
      hint,
    })
  }
}
