import { collectRemovals, markMissing } from './sharedDesiredSteps.ts'
import { markOutOfStock } from './desiredProducts.ts'
import type { Changes } from './applyChanges.ts'
import { enoughConfirmed, reasonsToWithhold, type GuardFacts } from './reasonsToWithhold.ts'
import { stopIfPeopleReplaced } from './stopIfPeopleReplaced.ts'
import { backfillCommandOf } from '../../db/runs/request.ts'
import type { Missing } from '../../destinations/destination.ts'
import type { GuardResult } from '../../model/report.ts'
import { noneDeferred, type Deferred } from './pendingChanges.ts'
import type { PlanWork } from './planWork.ts'

/** Results of the guards that fired, and the counts of a plan after them. */
export interface GuardedChanges {
  readonly results: readonly GuardResult[]
  /**
   * Number of withheld deletes and out-of-stock updates. After an incomplete read, missing records count too, except with `missing: keep`.
   */
  readonly withheld: number
  readonly deferred: Deferred
  /** Number of missing records that this plan removes or sets out of stock. */
  readonly removedMissing: number
}

type RemovalCounts = Pick<GuardedChanges, 'deferred' | 'removedMissing'>

/**
 * Applies the removals of a read to the desired state, and collects the pending changes. Does neither on a first load without times.
 *
 * If a guard fires, undoes this. Then removes only opted-out and suppressed people, and missing records of which the service has nothing.
 * Plans only these deletes (docs/architecture.md#deletes-need-proof):
 *
 * - deletes of suppressed people
 * - deletes that an earlier plan was allowed to send (`allowed_delete`), unless the guard is `GUARD_MIN_ROWS` or `GUARD_INCOMPLETE`
 *
 * @throws {RunWithheld} if the run would replace most people of an audience
 */
export async function removeOrWithhold(work: PlanWork, changes: Changes): Promise<GuardedChanges> {
  const { tx, desired, pending, type, input } = work
  const { diff, missingPolicy, firstLoad } = changes
  const facts = factsBeforeCounting(work)
  // If no row has an `effective_at` or `expires_at`, a first load has no deletes. Guards still check the read itself.
  if (firstLoad?.isUntimed === true)
    return { results: type.guardsDeletes ? reasonsToWithhold(facts) : [], withheld: 0, deferred: noneDeferred, removedMissing: 0 }
  await tx.query('savepoint removals')
  const examples = await desired.missingExamples()
  const removalCounts = await removeAll(work, changes)
  // Do-not-reach lists need no guard: their sources say whom to remove.
  if (!type.guardsDeletes) return { results: [], withheld: 0, ...removalCounts }

  const { guardedDeletes, allowedBefore, identifierOnlyDeletes } = await pending.markAndCountDeletes(input.suppressedBy)
  // Missing records that are set out of stock, or come from an incomplete read, are not in `guardedDeletes`. The guards count them too,
  // unless the policy is `keep`. To set half a feed out of stock is as harmful as to delete it.
  const configuredPolicy = type.missing(work.pipeline.destination)
  const guardsCountMissing = missingPolicy === 'out-of-stock' || (facts.incompleteReason !== undefined && removesMissing(configuredPolicy))
  const guardedMissing = guardsCountMissing ? diff.missing : 0
  const deletes = guardedDeletes + guardedMissing
  const outOfStock = configuredPolicy === 'out-of-stock' ? guardedMissing : 0
  const largerGuardedCount = Math.max(deletes - allowedBefore - identifierOnlyDeletes, identifierOnlyDeletes)
  // The percent limit needs the number of confirmed records. It applies only above the count limit.
  const confirmed =
    largerGuardedCount > facts.guards.maxDeleteCount
      ? await desired.countConfirmed(enoughConfirmed(largerGuardedCount, facts.guards.maxDeletePercent))
      : 0
  const guardResults = reasonsToWithhold({
    ...facts,
    deletes,
    outOfStock,
    allowedBefore,
    identifierOnlyDeletes,
    confirmed,
    suppressed: diff.suppressed,
    examples,
  })
  await stopIfPeopleReplaced(work, diff, facts, {
    peopleToDelete: guardedDeletes - allowedBefore - identifierOnlyDeletes,
    isWithheld: guardResults.length > 0,
  })
  const [firstResult] = guardResults
  if (firstResult === undefined) return { results: [], withheld: 0, ...removalCounts }
  // The rows are described before the rollback, which undoes the pending changes.
  const losingRows = guardResults.some(({ code }) => code === 'GUARD_IDENTIFIERS') ? await pending.describeRowsLosingIdentifiers() : []
  const results = guardResults.map((guard) => (guard.code === 'GUARD_IDENTIFIERS' ? { ...guard, examples: losingRows } : guard))
  await tx.query('rollback to savepoint removals')
  // All results have the same `withheld`: after `GUARD_MIN_ROWS` or `GUARD_INCOMPLETE` the number of all deletes, otherwise of new deletes.
  // So it is below `deletes` exactly if deletes allowed before may still be sent.
  const { withheld } = firstResult
  return { results, withheld, ...(await removeUnguarded(work, changes, { sendAllowedBefore: withheld < deletes })) }
}

