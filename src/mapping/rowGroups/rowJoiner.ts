import type { Row } from '../../model/record.ts'

/** Joiner of the rows of one table, read once. Holds back a bounded number of rows; the output keeps the order of the file. */
export interface RowJoiner {
  /** Takes a row and returns the rows that are complete now: none, the row itself, or rows that waited for it. */
  readonly push: (row: Row) => readonly Row[]
  /** Returns the rows that still wait at the end of the table. */
  readonly end: () => readonly Row[]
  /** Returns messages about rows that are not records, at the end of the table. */
  readonly notes: () => readonly string[]
}
