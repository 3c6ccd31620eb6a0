/** Applies the delete guards. Allowed removals change the desired state; withheld removals are only counted. */
import { collectRemovals, markMissing } from './desired.ts'
import { markOutOfStock } from './desiredProducts.ts'
import type { DesiredState } from './desiredState.ts'
import type { Missing } from '../../destinations/destination.ts'
import type { Diff } from './diff.ts'
import { enoughConfirmed, guardDeletes, type GuardFacts } from './guard.ts'
import { guardPeople } from './guardPeople.ts'
import type { GuardResult } from '../../model/report.ts'
import type { PendingChanges } from './pendingChanges.ts'

/** Changes of a read, and the facts that the guards check. */
export interface GuardContext {
  readonly desired: DesiredState
  readonly pending: PendingChanges
  readonly diff: Diff
  readonly missingPolicy: Missing
  /** True if missing rows are deleted or set out of stock after a complete read. */
  readonly removesMissing: boolean
  /** Ids of the do-not-reach lists that the pipeline respects. */
  readonly suppressedBy: readonly number[]
  /** False for do-not-reach lists: their removals are explicit in the source, so no guard applies. */
  readonly guarded: boolean
  /** True for audiences, whose people a run may reach. */
  readonly reachesPeople: boolean
  /** True for a plain first load: everything is created, nothing can be deleted. */
  readonly nothingToDelete: boolean
  readonly facts: Omit<GuardFacts, 'deletes' | 'cleared' | 'replaced' | 'confirmed' | 'suppressed' | 'examples'>
}

/** Result of the guards, and the number of changes. */
export interface GuardedChanges {
  /** Results of the guards that fired; they may have no deletes to withhold. */
  readonly results: readonly GuardResult[]
  /** Number of withheld deletes and out-of-stock updates. After an incomplete read, includes those of all missing rows. */
  readonly withheld: number
  /** Number of changes that wait for unresolved requests. */
  readonly deferred: number
  /** Number of missing records whose desired content changed. */
  readonly missing: number
}

/**
 * Applies the removals and collects the pending changes. If a guard fires, rolls back to a savepoint. Then suppressed and opted-out people
 * leave the desired state, so that no request updates or renews them, but only the suppressed people are deleted now. With
 * `missing: delete`, missing records of which the service has nothing are removed too. Upserts are sent in both cases. Deletes that an
 * earlier plan cleared are also sent, except after `GUARD_MIN_ROWS` and `GUARD_INCOMPLETE` (docs/guarantees.md#mass-delete-guard).
 *
 * @throws {RunWithheld} as `guardPeople`
 */
export async function applyGuards(context: GuardContext): Promise<GuardedChanges> {
  if (context.nothingToDelete) return guardFirstLoad(context)
  const { desired } = context
  const { tx } = desired.context
  await tx.query('savepoint removals')
  const examples = await desired.removedExamples()
  await collectRemovals(tx, { missing: context.missingPolicy === 'delete' })
  await desired.applyRemovals()
  if (context.missingPolicy === 'out-of-stock') await markOutOfStock(desired.context)
  else if (context.missingPolicy === 'keep') await markMissing(desired.context)
  const removed = context.missingPolicy === 'delete' || context.missingPolicy === 'out-of-stock' ? context.diff.missing : 0
  const firstDeferred = await context.pending.collect()
  if (!context.guarded) return { results: [], withheld: 0, deferred: firstDeferred, missing: removed }

  // If half a feed is missing, setting its products out of stock is as harmful as deleting them (docs/inputs.md, case 91). After an
  // incomplete read the missing rows are only counted, for the report.
  const guardsMissing = context.missingPolicy === 'out-of-stock' || (context.facts.incomplete !== undefined && context.removesMissing)
  const missingToGuard = guardsMissing ? context.diff.missing : 0
  const { all, cleared, replaced } = await context.pending.markAndCountDeletes(context.suppressedBy)
  const deletes = all + missingToGuard
  const largestCount = Math.max(deletes - cleared - replaced, replaced)
  // The percent limit is checked only above the count limit.
  const confirmed =
    largestCount > context.facts.guards.maxDeleteCount
      ? await desired.countConfirmed(enoughConfirmed(largestCount, context.facts.guards.maxDeletePercent))
      : 0
  const found = guardDeletes({ ...context.facts, deletes, cleared, replaced, confirmed, suppressed: context.diff.suppressed, examples })
  await guardPeople(context, all - cleared - replaced, found.length > 0)
  const results: GuardResult[] = []
  for (const guard of found)
    results.push(guard.code === 'GUARD_IDENTIFIERS' ? { ...guard, examples: await context.pending.replacedIdentifiers() } : guard)
  const [result] = results
  if (result === undefined) return { results, withheld: 0, deferred: firstDeferred, missing: removed }

  await tx.query('rollback to savepoint removals')
  await collectRemovals(tx, { missing: false })
  const unsent = context.missingPolicy === 'delete' ? await desired.collectUnsent() : 0
  await desired.applyRemovals()
  const deferred = await context.pending.collect()
  await context.pending.markAndCountDeletes(context.suppressedBy)
  await context.pending.withholdDeletes(result.withheld < deletes)
  return { results, withheld: result.withheld, deferred, missing: unsent }
}

/** Applies the guards to a first load. There are no deletes to withhold, but the guards report an incomplete read or too few rows. */
function guardFirstLoad(context: GuardContext): GuardedChanges {
  const none = { deletes: 0, cleared: 0, replaced: 0, confirmed: 0, suppressed: 0, examples: [] }
  const results = context.guarded ? guardDeletes({ ...context.facts, ...none }) : []
  return { results, withheld: 0, deferred: 0, missing: 0 }
}
