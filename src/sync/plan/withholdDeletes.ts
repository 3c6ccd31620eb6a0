/** Applies the removals of a read to the desired state, and withholds the deletes that `reasonsToWithhold.ts` does not allow. */
import { collectRemovals, markMissing } from './desired.ts'
import { markOutOfStock } from './desiredProducts.ts'
import type { Changes } from './applyChanges.ts'
import { enoughConfirmed, reasonsToWithhold, type GuardFacts } from './reasonsToWithhold.ts'
import { stopIfPeopleReplaced } from './stopIfPeopleReplaced.ts'
import type { Missing } from '../../destinations/destination.ts'
import type { GuardResult } from '../../model/report.ts'
import { noneDeferred, type Deferred } from './pendingChanges.ts'
import type { PlanWork } from './planWork.ts'

/** Result of the guards, and the counts of a plan after them. */
export interface GuardedChanges {
  /** Results of the guards that fired. A guard may fire without deletes to withhold. */
  readonly results: readonly GuardResult[]
  /** Number of withheld deletes and out-of-stock updates. After an incomplete read, includes the missing rows, unless `missing: keep`. */
  readonly withheld: number
  /** Changes that wait for unresolved requests. */
  readonly deferred: Deferred
  /** Number of missing records that this plan removes or sets out of stock. */
  readonly missing: number
}

/** Counts of the removals that were applied. */
type RemovalCounts = Pick<GuardedChanges, 'deferred' | 'missing'>

/**
 * Applies the removals and collects the pending changes. If a guard fires, rolls back to a savepoint, and applies only the removals of
 * `removeUnguarded`. Guards withhold only deletes and out-of-stock updates.
 *
 * If a guard fires, the plan keeps only these deletes (docs/architecture.md#deletes-need-proof):
 *
 * - deletes of suppressed people
 * - cleared deletes, which an earlier plan was allowed to send, except after `GUARD_MIN_ROWS` and `GUARD_INCOMPLETE`
 *
 * @throws {RunWithheld} as `stopIfPeopleReplaced`
 */
export async function removeOrWithhold(work: PlanWork, changes: Changes): Promise<GuardedChanges> {
  const { tx, desired, pending, type, input } = work
  const { diff, missingPolicy, first } = changes
  const facts = factsOf(work)
  // A first load has no deletes to withhold, but the guards report an incomplete read or too few rows. Without own times of rows
  // (`isUntimed`), its operations do not come from pending changes, so nothing is collected.
  if (first?.isUntimed === true)
    return { results: type.guardsDeletes ? reasonsToWithhold(facts) : [], withheld: 0, deferred: noneDeferred, missing: 0 }
  await tx.query('savepoint removals')
  const examples = await desired.removedExamples()
  const removed = await removeAll(work, changes)
  // The removals of do-not-reach lists are explicit in the source, so no guard applies.
  if (!type.guardsDeletes) return { results: [], withheld: 0, ...removed }

  const { all, cleared, identifierDeletes } = await pending.markAndCountDeletes(input.suppressedBy)
  // Missing records without a pending delete. If half a feed is missing, setting its products out of stock is as harmful as deleting them.
  // After an incomplete read, missing rows have no effect and are only counted, for the report.
  const configuredPolicy = type.missing(work.pipeline.destination)
  const countsMissing = missingPolicy === 'out-of-stock' || (facts.incomplete !== undefined && removesMissing(configuredPolicy))
  const missing = countsMissing ? diff.missing : 0
  const deletes = all + missing
  const outOfStock = configuredPolicy === 'out-of-stock' ? missing : 0
  const largerCount = Math.max(deletes - cleared - identifierDeletes, identifierDeletes)
  // The synced records are counted only for the percent limit, which applies only above the count limit.
  const confirmed =
    largerCount > facts.guards.maxDeleteCount
      ? await desired.countConfirmed(enoughConfirmed(largerCount, facts.guards.maxDeletePercent))
      : 0
  const found = reasonsToWithhold({
    ...facts,
    deletes,
    outOfStock,
    cleared,
    identifierDeletes,
    confirmed,
    suppressed: diff.suppressed,
    examples,
  })
  await stopIfPeopleReplaced(work, diff, facts, { peopleToDelete: all - cleared - identifierDeletes, isWithheld: found.length > 0 })
  const [firstResult] = found
  if (firstResult === undefined) return { results: [], withheld: 0, ...removed }
  // Called before the rollback, which undoes the pending changes.
  const rowsLosingIdentifiers = found.some(({ code }) => code === 'GUARD_IDENTIFIERS') ? await pending.rowsLosingIdentifiers() : []
  const results = found.map((guard) => (guard.code === 'GUARD_IDENTIFIERS' ? { ...guard, examples: rowsLosingIdentifiers } : guard))
  await tx.query('rollback to savepoint removals')
  // All results have the same number: after `GUARD_MIN_ROWS` and `GUARD_INCOMPLETE` all deletes, otherwise those that are not cleared.
  const { withheld } = firstResult
  return { results, withheld, ...(await removeUnguarded(work, changes, { sendCleared: withheld < deletes })) }
}

