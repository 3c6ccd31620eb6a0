import { randomBytes } from 'node:crypto'
import { addDuration } from '../../mapping/instant.ts'
import type { Duration, Pipeline } from '../../model/pipeline.ts'
import { ChangedKeys } from '../../db/changedKeys.ts'
import type { Transaction } from '../../db/database.ts'
import { latestErasure } from '../../db/erasures.ts'
import { supersedeUnsent } from '../../db/batches/release.ts'
import { supersedeApplying } from '../../db/plans.ts'
import { hasRows } from '../../db/queryable.ts'
import { readsBackfillSource } from '../../db/runs/request.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import { mayHaveImpliedKeys } from '../../db/impliedKeySearch.ts'
import { contentVersionOf } from '../../db/remote/referenceCounts.ts'
import { storeAllKeys, storeOpenKeys } from '../../db/remote/implied.ts'
import type { DbRow } from '../../db/row.ts'
import { crashPoint } from '../crashPoint.ts'
import type { EngineDeps } from '../engine.ts'
import type { SnapshotResult } from '../read/snapshot.ts'
import type { DesiredContext } from './sharedDesiredSteps.ts'
import { desiredIdentifiers } from './desiredIdentifiers.ts'
import { desiredProducts } from './desiredProducts.ts'
import type { DesiredStateSteps } from './desiredState.ts'
import { isUntouched } from './firstLoad.ts'
import type { MembershipTerms } from './packUsers.ts'
import { collectResync, type PendingChanges, type PendingContext } from './pendingChanges.ts'
import { pendingGroups, type MembershipContext } from './pendingGroups.ts'
import { pendingProducts } from './pendingProducts.ts'
import { destinationOf } from '../../destinations/index.ts'
import type { Destination, MembershipSettings } from '../../destinations/destination.ts'

/**
 * Result of a read. If the run reads nothing (`rerun --failed`, or the repair of an audit), its `reading` is `unchanged`, as for an
 * unchanged source.
 */
export interface PlanInput extends Omit<SnapshotResult, 'proof' | 'warnings'> {
  /** Run that `rerun --failed` repeats. Only keys with an unconfirmed operation of this run are sent. */
  readonly onlyFailedOf?: number
  /** For the repair of an audit: marks products as out of sync, at the start of the transaction. */
  readonly prepare?: (tx: Transaction) => Promise<unknown>
}

/** Shared data of all steps of one plan. */
export interface PlanWork {
  readonly deps: EngineDeps
  readonly tx: Transaction
  readonly pipeline: Pipeline
  readonly type: Destination
  readonly run: ClaimedRun
  readonly input: PlanInput
  readonly planId: string
  readonly destinationId: number
  /** Version of the synced state on which the plan is based. */
  readonly stateVersion: string
  /** Time of the plan by the clock of the database, in whole seconds. */
  readonly plannedAtMs: number
  readonly desired: DesiredStateSteps
  readonly pending: PendingChanges
  /**
   * True if this plan writes the new content of changed groups (the identifiers that are sent as one user). False for `sluice plan`:
   * `startApplying` writes it. Also false if no plan of the destination was started yet: then no group has changed.
   */
  readonly writesContent: boolean
  /** Settings of memberships; undefined for a catalog. */
  readonly terms: MembershipTerms | undefined
  /** True for a full refresh: every desired key is sent, also those in sync. */
  readonly isFullRefresh: boolean
  /** Ids of plans of full refreshes that are not fully confirmed. This plan sends their unconfirmed keys too. */
  readonly resyncPlans: readonly string[]
  /** True if the destination has no record, no key and no open batch, and every row of the read is staged. */
  readonly isFirstLoad: boolean
  /** True if the run reads a backfill source or nothing, instead of the pipeline's own sources. Then no record counts as missing. */
  readonly ignoresMissing: boolean
  /** Id of the newest erasure; 0 if none. The push removes the people of later erasures from batches of this plan. */
  readonly latestErasureId: number
  /** True for `rerun --failed` and the repair of an audit. */
  readonly readsNothing: boolean
  /** Called when Postgres starts a long statement, during which this process is idle. Not called for an unchanged source. */
  readonly onIdle: (() => void) | undefined
}

/**
 * Prepares a plan: locks the destination, and supersedes started plans with their unsent batches. Stores rows for implied keys
 * (docs/decisions/implied-keys.md) that the plan must see in `remote`. Returns the shared data of the plan's steps.
 */
