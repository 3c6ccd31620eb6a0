import type { Pipeline } from '../../model/pipeline.ts'
import { causeOf } from '../../db/cursor.ts'
import { inTransaction, openConnections, type Connection, type Transaction } from '../../db/database.ts'
import { markRecordsVisible, recordPages } from '../../db/records.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import { removeOrWithhold } from './removeOrWithhold.ts'
import { applyChanges } from './applyChanges.ts'
import { crashPoint } from '../crashPoint.ts'
import { maxParallelRecordings, type EngineDeps } from '../engine.ts'
import { freeze } from './freeze.ts'
import { areDigestsWithoutTimes, freezeChanges } from './freezeChanges.ts'
import type { PlannedPart } from './loadParts.ts'
import type { MembershipTerms } from './packUsers.ts'
import { preparePlanWork, type PlanInput, type PlanWork } from './planWork.ts'
import { endSnapshot, insertPlan, storePlan, type Planned } from './storePlan.ts'

export type { PlanInput } from './planWork.ts'
export type { Planned } from './storePlan.ts'

export interface PlanCallbacks {
  /** Called after each stored part of a first load in several parts. The part may then be sent. Without `onPart`, the plan has one part. */
  readonly onPart?: ((planId: string) => Promise<void>) | undefined
  /** As `PlanWork.onIdle`. */
  readonly onIdle?: (() => void) | undefined
}

/**
 * Makes a plan in one transaction. Updates the desired state, applies the guards, freezes the operations (stores the bodies of requests)
 * and completes the snapshot. A first load of many people has one transaction for each of its parts, and one for the snapshot
 * (`loadParts.ts`).
 *
 * @throws {RunWithheld} if a guard stops the run
 * @throws {RunError} `RUN_INTERRUPTED` if another process ended the run, or the plan of another run has replaced this plan
 */
export async function makePlan(
  deps: EngineDeps,
  connection: Connection,
  pipeline: Pipeline,
  run: ClaimedRun,
  input: PlanInput,
  { onPart, onIdle }: PlanCallbacks = {},
): Promise<Planned> {
  let makePart = async (tx: Transaction) =>
    makePlanOrFirstPart(await preparePlanWork(deps, tx, pipeline, run, input, onIdle), { inParts: onPart !== undefined })
  for (;;) {
    const pagesBefore = await recordPages(connection)
    const { planned, next, hasLoadedRecords } = await inPlanTransaction(connection, makePart)
    if (next !== undefined) await onPart?.(planned.planId)
    if (hasLoadedRecords) await markRecordsVisible(connection, pagesBefore)
    if (next === undefined) return planned
    makePart = next
  }
}

/** Runs `makePart` in a transaction. Repeats it after a deadlock, for example with a worker that records an answer. */
async function inPlanTransaction(connection: Connection, makePart: (tx: Transaction) => Promise<PlannedPart>): Promise<PlannedPart> {
  const part = await inTransaction(connection, async (tx) => {
    // Enough for hash aggregates of a few million digests. More does not speed up the diff.
    await tx.query(`set local work_mem = '64MB'`)
    try {
      const result = await makePart(tx)
      crashPoint('plan.before_commit')
      return result
    } catch (thrown) {
      throw causeOf(tx.client, thrown)
    }
  })
  crashPoint('plan.after_commit')
  return part
}

/** Makes the whole plan, or the first part of a load in parts. */
async function makePlanOrFirstPart(work: PlanWork, { inParts }: { readonly inParts: boolean }): Promise<PlannedPart> {
  const { deps, tx, destinationId, planId, pending, terms } = work
  deps.onProgress?.({ stage: 'diff', done: 0 })
  const changes = await applyChanges(work)
  const guarded = await removeOrWithhold(work, changes)
  crashPoint('plan.guarded')
  const { firstLoad } = changes
  // Untimed: no row sets a start or end. Then the operations come from the records, not from a table of pending changes.
  const isUntimedLoad = firstLoad?.isUntimed === true
  if (!isUntimedLoad) await pending.unifyGroups()

  deps.onProgress?.({ stage: 'plan', done: 0 })
  await insertPlan(work, guarded.results)
  if (firstLoad?.implyingRunId !== undefined && terms !== undefined) {
    const { firstPart, planPart } = await import('./loadParts.ts')
    return planPart(firstPart({ work, changes, guarded, firstLoad, terms }, { inParts }))
  }
  const onProgress = (done: number) => deps.onProgress?.({ stage: 'plan', done })
  const context = { tx, destination: work.type, planId, destinationId, lastSeq: 0, onProgress }
  const frozen =
    terms !== undefined && firstLoad === undefined && (await canFreezeFromBytes(work, terms))
      ? await freezeChanges(context, terms)
      : await freeze(pending.operations(firstLoad), context)
  crashPoint('plan.frozen')
  // The push needs these connections. Opening them takes 40 ms, as long as the rest of a small plan.
  if (work.run.trigger !== 'plan') void openConnections(deps.db, Math.min(frozen.batches, maxParallelRecordings) + 1)
  const keyLookups = isUntimedLoad ? 0 : await pending.countKeyLookups()
  const withoutRow = isUntimedLoad ? 0 : await pending.countWithoutValidRow()
  await endSnapshot(work)
  const planned = await storePlan(work, changes, guarded, frozen, { isFirst: true, isLast: true, keyLookups, withoutRow })
  return { planned, next: undefined, hasLoadedRecords: firstLoad !== undefined }
}

/**
 * Returns true if the faster `freezeChanges` can replace `freeze`. For `rerun --failed` it cannot, because `pending_group` then lacks
 * `keys_to_delete`.
 */
async function canFreezeFromBytes({ tx, destinationId, type, input }: PlanWork, { usersPerOperation }: MembershipTerms): Promise<boolean> {
  if (usersPerOperation > 1 || type.evidence !== 'counts' || input.onlyFailedOf !== undefined) return false
  return areDigestsWithoutTimes(tx, destinationId)
}
