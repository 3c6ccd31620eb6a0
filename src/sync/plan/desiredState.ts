/** Interface of the desired state for one type of key: products (`desiredProducts.ts`), or identifiers (`desiredIdentifiers.ts`). */
import type { Missing } from '../../destinations/destination.ts'
import type { DesiredContext } from './desired.ts'
import type { FirstLoad, FirstLoadOptions } from './firstLoad.ts'
import type { CheckedDiff, CheckedRun } from './stopIfDoubtful.ts'
import type { UpdatedField } from './updatedFields.ts'

/** Steps that update the desired state of one destination in a plan. */
export interface DesiredState {
  readonly context: DesiredContext
  /**
   * Writes the desired state of an untouched destination from the stage. If the keys are implied (docs/decisions/implied-keys.md), the
   * result has a `loadId`. Then only the records that share identifiers are written; `planPart` writes the others.
   */
  readonly loadFirst: (options: FirstLoadOptions) => Promise<FirstLoad>
  /**
   * Checks the changes of products; does nothing for people.
   *
   * @throws {RunWithheld} if a note of `findChangeNotes` stops the run
   */
  readonly stopIfDoubtful: (run: CheckedRun, diff: CheckedDiff) => Promise<void>
  /** Returns the changed fields; none for people, and if there are too many updates. `updates`: number of updated records. */
  readonly updatedFields: (updates: number) => Promise<readonly UpdatedField[]>
  /** Applies creates and updates, and marks stale records. Does not apply removals, because a guard may withhold them. */
  readonly applyUpserts: () => Promise<void>
  /**
   * Corrects the missing records in the table `change` for `policy`:
   *
   * - Adds the records that were missing before and that `policy` affects only now.
   * - If `policy` is `out-of-stock`, removes the products that are out of stock already.
   *
   * Returns the number of added minus removed records. Also deletes the records of products that were kept only for a delete that is not
   * needed any more.
   */
  readonly correctMissing: (policy: Missing) => Promise<number>
  /** Adds to `removal` the missing records of which the service has nothing. Returns their number. */
  readonly collectUnsent: () => Promise<number>
  /** Removes the records of the table `removal` from the desired state. */
  readonly applyRemovals: () => Promise<void>
  /** Returns at most five ids of missing products, as examples for a message; none for people. */
  readonly removedExamples: () => Promise<readonly string[]>
  /** Counts the confirmed products or users, for the percentage of deletes. Stops at `enough`; undefined: counts all. */
  readonly countConfirmed: (enough: number | undefined) => Promise<number>
}
