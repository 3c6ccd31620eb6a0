/**
 * Stores the row of a plan with its counts and its digest (of the bodies of all requests), and completes its snapshot. Other files make
 * the requests (`freeze.ts`, `freezeChanges.ts`, `freezeLoad.ts`) and store them (`planBatches.ts`).
 */
import { deleteDigests, replaceDigests, updateDigests } from '../../db/digests.ts'
import { raiseDesiredVersion } from '../../db/destinations.ts'
import * as plans from '../../db/plans.ts'
import { attachPlan } from '../../db/runs/update.ts'
import { readsBackfillSource } from '../../db/runs/request.ts'
import { closeSnapshot } from '../../db/snapshots.ts'
import type { GuardResult, RunCounts } from '../../model/report.ts'
import { interrupted } from '../engine.ts'
import { stagedKind } from '../read/stageTable.ts'
import type { GuardedChanges } from './withholdDeletes.ts'
import { isDesiredChanged, type Changes } from './applyChanges.ts'
import type { Frozen } from './planBatches.ts'
import type { PlanWork } from './planWork.ts'
import { requestMinutes } from './requestMinutes.ts'

/** Figures of a stored plan. If the plan is stored in parts: of the parts so far. */
export interface Planned {
  readonly planId: string
  /** Number of batches. */
  readonly batches: number
  readonly counts: Omit<RunCounts, 'requests' | 'confirmed' | 'refused' | 'ambiguous' | 'pending'>
  readonly guards: readonly GuardResult[]
  readonly updateFields: Changes['updateFields']
  /** Minutes until the last request may be sent at the service's limits; 0 if one burst is enough. */
  readonly minutes: number
}

/** Inserts the row of the plan before its batches, which refer to this row. `storePlan` adds the figures later. */
export async function insertPlan(work: PlanWork, guards: readonly GuardResult[]): Promise<void> {
  const { planId, run, pipeline, destinationId, input, stateVersion } = work
  const { snapshotId } = input
  await plans.insertPlan(work.tx, {
    id: planId,
    runId: run.id,
    pipeline: pipeline.name,
    destinationId,
    snapshotId,
    stateVersion,
    guards,
  })
}

/** Place of a part in its plan. The only part of a plan is both first and last. */
export interface StoredPart {
  readonly isFirst: boolean
  readonly isLast: boolean
}

/**
 * Stores the counts and the digest of the operations that are frozen so far, and returns their figures. `keyLookups`: number of products
 * that are put once more so that the next plan can delete them. `withoutRow`: number of products or people that are sent although they
 * have no valid row.
 *
 * @throws {RunError} `RUN_INTERRUPTED` if another process ended the run
 */
export async function storePlan(
  work: PlanWork,
  changes: Changes,
  guarded: GuardedChanges,
  frozen: Frozen,
  { isFirst, isLast, keyLookups = 0, withoutRow = 0 }: StoredPart & { readonly keyLookups?: number; readonly withoutRow?: number },
): Promise<Planned> {
  const { tx, planId, run, destinationId, input } = work
  const { entries } = frozen
  const sentRows = Math.max(0, entries.create + entries.update + entries.renewal - withoutRow - keyLookups)
  const sentOrDeferredRows = sentRows + guarded.deferred.valid
  // Unchanged rows, and the rows of later parts.
  const otherRows = Math.max(0, input.rows.valid - sentOrDeferredRows)
  const counts = {
    ...input.rows,
    unchanged: isLast ? otherRows : 0,
    stale: changes.diff.stale,
    creates: entries.create,
    updates: entries.update,
    deletes: entries.delete,
    renewals: entries.renewal,
    withheld: guarded.withheld,
    // The next plan sends the deletes of the products in `keyLookups`. If this run is interrupted, the next plan also sends the rows of
    // later parts.
    deferred: guarded.deferred.all + keyLookups + (isLast ? 0 : otherRows),
  }
  // The first part stores the review for the whole plan.
  let review: object | undefined
  if (isFirst) {
    const isChanged = isDesiredChanged(changes, guarded.missing)
    review = reviewOf(work, changes, await raiseDesiredVersion(tx, destinationId, isChanged ? 1 : 0))
  }
  await plans.storeFigures(tx, planId, { digest: frozen.bodies.copy().digest('hex'), counts, review })
  const attached = await attachPlan(tx, run, { planId, snapshotId: input.snapshotId })
  // Another process has ended this run. A later run may have read a newer source, and its plan replaces the parts so far.
  if (!attached) throw interrupted('otherProcess')
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
 * Returns the content of `plan.review`: what a review shows, and what an apply and the next plan need. `desiredVersion`: version of the
 * destination's desired content with this plan.
 */
function reviewOf(work: PlanWork, changes: Changes, desiredVersion: number): object {
  return {
    updateFields: changes.updateFields,
    desiredVersion,
    erasures: work.latestErasureId,
    writesContent: work.writesContent,
    // The setting `destination.suppress` of an audience.
    suppress: work.type.appliesSuppression(work.pipeline.destination) ? 'do-not-reach' : 'none',
    resync: unconfirmedRefreshes(work),
  }
}

/** Returns the ids of the plans of full refreshes whose unconfirmed keys the next plan sends too. May include this plan. */
function unconfirmedRefreshes({ input, full, resyncPlans, planId }: PlanWork): readonly string[] {
  if (!full && resyncPlans.length === 0) return []
  // This plan has all unconfirmed keys of the earlier plans, so it replaces them. The plan of `rerun --failed` has only some of the keys.
  const hasAllKeys = input.onlyFailedOf === undefined
  return hasAllKeys ? [planId] : [...resyncPlans, planId]
}

/** Closes the snapshot, and stores the digests of its records for the next read. Does nothing for an unchanged source. */
export async function endSnapshot({ tx, destinationId, run, input }: PlanWork): Promise<void> {
  if (input.reading === 'unchanged') return
  // After an incomplete read or a backfill no digests are kept, so that the next run reads the whole source.
  if (input.incomplete !== undefined || readsBackfillSource(run)) await deleteDigests(tx, destinationId)
  else if (input.reading === 'gated') await updateDigests(tx, destinationId, stagedKind.valid, input.unseen, input.quality)
  else await replaceDigests(tx, destinationId, stagedKind.valid, input.quality)
  const status = input.incomplete === undefined ? 'closed' : 'incomplete'
  await closeSnapshot(tx, input.snapshotId, { status, counts: input.rows })
}
