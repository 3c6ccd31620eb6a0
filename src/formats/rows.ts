import type { SourceRow } from '../model/record.ts'

/** Result of the check whether the end of a source was proven (docs/guarantees.md#deletes-need-proof). Known after reading. */
export interface Completeness {
  /** True if the end is proven. Only then do keys without a row count as missing. If false, `reason` gives the reason. */
  readonly complete: boolean
  /** Proof of the end, such as `root element closed`, `content-length met` or `gzip trailer`; `none` if the end is not proven. */
  readonly proof: string
  readonly reason?: string
}

/** Facts of one read source, known once all rows were taken. */
export interface SourceFacts {
  /** Address of the file that was read, without secrets and query. */
  readonly uri: string
  /** Number of bytes as received. */
  readonly bytes: number
  /** SHA-256 of the raw bytes, lower-case hex. */
  readonly sha256: string
  readonly format: string
  readonly encoding: string
  readonly compression: string
  readonly columns: readonly string[]
  /** True if the decoded text ended with a line end (CSV, TSV, JSON lines); null for other formats. */
  readonly finalNewline: boolean | null
  readonly completeness: Completeness
  /** Notes on this source (skipped title rows, columns without a name …); never a value of it. */
  readonly notes?: readonly string[]
  /** Quality statistics of the mapped rows, for comparison with the next read. */
  readonly quality?: QualityFigures
  /** Number of rows, including rejected ones. */
  readonly rows?: number
  /** Facts of each file of a source with a joined file. The other facts are about both files together. */
  readonly joined?: { readonly main: SourceFacts; readonly file: SourceFacts }
  readonly etag?: string
  readonly lastModified?: string
}

export interface QualityFigures {
  readonly members: number
  /** Identifier type → number of members that have at least one. */
  readonly filled: Readonly<Record<string, number>>
  /** Number of members whose row opts out; absent if there are none. */
  readonly optedOut?: number
  /** Number of rejected rows whose key could not be read; absent for a read of an earlier version. */
  readonly withoutKey?: number
  /** Products: first brand of the source. A gated read compares its products with it (mapping/statistics/sourceStatistics.ts). */
  readonly brand?: string
  /** Products: first item group of the source, for the same comparison. */
  readonly group?: string
}

/**
 * Source during a read. `rows` yields batches of rows with back-pressure, and throws a RunError for an unusable source. `facts` may be
 * called once `rows` has ended. `close` may be called at any time and more than once.
 */
export interface RowSource {
  readonly rows: AsyncIterable<readonly SourceRow[]>
  facts: () => SourceFacts
  close: () => Promise<void>
}
