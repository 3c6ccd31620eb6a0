import { RunError, UsageError } from '../../errors.ts'
import { deleteChangedInSync } from '../../db/changedKeys.ts'
import { raiseStateVersion, resumeDestination, readPauseReason, type PauseReason } from '../../db/destinations.ts'
import { decodePlanGuards, finishPlan, imageSampleOf, startPlan } from '../../db/plans.ts'
import { isOfLoad, markImpliedKeysVisible } from '../../db/impliedKeys.ts'
import { hasInterruptedRead } from '../../db/snapshots.ts'
import { readOptions } from '../../db/runs/columns.ts'
import { addWarnings, attachPlan } from '../../db/runs/update.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import { confirmationsOf } from '../../db/entries/read.ts'
import { replaceGroupContent, contentVersionOf } from '../../db/remote/referenceCounts.ts'
import type { DbRow, Value } from '../../db/row.ts'
import { noteOf } from '../../mapping/statistics/qualityCodes.ts'
import { warnOfBrokenImages } from './brokenImages.ts'
import { destinationOf } from '../../destinations/index.ts'
import { bindOrAssertDatabase } from '../databaseCopy.ts'
import { interruptedError, type EngineDeps } from '../engine.ts'
import { keepSetsOfRun } from './productSets.ts'
import { planCounts } from '../reports/planCounts.ts'
import { pushPlan } from '../push/push.ts'
import { acceptSandboxInstance, detectNewSandboxInstance } from './sandboxInstance.ts'
import { assertOwnCredentials, requestAndClaimById } from './requestAndClaim.ts'
import type { RunReport } from '../../model/report.ts'
import { runUnderLease, type Ending } from './runUnderLease.ts'
import { timedStage } from './timedStage.ts'

/**
 * Sends a stored plan in a new run, and returns the report of this run. In these cases it sends nothing:
 *
 * - A newer plan replaced it, or what is desired or confirmed changed since: error `PLAN_STALE` in the report.
 * - The plan was applied before: warning `PLAN_APPLIED` in the report.
 * - The pipeline is paused, or the destination is locked: the run is skipped.
 *
 * @throws {UsageError} `UNKNOWN_PLAN`, `PLAN_OF_ANOTHER_SERVICE`
 * @throws {RunError} `OTHER_CREDENTIALS`
 */
export async function applyPlan(deps: EngineDeps, planId: string): Promise<RunReport> {
  const [plan] = await deps.db.query<
    DbRow<'plan', 'pipeline' | 'destination_id'> & DbRow<'destination', 'service' | 'credentials'> & DbRow<'run', 'options'>
  >(
    `select p.pipeline, p.destination_id, d.service, d.credentials, u.options
     from plan p join destination d on d.id = p.destination_id join run u on u.id = p.run_id where p.id = $1`,
    [planId],
  )
  if (!plan) {
    throw new UsageError('UNKNOWN_PLAN', `there is no plan "${planId}". Nothing was sent.`, { where: planId, hint: 'sluice plan PIPELINE' })
  }
  if (plan.service !== deps.service.origin) {
    throw new UsageError(
      'PLAN_OF_ANOTHER_SERVICE',
      `plan ${planId} was made for ${plan.service}, not for ${deps.service.origin}. Nothing was sent.`,
      {
        where: planId,
        hint: `sluice plan ${plan.pipeline}`,
      },
    )
  }
  assertOwnCredentials(deps, plan.pipeline, plan.credentials)
  const claim = await requestAndClaimById(deps, plan.pipeline, plan.destination_id, { trigger: 'apply' })
  if ('report' in claim) return claim.report
  const { run } = claim
  return runUnderLease(deps, run, async (leased) => {
    await bindOrAssertDatabase(deps, run)
    if ((await startApplying(deps, run, planId)) === 'appliedBefore') {
      await warnAppliedBefore(deps, run, planId)
      return { status: 'succeeded', guards: [] }
    }
    const isAccepted = await acceptSandboxInstance(deps, run, readOptions(plan.options))
    // In a sandbox that was restarted without its state, the stored ids may belong to other product sets. Only a full refresh changes sets
    // there.
    const changesSets = isAccepted || !(await detectNewSandboxInstance(deps, run))
    await resumeDestination(deps.db, run.destinationId)
    return sendPlan(leased, run, planId, { imageSample: await imageSampleOf(deps.db, planId), changesSets })
  })
}

