/** Interface of the desired state for one type of key: products (`desiredProducts.ts`), or identifiers (`desiredIdentifiers.ts`). */
import type { Missing } from '../../destinations/destination.ts'
import type { DesiredContext } from './desired.ts'
import type { FirstLoad, FirstLoadOptions } from './firstLoad.ts'
import type { ReviewedDiff, ReviewedRun, UpdatedField } from './reviewUpdates.ts'

export interface DesiredState {
  readonly context: DesiredContext
  /** Writes the desired state of an untouched destination from the stage. */
  readonly loadFirst: (options: FirstLoadOptions) => Promise<FirstLoad>
  /** Compares the records of the diff with the synced content, and returns the changed fields. @throws {RunWithheld} */
  readonly reviewUpdates: (run: ReviewedRun, diff: ReviewedDiff) => Promise<readonly UpdatedField[]>
  /** Applies creates and updates, and marks stale records. Removals are separate, because a guard may withhold them. */
  readonly applyUpserts: () => Promise<void>
  /** Drops the records of earlier missing rows that are no longer needed. Returns the number of those that `policy` removes only now. */
  readonly reviewMissing: (policy: Missing) => Promise<number>
  /** Removes the records of `removal` from the desired state. */
  readonly applyRemovals: () => Promise<void>
  /** Returns names of records that would be deleted, for a message. */
  readonly removedExamples: () => Promise<readonly string[]>
  /** Counts the confirmed products or users, for the percentage of deletes. Stops at `enough`; undefined counts all of them. */
  readonly countConfirmed: (enough: number | undefined) => Promise<number>
}
