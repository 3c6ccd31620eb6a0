import type { Row } from '../model/record.ts'

/** What proves, or fails to prove, that the end of a source was reached (docs/guarantees.md#deletes-need-proof). Filled when reading ended. */
export interface Completeness {
  /** True: absence from this source may mean gone. False: it may not, and `reason` says why. */
  readonly complete: boolean
  /** `root element closed`, `content-length met`, `gzip trailer`, `file unchanged while read` … */
  readonly proof: string
  readonly reason?: string
}

/** Facts of one read source, known once all rows were taken. */
export interface SourceFacts {
  /** As a person wrote it, secrets removed. */
  readonly uri: string
  readonly bytes: number
  /** SHA-256 of the raw bytes, lower-case hex. */
  readonly sha256: string
  readonly format: string
  readonly encoding: string
  readonly compression: string
  readonly columns: readonly string[]
  /** Whether the decoded text ended with a line end (CSV, TSV, JSON lines); null where it does not apply. */
  readonly finalNewline: boolean | null
  readonly completeness: Completeness
  /** What is worth saying once about this source (delimiter found, columns left out …); never a value of it. */
  readonly notes?: readonly string[]
  /** Figures to hold the next reading against: what its rows became, not what they said. */
  readonly quality?: QualityFigures
  readonly etag?: string
  readonly lastModified?: string
}

export interface QualityFigures {
  readonly members: number
  /** Identifier kind → members that have one at least. */
  readonly filled: Readonly<Record<string, number>>
  /** Products: the brand that the others were measured by (mapping/quality.ts). */
  readonly brand?: string
  /** Products: the item group that the others were measured by. */
  readonly group?: string
}

/**
 * One source being read. `rows` yields arrays of rows (a few hundred each, so that a row costs no promise) with
 * back-pressure, and throws a RunError for a file that cannot be trusted (`FILE_…` codes). `facts` may be called once
 * `rows` has ended; `close` may be called any time and twice.
 */
export interface RowSource {
  readonly rows: AsyncIterable<readonly Row[]>
  facts: () => SourceFacts
  close: () => Promise<void>
}
