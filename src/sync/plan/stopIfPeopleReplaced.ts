/**
 * Stops a run that would replace most people of an audience by others. Usual causes are a wrong source file, and a consent test that is
 * reversed.
 */
import type { QualityCode } from '../../mapping/statistics/qualityCodes.ts'
import type { Diff } from './diff.ts'
import type { GuardFacts } from './reasonsToWithhold.ts'
import type { PlanWork } from './planWork.ts'
import { notesThatStop, minForPercentages, RunWithheld } from './qualityGuard.ts'

/** Minimum number of new people for the check. */
const minNewPeople = 20

/**
 * Throws if the pending changes replace most people. The guards on deletes are not enough, because they withhold only deletes. The run
 * would still send the new people, who may be those who opted out.
 *
 * `peopleToDelete`: number of people whose delete no earlier plan was allowed to send, without people who only lose identifiers.
 * `isWithheld`: true if a guard withholds deletes.
 *
 * @throws {RunWithheld} `PEOPLE_CHANGED` if all of these are true:
 * - At least 100 people are synced.
 * - More than half of them would be removed.
 * - At least 20 new people would be sent.
 * - The people who opt out are more than half as many as the synced people. Or a guard withholds deletes, and the new people are more than
 *   half as many as the synced people.
 *
 * Does not throw if the deletes are approved, or `guards.accept` has the code.
 */
export async function stopIfPeopleReplaced(
  { type, desired, pending }: PlanWork,
  diff: Diff,
  facts: GuardFacts,
  { peopleToDelete, isWithheld }: { readonly peopleToDelete: number; readonly isWithheld: boolean },
): Promise<void> {
  const approved = facts.approveDeletes !== undefined && peopleToDelete <= facts.approveDeletes
  if (!type.reachesPeople || facts.ignoresMissing || approved) return
  // After an incomplete read the plan has no deletes of missing people, so their number comes from the diff.
  const removed = Math.max(peopleToDelete, facts.incomplete === undefined ? 0 : diff.missing + diff.optedOut)
  // Saves the queries: with so few removals, the check of `confirmed` below always returns.
  if (removed * 2 <= minForPercentages) return
  const created = await pending.countCreates()
  if (created < minNewPeople) return
  // Stops counting at `removed * 2`, which shows that no more than half of the people would be removed.
  const confirmed = await desired.countConfirmed(removed * 2)
  if (confirmed < minForPercentages || removed * 2 <= confirmed) return
  const manyOptOut = diff.optedOut * 2 > confirmed
  const manyAreNew = created * 2 > confirmed
  if (!manyOptOut && !(isWithheld && manyAreNew)) return
  const optOutPart = manyOptOut ? ` of which ${Math.min(diff.optedOut, removed)} opt out,` : ''
  const message = `${removed} of ${confirmed} synced people would be removed,${optOutPart} and ${created} new people sent`
  const results = notesThatStop(
    { name: facts.pipeline, guards: facts.guards },
    [{ code: 'PEOPLE_CHANGED' satisfies QualityCode, field: '', message, count: removed, lines: [] }],
    { isIncomplete: facts.incomplete !== undefined },
  )
  if (results.length > 0) throw new RunWithheld(results)
}
