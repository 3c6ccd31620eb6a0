import type { Missing } from '../../destinations/destination.ts'
import type { DesiredContext } from './desired.ts'
import type { FirstLoad, FirstLoadInput } from './firstLoad.ts'
import type { CheckedDiff, CheckedRun } from './warnOfDoubtfulChanges.ts'
import type { UpdatedField } from './updatedFields.ts'

/** Steps that update the desired state of a destination: of products (`desiredProducts.ts`), or of people (`desiredIdentifiers.ts`). */
export interface DesiredState {
  readonly context: DesiredContext
  /**
   * Writes the desired state of a first load from the table `stage` (the rows of the read). If the result has an `implyingRunId`, only the
   * records that share identifiers are written; `planPart` writes the others.
   */
  readonly loadFirst: (options: FirstLoadInput) => Promise<FirstLoad>
  /**
   * Adds warnings about doubtful changes of products to the run; does nothing for people.
   *
   * @throws {RunWithheld} if one of the warnings stops the run
   */
  readonly warnOfDoubtfulChanges: (run: CheckedRun, diff: CheckedDiff) => Promise<void>
  /** Returns the changed fields of products; none for people, and if there are too many updates. `updates`: number of updated records. */
  readonly updatedFields: (updates: number) => Promise<readonly UpdatedField[]>
  /**
   * Applies creates and updates. Marks a record as stale if its row was rejected. `desiredAgain`: number of missing products that are
   * desired again, because their row is back, but rejected; 0 for people.
   */
  readonly applyUpserts: () => Promise<{ readonly desiredAgain: number }>
  /**
   * Corrects the missing records in the table `change`, and returns the number of added minus removed ones. Adds those that were missing
   * before and that `policy` changes now. Removes products that are out of stock already, if `policy` would set them so. Also deletes
   * stored records that were kept for a delete that is not needed any more.
   */
  readonly correctMissing: (policy: Missing) => Promise<number>
  /** As `collectNotAtService` in `desired.ts`. */
  readonly collectNotAtService: () => Promise<number>
  /** Removes the records of the table `removal` from the desired state. */
  readonly applyRemovals: () => Promise<void>
  /** Returns at most five ids of missing products, as examples for a message; none for people. */
  readonly missingExamples: () => Promise<readonly string[]>
  /** Counts the confirmed products or users, up to `enough`; undefined: all. */
  readonly countConfirmed: (enough: number | undefined) => Promise<number>
}
