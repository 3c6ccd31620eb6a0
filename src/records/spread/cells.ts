import { findColumn, firstText } from '../fields.ts'
import type { Row } from '../record.ts'
import { trimText } from '../text.ts'

/** Trimmed; `''` for a column that is not there. */
export function textAt(row: Row, index: number): string {
  return trimText(firstText(row.cells[index]) ?? '')
}

/** Positions of those of the names that the table has. */
export function positions(columns: readonly string[], names: readonly string[]): number[] {
  return names.map((name) => findColumn(columns, name)).filter((index) => index >= 0)
}

/** The row with its blank cells at `indexes` filled from another one; the same where none is blank. */
export function filledFrom(row: Row, other: Row, indexes: readonly number[]): Row {
  const blank = indexes.filter((index) => textAt(row, index) === '' && textAt(other, index) !== '')
  if (blank.length === 0) return row
  const cells = [...row.cells]
  for (const index of blank) cells[index] = other.cells[index]
  return { ...row, cells }
}

/** Characters that a row keeps in memory: cells are pieces of their record's one text. */
export function textSize(row: Row): number {
  let size = 0
  for (const cell of row.cells) {
    if (typeof cell === 'string') size += cell.length
    else for (const text of cell ?? []) size += text.length
  }
  return size
}

/** The row, which says that so many rows of the table are none of their own but went into it. */
export function joinedInto(row: Row, count: number): Row {
  if (count === 0) return row
  const mend = { code: 'ROWS_JOINED', field: '', message: 'another row of the table goes on with its product and was read with it' }
  return { ...row, mends: [...(row.mends ?? []), ...Array.from({ length: count }, () => mend)] }
}
