/**
 * Stores the row of a plan with its counts and its digest (of the bodies of all requests), and completes its snapshot. `freeze.ts` and
 * `freezeLoad.ts` make the requests, `planBatches.ts` stores them.
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

/** Figures of a stored plan; of its parts so far if the plan is stored in parts. */
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

/** Place of a part in its plan. A plan in one part is both first and last. */
export interface StoredPart {
  readonly isFirst: boolean
  readonly isLast: boolean
}

/**
 * Stores the counts and figures of the operations that are frozen so far, and the digest of the plan. `keyLookups`: number of products that
 * are put once more so that the next plan can delete them. `missing`: number of products that are sent although their row is missing.
 *
 * @throws {RunError} `RUN_INTERRUPTED` if another process ended the run
 */
export async function storePlan(
  work: PlanWork,
  changes: Changes,
  guarded: GuardedChanges,
  frozen: Frozen,
  { isFirst, isLast, keyLookups = 0, missing = 0 }: StoredPart & { readonly keyLookups?: number; readonly missing?: number },
): Promise<Planned> {
  const { tx, planId, run, destinationId, input } = work
  const { entries } = frozen
  const sentOrDeferred = Math.max(0, entries.create + entries.update - missing - keyLookups) + entries.renewal + guarded.deferred.valid
  // Unchanged rows, and the rows of later parts.
  const otherRows = Math.max(0, input.rows.valid - sentOrDeferred)
  const counts = {
    ...input.rows,
    unchanged: isLast ? otherRows : 0,
    stale: changes.diff.stale,
    creates: entries.create,
    updates: entries.update,
    deletes: entries.delete,
    renewals: entries.renewal,
    withheld: guarded.withheld,
    // Left for the next plan: the deletes of the products of key lookups; and, if this run is interrupted, the rows of the later parts.
    deferred: guarded.deferred.all + keyLookups + (isLast ? 0 : otherRows),
  }
  const isChanged = isDesiredChanged(changes, guarded.missing)
  await plans.storeFigures(tx, planId, {
    digest: frozen.bodies.copy().digest('hex'),
    counts,
    review: isFirst ? reviewOf(work, changes, await raiseDesiredVersion(tx, destinationId, isChanged ? 1 : 0)) : undefined,
  })
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

/** Returns the figures for the review, as stored in `plan.review`. */
function reviewOf(work: PlanWork, changes: Changes, desiredVersion: number): object {
  const { planId, input } = work
  return {
    updateFields: changes.updateFields,
    desiredVersion,
    erasures: work.latestErasureId,
    writesContent: work.writesContent,
    // The setting `destination.suppress` of an audience.
    suppress: work.type.heedsSuppression(work.pipeline.destination) ? 'do-not-reach' : 'none',
    // A plan takes over the outstanding keys of earlier full refreshes, except the plan of `rerun --failed`.
    resync: [...(input.onlyFailedOf === undefined ? [] : work.resyncPlans), ...(work.full || work.resyncPlans.length > 0 ? [planId] : [])],
  }
}

/** Closes the snapshot, and stores its digests, with which the next read is compared. Does nothing for an unchanged source. */
export async function endSnapshot({ tx, destinationId, run, input }: PlanWork): Promise<void> {
  if (input.reading === 'unchanged') return
  // After an incomplete read or a backfill there are no digests, so that the next run reads the whole source.
  if (input.incomplete !== undefined || readsBackfillSource(run)) await deleteDigests(tx, destinationId)
  else if (input.reading === 'gated') await updateDigests(tx, destinationId, stagedKind.valid, input.unseen, input.quality)
  else await replaceDigests(tx, destinationId, stagedKind.valid, input.quality)
  const status = input.incomplete === undefined ? 'closed' : 'incomplete'
  await closeSnapshot(tx, input.snapshotId, { status, counts: input.rows })
}
