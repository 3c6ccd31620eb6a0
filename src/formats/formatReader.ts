import type { Row } from '../records/record.ts'
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
}
