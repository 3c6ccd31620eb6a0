import { noteOf } from '../../mapping/statistics/qualityCodes.ts'
import type { ChangeCounts } from './diff.ts'
import type { GuardFacts } from './reasonsToWithhold.ts'
import type { PlanWork } from './planWork.ts'
import { guardResultsOfWarnings, minForPercentages, RunWithheld } from './qualityGuard.ts'

const minNewPeople = 20

/**
 * Throws if the run would replace most people of an audience. The usual cause is a wrong file, or a reversed consent test. The guards on
 * deletes are not enough: the run would still send the new people, who may be those who opted out.
 *
 * `peopleToDelete`: number of people to delete, without deletes that an earlier plan was allowed to send. `isWithheld`: a guard withholds
 * deletes.
 *
 * @throws {RunWithheld} `PEOPLE_CHANGED` if all of these are true:
 * - At least 100 people are synced, and more than half of them would be removed.
 * - At least 20 new people would be sent.
 * - The people who opt out are more than half of the synced people. Or a guard withholds deletes, and the new people are more than half of
 *   the synced people.
 *
 * Does not throw if the deletes are approved, if `guards.accept` has the code, or if no row counts as missing (`ignoresMissing`).
 */
export async function stopIfPeopleReplaced(
  { type, desired, pending }: PlanWork,
  diff: ChangeCounts,
  facts: GuardFacts,
  { peopleToDelete, isWithheld }: { readonly peopleToDelete: number; readonly isWithheld: boolean },
): Promise<void> {
  const areApproved = facts.approveDeletes !== undefined && peopleToDelete <= facts.approveDeletes
  if (!type.reachesPeople || facts.ignoresMissing || areApproved) return
  // After an incomplete read the plan does not delete missing people, so their number comes from the diff.
  const removed = Math.max(peopleToDelete, facts.incompleteReason === undefined ? 0 : diff.missing + diff.optedOut)
  // With so few removals, the check of `confirmed` below would return too.
  if (removed * 2 <= minForPercentages) return
  const newPeople = await pending.countNewPeople()
  if (newPeople < minNewPeople) return
  // If at least `removed * 2` people are confirmed, no more than half would be removed.
  const confirmed = await desired.countConfirmed(removed * 2)
  if (confirmed < minForPercentages || removed * 2 <= confirmed) return
  const manyOptOut = diff.optedOut * 2 > confirmed
  const manyAreNew = newPeople * 2 > confirmed
  if (!manyOptOut && !(isWithheld && manyAreNew)) return
  const optOutPart = manyOptOut ? ` of which ${Math.min(diff.optedOut, removed)} opt out,` : ''
  const message = `${removed} of ${confirmed} synced people would be removed,${optOutPart} and ${newPeople} new people sent`
  const results = guardResultsOfWarnings(
    { name: facts.pipeline, guards: facts.guards },
    [noteOf('PEOPLE_CHANGED', message, { count: removed })],
    { isIncomplete: facts.incompleteReason !== undefined },
  )
  if (results.length > 0) throw new RunWithheld(results)
}
