import type { RecordCode } from '../mapping/rejectCodes.ts'
import { fileError } from './fileError.ts'
import type { ReadLimits } from './limits.ts'

/** Reject codes of rows that the readers of formats reject. */
export type RowFaultCode = Extract<RecordCode, `ROW_${string}` | 'HEADER_REPEATED' | 'TEXT_BROKEN'>

/**
 * Counts all rows of a file, and the rows that cannot be read (faulty rows). If the share of faulty rows is over `faultyShare`, the file is
 * rejected (docs/inputs.md, cases 20 and 46). In files below `shareFromRows` rows, only the faulty rows are rejected.
 */
export class RowCounts {
  readonly #name: string
  readonly #limits: ReadLimits
  #rows = 0
  #faults = 0
  #firstFaultLine = 0

  constructor(name: string, limits: ReadLimits) {
    this.#name = name
    this.#limits = limits
  }

  get rowCount(): number {
    return this.#rows
  }

  get faultCount(): number {
    return this.#faults
  }

  countRow(): void {
    this.#rows++
  }

  /** Counts a fault of a row that `countRow` has counted. `line`: first line of the row. */
  countFault(line: number): void {
    if (this.#faults === 0) this.#firstFaultLine = line
    this.#faults++
  }

  /** Rejects the file if its share of faulty rows is too large. @throws RunError FILE_FAULTY_ROWS */
  rejectIfTooManyFaults(hint: string): void {
    if (this.#rows < this.#limits.shareFromRows || this.#faults <= this.#rows * this.#limits.faultyShare) return
    throw fileError('FILE_FAULTY_ROWS', `${this.#faults} of ${this.#rows} rows cannot be read`, {
      name: this.#name,
      at: `first on line ${this.#firstFaultLine}`,
      hint,
    })
  }
}
