import { findColumn } from '../../mapping/fields.ts'
import type { Row } from '../../model/record.ts'

/**
 * Finds the columns, among given ones, that no row of a source has. Rows of JSON and XML omit empty cells, so their header lacks a column
 * until a row has it.
 */
export class UnseenColumns {
  #names: readonly string[]
  #columns: readonly string[] | undefined
  #indexes: readonly number[] = []

  /** `names`: names of the columns to search for. */
  constructor(names: readonly string[]) {
    this.#names = names
  }

  /** Names of the given columns that no row had so far. */
  get names(): readonly string[] {
    return this.#names
  }

  /** Removes from `names` the columns for which this row has a cell. */
  add(row: Row): void {
    if (this.#names.length === 0) return
    if (row.columns !== this.#columns) this.#find(row.columns)
    if (!this.#indexes.some((index) => row.cells[index] !== undefined)) return
    this.#names = this.#names.filter((_, place) => row.cells[this.#indexes[place] ?? -1] === undefined)
    this.#find(row.columns)
  }

  /** Caches the indexes of `names` in these columns, because rows share the array of their columns. */
  #find(columns: readonly string[]): void {
    this.#columns = columns
    this.#indexes = this.#names.map((name) => findColumn(columns, name))
  }
}
