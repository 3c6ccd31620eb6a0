import type { SourceRow } from '../model/record.ts'
import type { ReadLimits } from './limits.ts'

/** Reader of one file: its rows with back-pressure, then the facts about its end. */
export interface FormatReader {
  readonly rows: AsyncIterable<readonly SourceRow[]>
  /** May be called once `rows` has ended. */
  end: () => FormatEnd
}

/** Facts about a file that was read to its end. */
export interface FormatEnd {
  /** Columns with a name, in the order of the file. */
  readonly columns: readonly string[]
  /** Number of rows, including rows with a fault and rows that the gate skipped. */
  readonly rowCount: number
  /** True if the text ended with a line end (CSV, TSV, JSON lines). Null if the format has its own end mark. */
  readonly finalNewline: boolean | null
  /** End mark that was read, such as `root element closed`. Absent for CSV, TSV and JSON lines, because they have no end mark. */
  readonly proof?: string
  /** Reason why the end may be cut off; absent if there is none. */
  readonly doubt?: string
  /** Number in the trailer row; absent if no trailer is configured or found. */
  readonly trailerRows?: number
  readonly notes: readonly string[]
}

/** Values that the readers of all formats need. */
export interface FormatContext {
  /** Name of the source in messages. */
  readonly name: string
  readonly limits: ReadLimits
  /** Pattern of a trailer row (`#rows={n}`). Such a row is never data. */
  readonly trailer?: string
  /** Absent if every record is parsed. Workbooks ignore the gate. */
  readonly gate?: RecordGate
}

/**
 * Gate that recognizes the raw records of the last complete read before they are parsed (docs/architecture.md, gate `record`). The readers
 * of CSV, TSV, JSON and XML call the gate for each record, in the order of the file. A reader counts a known record, and does not yield it.
 *
 * In CSV and TSV, records with misplaced quotes or NUL bytes are always parsed, without a call. The gate is called for a trailer row too,
 * although it is not data.
 */
export interface RecordGate {
  /**
   * Columns of the known records of the current source, for the readers of JSON and XML. A reader needs the columns of skipped rows too: a
   * consent test is an error if no row has its column. Valid once the first row was requested.
   */
  readonly columns?: readonly string[]
  /**
   * Sets the shape: facts outside of a record that decide what its bytes mean, such as header, delimiter or namespace prefixes. Called
   * before the first record and at each change. The digest of a record includes the shape.
   */
  beginShape: (shape: string) => void
  /** Returns true if the record `bytes[start, end)` is known. The bytes are valid only during the call. `line`: its first line, from 1. */
  skips: (bytes: Buffer, start: number, end: number, line: number) => boolean
}
