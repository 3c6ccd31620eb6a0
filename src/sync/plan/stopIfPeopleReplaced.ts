/** Stops a run whose read replaces most people of an audience by others: often another file, or a reversed test of consent. */
import type { QualityCode } from '../../mapping/statistics/qualityCodes.ts'
import type { Diff } from './diff.ts'
import type { GuardFacts } from './reasonsToWithhold.ts'
import type { PlanWork } from './planWork.ts'
import { notesThatStop, percentagesFrom, RunWithheld } from './qualityGuard.ts'

/** Minimum number of new people for the check. */
const minNewPeople = 20

/**
 * Checks the pending changes. The delete guards would only withhold the deletes. The run would still send the new people, who may be
 * those who opted out.
 *
 * `peopleToDelete`: number of people whose delete no earlier plan was allowed to send, without people who only lose identifiers.
 * `isWithheld`: true if a guard withholds deletes. An approval covers the deletes and the new people.
 *
 * @throws {RunWithheld} `PEOPLE_CHANGED` if more than half of the synced people would be removed, and one of two conditions holds. Either
 * the rows of more than half of the synced people opt out. Or a guard withholds the deletes, and the new people are more than half as many
 * as the synced people. Requires at least 100 synced and 20 new people. Does not throw if `guards.accept` has the code.
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
  // Saves the queries: with so few removals, the check of `confirmed` below returns anyway.
  if (removed * 2 <= percentagesFrom) return
  const created = await pending.countCreates()
  if (created < minNewPeople) return
  const confirmed = await desired.countConfirmed(removed * 2)
  if (confirmed < percentagesFrom || removed * 2 <= confirmed) return
  const isReversed = diff.optedOut * 2 > confirmed
  if (!isReversed && !(isWithheld && created * 2 > confirmed)) return
  const because = isReversed ? `, of which ${Math.min(diff.optedOut, removed)} opt out,` : ','
  const message = `${removed} of ${confirmed} synced people would be removed${because} and ${created} new people sent`
  const results = notesThatStop(
    { name: facts.pipeline, guards: facts.guards },
    [{ code: 'PEOPLE_CHANGED' satisfies QualityCode, field: '', message, count: removed, lines: [] }],
    { isIncomplete: facts.incomplete !== undefined },
  )
  if (results.length > 0) throw new RunWithheld(results)
}
