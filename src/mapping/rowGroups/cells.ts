import { findColumn, firstText } from '../fields.ts'
import type { SourceRow } from '../../model/record.ts'
import { trimText } from '../text.ts'

/** Returns the trimmed first text of a cell; `''` for a missing cell or the index -1. */
export function textAt(row: SourceRow, index: number): string {
  return trimText(firstText(row.cells[index]) ?? '')
}

/** Returns the indexes of the columns with these names, in the order of `names`, without missing ones. */
export function indexesOf(columns: readonly string[], names: readonly string[]): number[] {
  return names.map((name) => findColumn(columns, name)).filter((index) => index >= 0)
}

/** Fills the empty cells of a row at `indexes` from another row, in a copy. */
export function fillEmptyCells(row: SourceRow, other: SourceRow, indexes: readonly number[]): SourceRow {
  const fillable = indexes.filter((index) => textAt(row, index) === '' && textAt(other, index) !== '')
  if (fillable.length === 0) return row
  const cells = [...row.cells]
  for (const index of fillable) cells[index] = other.cells[index]
  return { ...row, cells }
}

/** Returns the number of characters in all cells of a row. */
export function textSize(row: SourceRow): number {
  let size = 0
  for (const cell of row.cells) {
    if (typeof cell === 'string') size += cell.length
    else for (const text of cell ?? []) size += text.length
  }
  return size
}

/** Returns the row with `count` more warnings `ROWS_JOINED`, one for each joined row without a record. */
export function withJoinWarnings(row: SourceRow, count: number): SourceRow {
  if (count === 0) return row
  const warning = { code: 'ROWS_JOINED', field: '', message: 'a row without a record of its own was joined to the rows of its product' }
  return { ...row, warnings: [...(row.warnings ?? []), ...Array.from({ length: count }, () => warning)] }
}
