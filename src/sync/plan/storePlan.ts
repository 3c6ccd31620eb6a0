import { deleteDigests, replaceDigests, updateDigests } from '../../db/digests.ts'
import { raiseDesiredVersion } from '../../db/destinations.ts'
import * as plans from '../../db/plans.ts'
import { attachPlan } from '../../db/runs/update.ts'
import { readsBackfillSource } from '../../db/runs/request.ts'
import { closeSnapshot, discardLaterSnapshots } from '../../db/snapshots.ts'
import type { GuardResult, RunCounts } from '../../model/report.ts'
import { interruptedError } from '../engine.ts'
import { stagedKind } from '../read/stageTable.ts'
import type { GuardedChanges } from './removeOrWithhold.ts'
import { changesDesiredContent, type Changes } from './applyChanges.ts'
import type { FrozenTotals } from './planBatches.ts'
import type { PlanWork } from './planWork.ts'
import { requestMinutes } from './requestMinutes.ts'

/** Figures of a stored plan; if it is stored in parts, of the parts so far. */
export interface Planned {
  readonly planId: string
  readonly batches: number
  readonly counts: Omit<RunCounts, 'requests' | 'confirmed' | 'refused' | 'ambiguous' | 'pending'>
  readonly guards: readonly GuardResult[]
  readonly updateFields: Changes['updateFields']
  /** Minutes until the last request may be sent at the service's rate limits, rounded up; 0 if one window is enough. */
  readonly minutes: number
}

/** Inserts the row of the plan before its batches, which refer to this row. `storePlan` adds the figures later. */
export async function insertPlan(work: PlanWork, guards: readonly GuardResult[]): Promise<void> {
  const { tx, planId: id, run, pipeline, destinationId, input, stateVersion } = work
  const { snapshotId } = input
  await plans.insertPlan(tx, { id, runId: run.id, pipeline: pipeline.name, destinationId, snapshotId, stateVersion, guards })
}

/** Position of a part in its plan. The only part is both first and last. */
export interface PartPosition {
  readonly isFirst: boolean
  readonly isLast: boolean
}

/**
 * Stores the counts of a plan, a digest of its bodies so far, and in its first part the review. Attaches the plan to the run. Returns the
 * figures. `keyLookups`: number of products that are put only to look their product_key up. `withoutRow`: number of products or people that
 * are sent without a valid row.
 *
 * @throws {RunError} `RUN_INTERRUPTED` if another process ended the run
 */
export async function storePlan(
  work: PlanWork,
  changes: Changes,
  guarded: GuardedChanges,
  frozen: FrozenTotals,
  { isFirst, isLast, keyLookups = 0, withoutRow = 0 }: PartPosition & { readonly keyLookups?: number; readonly withoutRow?: number },
): Promise<Planned> {
  const { tx, planId, run, destinationId, input } = work
  const { countsByChange } = frozen
  const sentRows = Math.max(0, countsByChange.create + countsByChange.update + countsByChange.renewal - withoutRow - keyLookups)
  const sentOrDeferredRows = sentRows + guarded.deferred.valid
  const otherRows = Math.max(0, input.rows.valid - sentOrDeferredRows)
  const counts = {
    ...input.rows,
    unchanged: isLast ? otherRows : 0,
    stale: changes.diff.stale,
    creates: countsByChange.create,
    updates: countsByChange.update,
    deletes: countsByChange.delete,
    renewals: countsByChange.renewal,
    withheld: guarded.withheld,
    // The next plan deletes the products of `keyLookups`. After an interruption, it also sends the rows of later parts.
    deferred: guarded.deferred.all + keyLookups + (isLast ? 0 : otherRows),
  }
  let review: object | undefined
  if (isFirst) {
    const isChanged = changesDesiredContent(changes, guarded.removedMissing)
    review = reviewOf(work, changes, await raiseDesiredVersion(tx, destinationId, isChanged ? 1 : 0))
  }
  await plans.storeFigures(tx, planId, { digest: frozen.bodiesHash.copy().digest('hex'), counts, review })
  const attached = await attachPlan(tx, run, { planId, snapshotId: input.snapshotId })
  // Another process has ended this run.
  if (!attached) throw interruptedError('otherProcess')
  return {
    planId,
    batches: frozen.batches,
    counts,
    guards: guarded.results,
    updateFields: changes.updateFields,
    minutes: requestMinutes(frozen.requests),
  }
}

/**
 * Returns `plan.review`: data for a review, for an apply and for the next plan. `desiredVersion`: version of the desired state after this
 * plan.
 */
function reviewOf(work: PlanWork, changes: Changes, desiredVersion: number): object {
  return {
    updateFields: changes.updateFields,
    desiredVersion,
    erasures: work.latestErasureId,
    writesContent: work.writesContent,
    suppress: work.type.appliesSuppression(work.pipeline.destination) ? 'do-not-reach' : 'none',
    resync: unconfirmedRefreshes(work),
  }
}

/** Returns the ids of plans of full refreshes. The next plan also sends their unconfirmed keys. */
function unconfirmedRefreshes({ input, isFullRefresh, resyncPlans, planId }: PlanWork): readonly string[] {
  if (!isFullRefresh && resyncPlans.length === 0) return []
  // This plan replaces the earlier ones if it has all their unconfirmed keys. The plan of `rerun --failed` has only some.
  const hasAllKeys = input.onlyFailedOf === undefined
  return hasAllKeys ? [planId] : [...resyncPlans, planId]
}

/**
 * Closes the snapshot (the stored result of the read), and stores digests of its rows. By these, the next read recognizes unchanged rows.
 * For an unchanged source only discards later snapshots without a plan.
 */
export async function endSnapshot({ tx, destinationId, run, input }: PlanWork): Promise<void> {
  if (input.reading === 'unchanged') {
    if (input.onlyFailedOf === undefined) await discardLaterSnapshots(tx, destinationId, input.snapshotId)
    return
  }
  // Without digests, the next run reads the whole source.
  if (input.incompleteReason !== undefined || readsBackfillSource(run)) await deleteDigests(tx, destinationId)
  else if (input.reading === 'gated') await updateDigests(tx, destinationId, stagedKind.valid, input.unseen, input.quality)
  else await replaceDigests(tx, destinationId, stagedKind.valid, input.quality)
  const status = input.incompleteReason === undefined ? 'closed' : 'incomplete'
  await closeSnapshot(tx, input.snapshotId, { status, counts: input.rows })
}
