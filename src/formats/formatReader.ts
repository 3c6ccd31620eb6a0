import type { Row } from '../model/record.ts'
import type { ReadLimits } from './limits.ts'

/** A reader of one format: rows with back-pressure, then what the format itself knows about its end. */
export interface FormatReader {
  readonly rows: AsyncIterable<readonly Row[]>
  /** Only once `rows` has ended. */
  end: () => FormatEnd
}

export interface FormatEnd {
  readonly columns: readonly string[]
  readonly rowCount: number
  /** CSV, TSV, JSON lines: whether the text ended with a line end. Null where the format has an end of its own. */
  readonly finalNewline: boolean | null
  /** What closed the format: `root element closed`, `array closed`. Absent where the format has no end mark. */
  readonly proof?: string
  /** Why the end looks cut although nothing is provably wrong. */
  readonly doubt?: string
  /** The number in a trailer row, where one was asked for and stood last. */
  readonly trailerRows?: number
  readonly notes: readonly string[]
}

export interface FormatContext {
  /** The source as people know it, for messages. */
  readonly name: string
  readonly limits: ReadLimits
  /** Pattern of a trailer row (`#rows={n}`): such a row is never data. */
  readonly trailer?: string
  readonly gate?: RecordGate
}

/**
 * Decides over raw records before they are parsed (docs/benchmarks.md, gate 2). Asked for every well-formed record of CSV,
 * TSV, JSON and XML, in the file's order; a record that it knows is counted and not handed over. Whatever looks unusual
 * (stray quotes, NUL bytes) is never asked about and always parsed. A trailer row may be asked about and is no data.
 */
export interface RecordGate {
  /**
   * Columns of the records that the gate keeps back, for the source that is read. What a row of JSON or XML says depends on
   * them too: a test of consent on a column that is there nowhere is none. Not asked before the first row is.
   */
  readonly columns?: readonly string[]
  /**
   * Called before the first record and whenever what records mean changes: the header, the delimiter, the prefixes
   * bound around an item. Equal bytes are an equal record only under an equal shape, so it belongs into the digest.
   */
  begin: (shape: string) => void
  /** True: the record is known. It is `bytes[start, end)`, valid during the call only. */
  known: (bytes: Buffer, start: number, end: number, line: number) => boolean
}