/**
 * Prepares a stored plan for its push, by its status:
 *
 * - `ready`: marks it as `applying`, and attaches it to the run.
 * - `applying`, after an interrupted apply: only attaches it, unless the desired content has changed.
 * - `applied`: does nothing.
 *
 * The service may delete a whole user by one identifier (docs/guarantees.md#reference-counts). So all identifiers of a changed user get one
 * new desired content, here or already when the plan was made. This makes all of them out of sync, so this plan sends all of them again. If
 * it is interrupted, the next plan does.
 *
 * @throws {RunError} `PLAN_STALE`; `RUN_INTERRUPTED` if another process ended the run
 */
export async function startApplying(deps: EngineDeps, run: ClaimedRun, planId: string): Promise<'started' | 'appliedBefore'> {
  return deps.db.transaction(async (tx) => {
    const [row] = await tx.query<
      DbRow<'plan', 'status' | 'pipeline' | 'destination_id' | 'snapshot_id'> &
        DbRow<'destination', 'kind' | 'state_version'> & {
          plan_version: Value<'plan', 'state_version'>
          desired_changed: boolean
          content_written: boolean
        }
    >(
      `select p.status, p.pipeline, p.destination_id, p.snapshot_id, p.state_version as plan_version, d.kind, d.state_version,
         coalesce((p.review ->> 'desiredVersion')::bigint <> d.desired_version, false) as desired_changed,
         coalesce((p.review ->> 'writesContent')::boolean, false) as content_written
       from plan p join destination d on d.id = p.destination_id where p.id = $1 for update of p, d`,
      [planId],
    )
    if (!row) throw new Error(`plan ${planId} is not stored`)
    if (row.status === 'applied') return 'appliedBefore'
    if (row.status === 'superseded')
      throw staleError(planId, row.pipeline, 'a newer plan replaced it, it expired, or its destination was removed')
    if (row.status === 'ready' && row.plan_version !== row.state_version)
      throw staleError(planId, row.pipeline, 'the synced state changed after it was made')
    // The plan may send people who are no longer in the source, or who must not be sent now (docs/guarantees.md#suppression-wins).
    if (row.desired_changed) throw staleError(planId, row.pipeline, 'a later read of the source changed the desired content')
    if (destinationOf(row.kind).reachesPeople && (await hasInterruptedRead(tx, row.destination_id)))
      throw staleError(
        planId,
        row.pipeline,
        'a later read of the source was interrupted before its plan, and people may have opted out in it',
      )
    if (row.status === 'ready') {
      if (!row.content_written)
        await replaceGroupContent(
          tx,
          row.destination_id,
          `select distinct e.record_key as group_key, ${contentVersionOf('$2', 'e.record_key')} as content_version
           from batch b cross join ${confirmationsOf('b.id')} e
           -- Updates of a first load have no new content.
           where b.plan_id = $2 and (b.operation = 'delete' or not ${isOfLoad('b')})
             and (b.operation = 'delete' or e.hash = ${contentVersionOf('$2', 'e.record_key')})`,
          [planId],
        )
      await startPlan(tx, planId)
      await raiseStateVersion(tx, row.destination_id)
    }
    // False: another process has ended this run.
    if (!(await attachPlan(tx, run, { planId, snapshotId: row.snapshot_id }))) throw interruptedError('otherProcess')
    return 'started'
  })
}

/** Adds the warning `PLAN_APPLIED` to the run. The warning names the first run that sent the plan, if that run is still stored. */
async function warnAppliedBefore(deps: EngineDeps, run: ClaimedRun, planId: string): Promise<void> {
  const [earlier] = await deps.db.query<DbRow<'run', 'id'>>(
    `select id from run where plan_id = $1 and trigger <> 'plan' order by id limit 1`,
    [planId],
  )
  const by = earlier === undefined ? '' : ` by run r_${earlier.id}`
  await addWarnings(deps.db, run, [noteOf('PLAN_APPLIED', `plan ${planId} was applied before${by}, so nothing was sent`)], 'first')
}

