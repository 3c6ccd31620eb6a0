import type { Missing } from '../../destinations/destination.ts'
import type { DesiredContext } from './sharedDesiredSteps.ts'
import type { FirstLoad, FirstLoadInput } from './firstLoad.ts'
import type { CheckedDiff, CheckedRun } from './warnOfDoubtfulChanges.ts'
import type { UpdatedField } from './updatedFields.ts'

/**
 * Steps of a plan that change the desired state of a destination: of products (`desiredProducts.ts`), or of people
 * (`desiredIdentifiers.ts`). Some only read or count.
 */
export interface DesiredStateSteps {
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
   * Adjusts the missing products in the table `change` to `policy`. Adds products that went missing earlier, if `policy` now deletes them
   * or sets them out of stock. Removes products that are out of stock already, if `policy` would set them so. Deletes the stored records
   * of missing products for which no delete has to be sent any more. Returns by how much the number of missing products grew; it may be
   * negative. Does nothing for people.
   */
  readonly adjustMissing: (policy: Missing) => Promise<number>
  /** Adds to the table `removal` the missing records of which the service has nothing. Returns their number. */
  readonly collectMissingNotAtService: () => Promise<number>
  /** Removes the records of the table `removal` from the desired state. */
  readonly applyRemovals: () => Promise<void>
  /** Returns at most five ids of missing products, as examples for a message; none for people. */
  readonly missingExamples: () => Promise<readonly string[]>
  /** Counts the confirmed products or users, up to `enough`; undefined: all. */
  readonly countConfirmed: (enough: number | undefined) => Promise<number>
}
