import type { Row } from '../../model/record.ts'

/** Joiner of the rows of one table, used for one read. Buffers a bounded amount of text. Returns the rows in the order of the file. */
export interface RowJoiner {
  /** Takes the next row. Returns the rows that are complete now: none, this row, earlier rows, or earlier rows and this row. */
  readonly push: (row: Row) => readonly Row[]
  /** Returns the rows that are still buffered at the end of the table. */
  readonly end: () => readonly Row[]
  /** Returns messages with the counts of joined rows, and of rows that could not be joined. Called at the end of the table. */
  readonly notes: () => readonly string[]
}