function staleError(planId: string, pipeline: string, why: string): RunError {
  return new RunError('PLAN_STALE', `plan ${planId} is stale: ${why}. Nothing was sent.`, {
    where: planId,
    hint: `sluice plan ${pipeline}`,
  })
}

/**
 * Sends a started plan, then changes the planned product sets and checks image links.
 *
 * - `imageSample`: maximum number of image links to check; undefined: none
 * - `changesSets`: false skips the product sets
 * - `push`: waits for the end of a push that already runs; undefined: this function pushes the plan
 */
export async function sendPlan(
  deps: EngineDeps,
  run: ClaimedRun,
  planId: string,
  options: {
    readonly imageSample: number | undefined
    readonly changesSets?: boolean
    readonly push?: (() => Promise<void>) | undefined
  },
): Promise<Ending> {
  const { imageSample, changesSets = true, push = () => timedStage(deps, run, 'push', () => pushPlan(deps, planId)) } = options
  const marking = markImpliedKeysVisible(deps.db, planId)
  // `await marking` throws its error after the push. Thrown earlier, the error would end the run while the push is sending.
  marking.catch(() => undefined)
  await push()
  await marking
  const concluded = await concludePlan(deps, planId)
  const ending = changesSets ? await keepSetsOfRun(deps, run, planId, concluded) : concluded
  if (imageSample !== undefined) await timedStage(deps, run, 'images', () => warnOfBrokenImages(deps, run, imageSample))
  return ending
}

/**
 * Returns the run's status from the counts after the push. If no operation is pending or superseded, marks the plan as applied. Then also
 * deletes the keys in sync from `changed_key`, the list of keys that the next plan compares.
 */
async function concludePlan(deps: EngineDeps, planId: string): Promise<Ending> {
  const counts = await planCounts(deps.db, planId)
  const [row] = await deps.db.query<
    DbRow<'destination', 'paused_reason'> & DbRow<'plan', 'pipeline' | 'destination_id' | 'guards'> & { deferred: number }
  >(
    `select p.destination_id, d.paused_reason, p.pipeline, p.guards, coalesce((p.counts ->> 'deferred')::int, 0) as deferred
     from plan p join destination d on d.id = p.destination_id where p.id = $1`,
    [planId],
  )
  if (row === undefined) throw new Error(`plan ${planId} is not stored`)
  const guards = decodePlanGuards(row.guards, planId)
  if (counts.pending === 0) {
    await finishPlan(deps.db, planId)
    await deleteChangedInSync(deps.db, row.destination_id)
  }
  if (deps.signal?.aborted && counts.pending > 0) return { status: 'cancelled', guards, error: interruptedError() }
  if (row.paused_reason !== null) {
    const error = pauseError(readPauseReason(row.paused_reason), row.pipeline)
    return { status: counts.confirmed === 0 ? 'failed' : 'partial', guards, error }
  }
  if (guards.length > 0) return { status: 'withheld', guards }
  const unconfirmedCount = counts.refused + counts.ambiguous + counts.pending + row.deferred
  return { status: unconfirmedCount > 0 ? 'partial' : 'succeeded', guards }
}

/** Codes of pauses that are also error codes. The error of another pause has the code `DESTINATION_PAUSED`. */
const pauseCodes = ['CREDENTIALS_REFUSED', 'SERVICE_UNREACHABLE'] as const

function pauseError({ code, text }: PauseReason, pipeline: string): RunError {
  const options = { where: pipeline, hint: 'sluice doctor' }
  const errorCode = pauseCodes.find((pauseCode) => pauseCode === code)
  return errorCode === undefined ? new RunError('DESTINATION_PAUSED', `${code}: ${text}`, options) : new RunError(errorCode, text, options)
}
