import type { Row } from '../../model/record.ts'

/** Joiner of the rows of one table, used for one read. Keeps a bounded amount of text; the output has the order of the file. */
export interface RowJoiner {
  /** Takes a row and returns the rows that are complete now: none, the row itself, or earlier rows, also together with it. */
  readonly push: (row: Row) => readonly Row[]
  /** Returns the rows that still wait at the end of the table. */
  readonly end: () => readonly Row[]
  /** Returns messages with the counts of joined rows, and of rows that could not be joined. Called at the end of the table. */
  readonly notes: () => readonly string[]
}
