import type { Row } from '../model/record.ts'
import type { ReadLimits } from './limits.ts'

/** Reader of one format: rows with back-pressure, then the facts about the end of the file. */
export interface FormatReader {
  readonly rows: AsyncIterable<readonly Row[]>
  /** May be called once `rows` has ended. */
  end: () => FormatEnd
}

/** Facts about a file that was read to its end. */
export interface FormatEnd {
  readonly columns: readonly string[]
  readonly rowCount: number
  /** True if the text ended with a line end (CSV, TSV, JSON lines). Null if the format has its own end mark. */
  readonly finalNewline: boolean | null
  /** End mark that was read: `root element closed`, `array closed`. Absent if the format has none. */
  readonly proof?: string
  /** Reason why the end may be cut off. */
  readonly doubt?: string
  /** Number in the trailer row; absent if no trailer is configured or found. */
  readonly trailerRows?: number
  readonly notes: readonly string[]
}

export interface FormatContext {
  /** Name of the source in messages. */
  readonly name: string
  readonly limits: ReadLimits
  /** Pattern of a trailer row (`#rows={n}`), which is never data. */
  readonly trailer?: string
  readonly gate?: RecordGate
}

/**
 * Gate that filters known raw records before they are parsed (docs/architecture.md, gate `record`). Readers call the gate for every
 * well-formed record of CSV, TSV, JSON and XML, in the order of the file; perhaps also for a trailer row, which is not data. A known record
 * is counted and not yielded. Unusual records (misplaced quotes, NUL bytes) are always parsed.
 */
export interface RecordGate {
  /**
   * Columns of the known records of the current source. The meaning of a JSON or XML row depends on these columns too: for example, a
   * consent test is an error if no row has its column. Only valid after the first row was requested.
   */
  readonly columns?: readonly string[]
  /**
   * Sets the shape: the header, the delimiter, or the prefixes bound around an item. Called before the first record and at each change.
   * The digest of a record includes the shape, because equal bytes are the same record only with the same shape.
   */
  beginShape: (shape: string) => void
  /** Returns true if the record `bytes[start, end)` is known. The bytes are valid only during the call. */
  skips: (bytes: Buffer, start: number, end: number, line: number) => boolean
}
