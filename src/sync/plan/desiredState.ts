import type { Missing } from '../../destinations/destination.ts'
import type { DesiredContext } from './sharedDesiredSteps.ts'
import type { FirstLoad, FirstLoadInput } from './firstLoad.ts'
import type { CheckedDiff, CheckedRun } from './warnOfDoubtfulChanges.ts'
import type { UpdatedField } from './updatedFields.ts'

/**
 * Desired state of a destination, as steps of a plan: of products (`desiredProducts.ts`), or of people (`desiredIdentifiers.ts`). Some steps
 * only read or count.
 */
export interface DesiredState {
  readonly context: DesiredContext
  /**
   * Writes the desired state of a first load from the table `stage` (the rows of the read). Exception: if keys are implied (the result has an
   * `implyingRunId`), writes only the records that share identifiers. `planPart` (`loadParts.ts`) writes the others.
   */
  readonly writeFirstLoad: (options: FirstLoadInput) => Promise<FirstLoad>
  /**
   * Adds warnings about doubtful changes of products to the run; does nothing for people.
   *
   * @throws {RunWithheld} if one of the warnings stops the run
   */
  readonly warnOfDoubtfulChanges: (run: CheckedRun, diff: CheckedDiff) => Promise<void>
  /** Returns the changed fields of products; none for people, and if there are too many updates. `updates`: number of updated records. */
  readonly updatedFields: (updates: number) => Promise<readonly UpdatedField[]>
  /**
   * Applies creates and updates. Marks a record as stale if its row was rejected. A missing product whose row came back but was rejected is
   * desired again, with its last content. Returns the number of these products; 0 for people.
   */
  readonly applyUpserts: () => Promise<number>
  /**
   * Adjusts the missing records in the table `change` to `policy`. Adds those that an earlier policy kept and that `policy` changes now.
   * Removes products that are out of stock already, if `policy` would set them so. Deletes stored records whose delete is not needed
   * any more. Returns by how much the number of missing records grew; it may be negative.
   */
  readonly adjustMissing: (policy: Missing) => Promise<number>
  /** Adds to the table `removal` the missing records of which the service has nothing. Returns their number. */
  readonly collectNotAtService: () => Promise<number>
  /** Removes the records of the table `removal` from the desired state. */
  readonly applyRemovals: () => Promise<void>
  /** Returns at most five ids of missing products, as examples for a message; none for people. */
  readonly missingExamples: () => Promise<readonly string[]>
  /** Counts the confirmed products or users, up to `enough`; undefined: all. */
  readonly countConfirmed: (enough: number | undefined) => Promise<number>
}
