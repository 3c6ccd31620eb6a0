import type { Row } from '../model/record.ts'
import type { ReadLimits } from './limits.ts'

/** Reader of one format: rows with back-pressure, then the facts about its end. */
export interface FormatReader {
  readonly rows: AsyncIterable<readonly Row[]>
  /** May be called once `rows` has ended. */
  end: () => FormatEnd
}

export interface FormatEnd {
  readonly columns: readonly string[]
  readonly rowCount: number
  /** True if the text ended with a line end (CSV, TSV, JSON lines). Null if the format has its own end mark. */
  readonly finalNewline: boolean | null
  /** End mark that was read: `root element closed`, `array closed`. Absent if the format has none. */
  readonly proof?: string
  /** Reason why the end may be cut off. */
  readonly doubt?: string
  /** Number in the trailer row, if one is configured and was the last row. */
  readonly trailerRows?: number
  readonly notes: readonly string[]
}

export interface FormatContext {
  /** Name of the source in messages. */
  readonly name: string
  readonly limits: ReadLimits
  /** Pattern of a trailer row (`#rows={n}`): such a row is never data. */
  readonly trailer?: string
  readonly gate?: RecordGate
}

/**
 * Filters known raw records before they are parsed (docs/benchmarks.md, gate 2). Called for every well-formed record of CSV,
 * TSV, JSON and XML, in the order of the file. A known record is counted and not yielded. Unusual records (misplaced quotes,
 * NUL bytes) are always parsed. It may be called for a trailer row, which is not data.
 */
export interface RecordGate {
  /**
   * Columns of the filtered records of the current source. The meaning of a JSON or XML row depends on them too: for example, a
   * consent test is an error if no row has its column. Only valid after the first row was requested.
   */
  readonly columns?: readonly string[]
  /**
   * Called before the first record, and at each change of the shape: the header, the delimiter, the prefixes bound around an item.
   * The digest includes the shape, because equal bytes are the same record only with the same shape.
   */
  beginShape: (shape: string) => void
  /** Returns true if the record `bytes[start, end)` is known. The bytes are valid only during the call. */
  skips: (bytes: Buffer, start: number, end: number, line: number) => boolean
}