export async function preparePlanWork(
  deps: EngineDeps,
  tx: Transaction,
  pipeline: Pipeline,
  run: ClaimedRun,
  input: PlanInput,
  onIdle?: () => void,
): Promise<PlanWork> {
  const { destination } = pipeline
  const { destinationId } = run
  const planId = `p_${randomBytes(5).toString('hex')}`
  await input.prepare?.(tx)
  const { stateVersion, allChanged, plannedAtMs } = await lockDestination(tx, destinationId)
  const latestErasureId = await latestErasure(tx, deps.service.origin)
  const type = destinationOf(destination.kind)
  const membership = type.membership(destination)
  const changed = new ChangedKeys(tx, destinationId, allChanged)
  const isFullRefresh = run.options.full ?? false
  await storeOpenKeys(tx, destinationId, changed)
  if (isFullRefresh) await storeAllKeys(tx, destinationId)
  crashPoint('plan.keys_stored')
  await supersedeUnsent(tx, destinationId)
  await supersedeApplying(tx, destinationId)
  const resyncPlans = await collectResync(tx, destinationId)
  const hasStartedPlan = await hasRows(tx, `select from plan where destination_id = $1 and status <> 'ready'`, [destinationId])
  const writesContent = run.trigger !== 'plan' && hasStartedPlan
  const readsNothing = input.onlyFailedOf !== undefined || input.prepare !== undefined
  const context: DesiredContext = {
    tx,
    destinationId,
    snapshotId: input.snapshotId,
    mayImplyKeys: await mayHaveImpliedKeys(tx, destinationId),
    changed,
    newContent: writesContent ? (group) => contentVersionOf(`'${planId}'`, group) : undefined,
  }
  const pending: PendingContext = {
    tx,
    destinationId,
    isFullRefresh,
    changed,
    planId,
    onlyFailedOf: input.onlyFailedOf,
    hasResync: resyncPlans.length > 0,
  }
  const stepsOfType =
    membership === undefined
      ? { desired: desiredProducts(context), pending: pendingProducts(pending), terms: undefined }
      : stepsOfMembers(context, { ...pending, hasStartedPlan, writesContent }, membership, plannedAtMs)
  return {
    deps,
    tx,
    pipeline,
    type,
    run,
    input,
    planId,
    destinationId,
    stateVersion,
    plannedAtMs,
    writesContent,
    ...stepsOfType,
    isFullRefresh,
    resyncPlans,
    isFirstLoad: input.reading === 'full' && (await isUntouched(tx, destinationId)),
    ignoresMissing: readsBackfillSource(run) || readsNothing,
    latestErasureId,
    readsNothing,
    onIdle,
  }
}

/** Locks the destination's row until the end of the transaction. Returns two of its columns, and the time of the plan. */
async function lockDestination(tx: Transaction, destinationId: number) {
  const [row] = await tx.query<DbRow<'destination', 'state_version' | 'all_changed'> & { readonly now_ms: string }>(
    `select state_version, all_changed, extract(epoch from statement_timestamp()) * 1000 as now_ms
     from destination where id = $1 for update`,
    [destinationId],
  )
  if (row === undefined) throw new Error(`destination ${destinationId} is not stored`)
  const plannedAtMs = Math.floor(Number(row.now_ms) / 1000) * 1000
  return { stateVersion: row.state_version, allChanged: row.all_changed, plannedAtMs }
}

function stepsOfMembers(
  context: DesiredContext,
  pending: Omit<MembershipContext, 'renewBeforeMs' | 'endsExactly' | 'terms'>,
  { expiresIn, renewBefore, usersPerOperation, takesEffectiveAt, endsExactly }: MembershipSettings,
  plannedAtMs: number,
): Pick<PlanWork, 'desired' | 'pending' | 'terms'> {
  const terms = { plannedAtMs, expiresAtMs: addDuration(plannedAtMs, expiresIn), usersPerOperation, takesEffectiveAt }
  return {
    desired: desiredIdentifiers(context),
    pending: pendingGroups({ ...pending, terms, renewBeforeMs: durationMs(renewBefore), endsExactly }),
    terms,
  }
}

/** Returns a duration in milliseconds, with 30 days for each month. */
function durationMs(duration: Duration): number {
  return 'ms' in duration ? duration.ms : duration.months * 30 * 86_400_000
}
