import { findColumn } from '../../mapping/fields.ts'
import type { SourceRow } from '../../model/record.ts'

/**
 * Finds those of the given columns that no row of a source has. Rows of JSON and XML omit empty cells, so the columns of one row are not
 * enough.
 */
export class UnseenColumns {
  #names: readonly string[]
  #columns: readonly string[] | undefined
  #indexes: readonly number[] = []

  constructor(names: readonly string[]) {
    this.#names = names
  }

  /** Names of the given columns for which no row has had a cell so far. */
  get names(): readonly string[] {
    return this.#names
  }

  /** Removes from `names` the columns for which this row has a cell. */
  add(row: SourceRow): void {
    if (this.#names.length === 0) return
    if (row.columns !== this.#columns) this.#findIndexes(row.columns)
    if (!this.#indexes.some((index) => row.cells[index] !== undefined)) return
    this.#names = this.#names.filter((_, place) => row.cells[this.#indexes[place] ?? -1] === undefined)
    this.#findIndexes(row.columns)
  }

  /** Stores the indexes of `names` in these columns. Rows share the array of their columns, so most rows need no new search. */
  #findIndexes(columns: readonly string[]): void {
    this.#columns = columns
    this.#indexes = this.#names.map((name) => findColumn(columns, name))
  }
}