/** Applies all removals, and `missingPolicy` to missing records. Collects the pending changes. */
async function removeAll({ tx, desired, pending }: PlanWork, { diff, missingPolicy }: Changes): Promise<RemovalCounts> {
  await collectRemovals(tx, { includesMissing: missingPolicy === 'delete' })
  await desired.applyRemovals()
  if (missingPolicy === 'out-of-stock') await markOutOfStock(desired.context)
  else if (missingPolicy === 'keep') await markMissing(desired.context)
  return { deferred: await pending.collect(), removedMissing: removesMissing(missingPolicy) ? diff.missing : 0 }
}

/**
 * Applies the removals that no guard withholds, and collects the pending changes without the withheld deletes. Also removes opted-out
 * people from the desired state, so that nothing updates or renews them. Their delete may still be withheld.
 */
async function removeUnguarded(
  { tx, desired, pending, input }: PlanWork,
  { missingPolicy }: Changes,
  options: { readonly sendAllowedBefore: boolean },
): Promise<RemovalCounts> {
  await collectRemovals(tx, { includesMissing: false })
  const notAtService = missingPolicy === 'delete' ? await desired.collectMissingNotAtService() : 0
  await desired.applyRemovals()
  const deferred = await pending.collect()
  await pending.markAndCountDeletes(input.suppressedBy)
  await pending.withholdDeletes(options)
  return { deferred, removedMissing: notAtService }
}

function removesMissing(policy: Missing): boolean {
  return policy === 'delete' || policy === 'out-of-stock'
}

/** Returns the facts that are known before the deletes are counted. */
function factsBeforeCounting({ pipeline, type, run, input, ignoresMissing }: PlanWork): GuardFacts {
  return {
    pipeline: pipeline.name,
    noun: type.words.records,
    guards: pipeline.guards,
    valid: input.rows.valid,
    previousValid: ignoresMissing ? undefined : input.previousValid,
    fallenSources: ignoresMissing ? [] : input.fallenSources,
    lostIds: ignoresMissing ? undefined : input.lostIds,
    read: input.rows.read,
    rejected: input.rows.rejected,
    incompleteReason: ignoresMissing ? undefined : input.incompleteReason,
    fromUnprovenPipe: pipeline.sources.some(({ uri, complete }) => uri === '-' && complete.kind === 'auto'),
    approveDeletes: run.options.approveDeletes,
    backfillCommand: backfillCommandOf(run),
    ignoresMissing,
    deletes: 0,
    outOfStock: 0,
    allowedBefore: 0,
    identifierOnlyDeletes: 0,
    confirmed: 0,
    suppressed: 0,
    examples: [],
  }
}
