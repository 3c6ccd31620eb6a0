import type { Row } from '../../model/record.ts'

/** Joiner of the row groups of one table, for one read. Buffers a bounded amount of text. Keeps the order of the rows. */
export interface RowJoiner {
  /** Takes the next row. Returns the rows that are complete now: none, this row, earlier rows, or earlier rows and this row. */
  readonly push: (row: Row) => readonly Row[]
  /** Returns the rows that are still buffered at the end of the table. */
  readonly end: () => readonly Row[]
  /** Returns messages about joined rows, and about rows that could not be joined, with their numbers. Called after `end`. */
  readonly notes: () => readonly string[]
}
