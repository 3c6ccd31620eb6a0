import type { Row } from '../../model/record.ts'

/** Joiner of the rows of one table, used for one read. Buffers a bounded number of rows; the output keeps the order of the file. */
export interface RowJoiner {
  /** Takes a row and returns the rows that are complete now: none, the row itself, or rows that waited for it. */
  readonly push: (row: Row) => readonly Row[]
  /** Returns the rows that still wait at the end of the table. */
  readonly end: () => readonly Row[]
  /** Returns messages about joined rows, with their numbers. Called at the end of the table. */
  readonly notes: () => readonly string[]
}