/** Applies all removals, with the effect of `missingPolicy` on missing records, and collects the pending changes. */
async function removeAll({ tx, desired, pending }: PlanWork, { diff, missingPolicy }: Changes): Promise<RemovalCounts> {
  await collectRemovals(tx, { missing: missingPolicy === 'delete' })
  await desired.applyRemovals()
  if (missingPolicy === 'out-of-stock') await markOutOfStock(desired.context)
  else if (missingPolicy === 'keep') await markMissing(desired.context)
  return { deferred: await pending.collect(), missing: removesMissing(missingPolicy) ? diff.missing : 0 }
}

/**
 * Applies the removals that no guard withholds, and collects the pending changes without the withheld deletes. Suppressed and opted-out
 * people are removed from the desired state, so that no request updates or renews them. With `missing: delete`, missing records of which
 * the service has nothing are removed too.
 */
async function removeUnguarded(
  { tx, desired, pending, input }: PlanWork,
  { missingPolicy }: Changes,
  options: { readonly sendCleared: boolean },
): Promise<RemovalCounts> {
  await collectRemovals(tx, { missing: false })
  const unsent = missingPolicy === 'delete' ? await desired.collectUnsent() : 0
  await desired.applyRemovals()
  const deferred = await pending.collect()
  await pending.markAndCountDeletes(input.suppressedBy)
  await pending.withholdDeletes(options)
  return { deferred, missing: unsent }
}

/** Returns true if a missing record is deleted or set out of stock. */
function removesMissing(policy: Missing): boolean {
  return policy === 'delete' || policy === 'out-of-stock'
}

/**
 * Returns the facts before the deletes are counted, with 0 as each count about deletes. A run with `ignoresMissing` does not read the
 * pipeline's own sources. It is not compared with an earlier read, and deletes no missing rows.
 */
function factsOf({ pipeline, type, run, input, ignoresMissing }: PlanWork): GuardFacts {
  return {
    pipeline: pipeline.name,
    noun: type.words.records,
    guards: pipeline.guards,
    valid: input.rows.valid,
    previousValid: ignoresMissing ? undefined : input.previousValid,
    fallen: ignoresMissing ? [] : input.fallen,
    read: input.rows.read,
    rejected: input.rows.rejected,
    incomplete: ignoresMissing ? undefined : input.incomplete,
    fromPipe: pipeline.sources.some(({ uri, complete }) => uri === '-' && complete.kind === 'auto'),
    approveDeletes: run.options.approveDeletes,
    ignoresMissing,
    deletes: 0,
    outOfStock: 0,
    cleared: 0,
    identifierDeletes: 0,
    confirmed: 0,
    suppressed: 0,
    examples: [],
  }
}
