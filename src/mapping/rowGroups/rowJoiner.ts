import type { SourceRow } from '../../model/record.ts'

/** Joiner of the row groups of one table. Buffers a bounded amount of text, and keeps the order of the rows. */
export interface RowJoiner {
  /** Takes the next row. Returns the rows that are complete now: none, this row, earlier rows, or earlier rows and this row. */
  readonly push: (row: SourceRow) => readonly SourceRow[]
  /** Returns the rows that are still buffered at the end of the table. */
  readonly end: () => readonly SourceRow[]
  /** Returns messages with the numbers of joined rows, and of rows that could not be joined. Called after `end`. */
  readonly notes: () => readonly string[]
}
