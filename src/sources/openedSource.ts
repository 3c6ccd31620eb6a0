import type { RecordGate } from '../formats/formatReader.ts'
import type { ReadLimits } from '../formats/limits.ts'
import type { Detected } from '../formats/openFormat.ts'
import type { RowSource, SourceFacts } from '../formats/rows.ts'
import type { Logger } from '../log.ts'

export interface SourceContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: Logger
  readonly signal?: AbortSignal
  /**
   * Facts of the last closed snapshot of this source: for conditional requests, and because a plain file is complete
   * only if it ends as it ended then (I8).
   */
  readonly previous?: SourceFacts
  /** Tests may lower the limits. */
  readonly limits?: ReadLimits
  /** Asked about raw records before they are parsed; workbooks and queries have none. */
  readonly gate?: RecordGate
  /** First wait between two tries, doubled each time; half a second by default. */
  readonly backoffMs?: number
}

export interface OpenedSource extends RowSource {
  /**
   * True: the server said that nothing changed since `previous`. Then `facts` are the previous ones and `rows` throws:
   * no rows must never be taken for an empty source.
   */
  readonly unchanged: boolean
  /** Undefined where nothing was read because nothing changed. */
  readonly detected: Detected | undefined
}
