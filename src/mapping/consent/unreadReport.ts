import type { ProposedTest } from './proposeTest.ts'

/** Consent column that no setting reads. */
export interface ConsentColumn extends ProposedTest {
  readonly column: string
}

/** Unmapped columns that decide whether a person may be reached, or that contain identifiers, with the setting to write. */
export interface UnreadReport {
  /** Unmapped columns of emails or phone numbers. */
  readonly identifiers: readonly {
    readonly column: string
    readonly message: string
    /** Number of rows with an identifier in this column that no mapped column of the row has. */
    readonly count: number
    /** First lines of such rows, at most five. */
    readonly lines: readonly number[]
  }[]
  /** Setting to write: a `map:` that also reads the columns of `identifiers`, or an `ignore:`. Undefined if there are no such columns. */
  readonly identifierHint: string | undefined
  /** Setting `consent:` to write for this file; undefined if no unmapped column is about consent. */
  readonly consentHint: string | undefined
  /** Returns the values of an unmapped column for a message; `''` if none may be shown. */
  readonly seen: (column: string) => string
  /** Unmapped consent columns, each with its proposed test. */
  readonly consentColumns: readonly ConsentColumn[]
}
