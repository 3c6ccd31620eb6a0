/** Reads and fills the cells of rows in row groups. */
import { findColumn, firstText } from '../fields.ts'
import type { Row } from '../../model/record.ts'
import { trimText } from '../text.ts'

/** Returns the text of a cell, trimmed; the first one of several. Returns `''` for a missing cell and for the index -1. */
export function textAt(row: Row, index: number): string {
  return trimText(firstText(row.cells[index]) ?? '')
}

/** Returns the indexes of the columns with these names, in the order of `names`. Leaves out names that no column has. */
export function indexesOf(columns: readonly string[], names: readonly string[]): number[] {
  return names.map((name) => findColumn(columns, name)).filter((index) => index >= 0)
}

/** Fills the empty cells of a row at `indexes` from another row, in a copy. If no cell can be filled, returns the row itself. */
export function filledFrom(row: Row, other: Row, indexes: readonly number[]): Row {
  const fillable = indexes.filter((index) => textAt(row, index) === '' && textAt(other, index) !== '')
  if (fillable.length === 0) return row
  const cells = [...row.cells]
  for (const index of fillable) cells[index] = other.cells[index]
  return { ...row, cells }
}

/** Returns the number of characters in all cells of a row, as a measure of its memory. */
export function textSize(row: Row): number {
  let size = 0
  for (const cell of row.cells) {
    if (typeof cell === 'string') size += cell.length
    else for (const text of cell ?? []) size += text.length
  }
  return size
}

/** Returns the row with `count` more warnings `ROWS_JOINED`: one for each joined row that has no record of its own. */
export function withJoinWarnings(row: Row, count: number): Row {
  if (count === 0) return row
  const warning = { code: 'ROWS_JOINED', field: '', message: 'a row without a record of its own was joined to the rows of its product' }
  return { ...row, warnings: [...(row.warnings ?? []), ...Array.from({ length: count }, () => warning)] }
}
