import type { RecordGate } from '../formats/formatReader.ts'
import type { ReadLimits } from '../formats/limits.ts'
import type { Detected } from '../formats/openFormat.ts'
import type { RowSource, SourceFacts } from '../formats/rows.ts'
import type { Logger } from '../log.ts'

/** Values that are needed to open and read a source, besides its definition. */
export interface SourceContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: Logger
  readonly signal?: AbortSignal
  /** Facts of the last complete read of this source, for conditional requests and the proof of completeness (completeness.ts). */
  readonly previous?: SourceFacts
  /** Limits; tests may lower them. */
  readonly limits?: ReadLimits
  /**
   * Gate that skips unchanged records before they are parsed (`RecordGate`). Not used for workbooks, queries, joined sources and row groups
   * (Shopify, WooCommerce).
   */
  readonly gate?: RecordGate
  /** First wait before a retry in milliseconds, doubled each time; 500 by default. */
  readonly backoffMs?: number
}

/** Source that was opened, or that the server reported as unchanged. */
export interface OpenedSource extends RowSource {
  /**
   * True if the server answered that the source is unchanged since `previous`. If true, `facts` returns `previous`, and `rows` throws, so
   * that an unchanged source never counts as an empty source.
   */
  readonly unchanged: boolean
  /** Undefined if the source is unchanged and was not read. */
  readonly detected: Detected | undefined
}

/** Returns the facts without validators (ETag, time of change). A request that uses them is not conditional. */
export function withoutValidators(facts: SourceFacts): SourceFacts {
  const { etag: _, lastModified: __, ...others } = facts
  return others
}
