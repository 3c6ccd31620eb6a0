import pLimit from 'p-limit'
import { connectionOf, type Connection, type Database } from '../../db/database.ts'
import { storeImageSample } from '../../db/plans.ts'
import { endFalseWaits } from '../../db/remote/lateRequests.ts'
import type { DbRow, Value } from '../../db/row.ts'
import { updateRun } from '../../db/runs/update.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import { backfillCommandOf, readsBackfillSource } from '../../db/runs/request.ts'
import { discardSnapshot, hasUnplannedOptOuts, markUnplannedOptOuts } from '../../db/snapshots.ts'
import { releaseWithTables } from '../../db/temporaryTables.ts'
import { destinationOf } from '../../destinations/index.ts'
import { RunError } from '../../errors.ts'
import { hashOfDefinitionAndRules } from '../../mapping/mapper.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { noCounts, type GuardResult } from '../../model/report.ts'
import { runCancellable } from './cancelStatements.ts'
import { interruptedError, type EngineDeps } from '../engine.ts'
import { planErasures } from '../erasure/forget.ts'
import { loadRun } from '../reports/history.ts'
import { guardResultOfRejects } from '../plan/reasonsToWithhold.ts'
import { makePlan, type Planned, type PlanInput } from '../plan/plan.ts'
import { guardResultsOfWarnings, RunWithheld } from '../plan/qualityGuard.ts'
import { planSetsOfRun } from './productSets.ts'
import { prepareSending } from '../push/push.ts'
import { recoverAndResend, resendErasures } from '../push/recoverAndResend.ts'
import { withBackfillSource } from '../read/backfillSource.ts'
import { findOptedOutEntries, hasStoredRecordOptedOut, outdatePlansWithOptOuts } from '../read/optedOut.ts'
import { readSnapshot, type SnapshotResult } from '../read/snapshot.ts'
import { createStage } from '../read/stageTable.ts'
import { logFailure } from './runLog.ts'
import { timedStage } from './timedStage.ts'
import { acceptSandboxInstance, detectNewSandboxInstance, isFullRefresh } from './sandboxInstance.ts'

/**
 * After a full read of at least this number of rows, the connection is closed. To empty its temporary tables would take longer than to
 * open another connection.
 */
const closedFromRows = 100_000

/** Plan of a run, or the guard results that stopped the run. */
export interface PlanOutcome {
  readonly planned: Planned | undefined
  readonly guards: readonly GuardResult[]
  /** Text for the user: how the end of the sources was proven, why it was not, or why nothing was read. */
  readonly proof: string
}

/**
 * Reads the sources, resolves the requests of earlier runs that may or may not have been applied, and stores a plan. The read comes first,
 * because people in these requests may have opted out since. `sluice plan` resolves no requests; `rerun --failed` reads nothing. If a guard
 * stops the run, discards the stored result of the read (snapshot). After a read without a plan, waiting plans with people who opted out
 * become stale.
 *
 * `onPart`: called when a part of a large first load is stored and may be sent. `rows`: number of valid rows of the whole read.
 *
 * @throws {RunError} `RUN_INTERRUPTED` after an abort of `deps.signal`, `PIPELINE_CHANGED`, `OPT_OUTS_UNPLANNED`, and errors of the read
 * and of the plan
 */
export async function readAndPlan(
  deps: EngineDeps,
  configured: Pipeline,
  run: ClaimedRun,
  onPart?: (planId: string, rows: number) => Promise<void>,
): Promise<PlanOutcome> {
  await planErasures(deps)
  const pipeline = run.options.source === undefined ? configured : await withBackfillSource(configured, run.options.source)
  let snapshot: SnapshotResult | undefined
  const client = await deps.db.connect()
  const tx = connectionOf(client)
  let isReusable = false
  try {
    snapshot = await orSendErasureDeletes(deps, run, readUnlessFailedOnly(deps, tx, pipeline, run))
    if (snapshot !== undefined) await orSendErasureDeletes(deps, run, applyReadGuards(deps, pipeline, run, snapshot))
    const input = snapshot ?? (await prepareInputWithoutRead(deps, tx, run))
    if (run.trigger !== 'plan') {
      await resolveEarlierRequests(deps, run, tx)
      await waitForLateArrivals(deps, run.destinationId)
    }
    if (deps.signal?.aborted) throw interruptedError()
    const planned = await planRun(deps, tx, { pipeline, run, input, onPart: onPart && ((id) => onPart(id, input.rows.valid)) })
    if (deps.signal?.aborted) throw interruptedError()
    isReusable = input.reading !== 'full' || input.rows.read < closedFromRows
    return { planned, guards: planned.guards, proof: proofOf(snapshot) }
  } catch (error) {
    const discarding = discardRead(deps.db, tx, pipeline, run, snapshot)
    if (error instanceof RunWithheld) {
      await discarding
      return { planned: undefined, guards: error.results, proof: proofOf(snapshot) }
    }
    await discarding.catch(
      logFailure(
        deps,
        run,
        'the opt-outs of this read could not be stored: plans, backfills and reruns of failed operations wait for another read',
      ),
    )
    throw error
  } finally {
    // After an error the connection is closed, because a transaction may be open.
    if (isReusable) void releaseWithTables(client)
    else client.release(true)
  }
}

/**
 * Discards the snapshot of a read from which no plan was made; does nothing without a read. The stored records do not show the opt-outs in
 * it. So first makes waiting plans with these people stale. Also marks the snapshot, so that no backfill and no rerun of failed operations
 * sends them. If that fails, the snapshot stays open, and counts as interrupted (`hasInterruptedRead`).
 */
async function discardRead(
  db: Database,
  tx: Connection,
  { destination }: Pipeline,
  { destinationId }: ClaimedRun,
  snapshot: SnapshotResult | undefined,
): Promise<void> {
  if (snapshot === undefined) return
  const { snapshotId, rows } = snapshot
  if (destinationOf(destination.kind).reachesPeople) {
    await outdatePlansWithOptOuts(tx, destinationId)
    if (await hasStoredRecordOptedOut(tx, destinationId)) await markUnplannedOptOuts(db, snapshotId)
  }
  await discardSnapshot(db, snapshotId, rows)
}

function proofOf(snapshot: SnapshotResult | undefined): string {
  return snapshot?.proof ?? 'nothing was read: only failed operations are sent again'
}

/** Resends the unresolved requests of earlier runs, without people who opted out since. */
async function resolveEarlierRequests(deps: EngineDeps, run: ClaimedRun, tx: Connection): Promise<void> {
  // `findOptedOut` is called for several requests at a time, but its searches share one connection.
  const inTurn = pLimit(1)
  await timedStage(deps, run, 'settle', () =>
    recoverAndResend(deps, run.destinationId, {
      runId: run.id,
      findOptedOut: (batch) => inTurn(() => findOptedOutEntries(tx, batch)),
    }),
  )
}

/**
 * Returns the result of `work`. If `work` fails, sends the deletes of erased people before it throws the error. `work` fails by an error of
 * the read, or by a guard that stops the run. The deletes cannot wait for a later run, because that may be stopped too. Only logs errors of
 * this sending.
 */
async function orSendErasureDeletes<Result>(deps: EngineDeps, run: ClaimedRun, work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (run.trigger !== 'plan' && !deps.signal?.aborted)
      await resendErasures(deps, run.destinationId, run.id).catch(
        logFailure(deps, run, 'the deletes of erased people could not be sent; the next run tries again'),
      )
    throw error
  }
}

/**
 * Reads the sources, and stores the row counts and the snapshot with the run. For a rerun of failed operations reads nothing, and returns
 * undefined.
 */
async function readUnlessFailedOnly(
  deps: EngineDeps,
  tx: Connection,
  pipeline: Pipeline,
  run: ClaimedRun,
): Promise<SnapshotResult | undefined> {
  const { failedOnly } = run.options
  if (failedOnly || readsBackfillSource(run)) await assertNoUnplannedOptOuts(deps, pipeline, run)
  if (failedOnly) {
    await assertDefinitionOfLastRead(deps, pipeline, run)
    return undefined
  }
  const snapshot = await timedStage(deps, run, 'read', () => readSnapshot(deps, tx, pipeline, run))
  await updateRun(deps.db, run, { counts: { ...noCounts, ...snapshot.rows }, snapshotId: snapshot.snapshotId })
  return snapshot
}

/**
 * Applies the guards that stop a run before its plan is made.
 *
 * @throws {RunWithheld} if too many rows of a changed source were rejected, or a warning stops the run
 */
async function applyReadGuards(
  deps: EngineDeps,
  pipeline: Pipeline,
  run: ClaimedRun,
  { reading, rows, warnings }: SnapshotResult,
): Promise<void> {
  if (reading !== 'unchanged') {
    const rejectsGuard = guardResultOfRejects({
      guards: pipeline.guards,
      read: rows.read,
      rejected: rows.rejected,
      filtered: rows.filtered,
      pipeline: pipeline.name,
      run: `r_${run.id}`,
      codes: (await loadRun(deps.db, `r_${run.id}`)).rejectCodes ?? [],
    })
    if (rejectsGuard) throw new RunWithheld([rejectsGuard])
  }
  const notes = guardResultsOfWarnings(pipeline, warnings, { backfillCommand: backfillCommandOf(run) })
  if (notes.length > 0) throw new RunWithheld(notes)
}

/** Makes the plan, and plans the product sets. In a `plan` run, stores the number of images that `applyPlan` checks. */
async function planRun(
  deps: EngineDeps,
  tx: Connection,
  options: {
    readonly pipeline: Pipeline
    readonly run: ClaimedRun
    readonly input: PlanInput
    readonly onPart: ((planId: string) => Promise<void>) | undefined
  },
): Promise<Planned> {
  const { pipeline, run, input, onPart } = options
  const isNewSandbox = await detectNewSandboxInstance(deps, run)
  const onIdle = run.trigger === 'plan' ? undefined : () => prepareSending(deps)
  const planned = await timedStage(deps, run, 'plan', () =>
    runCancellable(deps, tx.client, () => makePlan(deps, tx, pipeline, run, input, { onPart, onIdle })),
  )
  const { imageSample } = pipeline.mapping
  if (imageSample !== undefined && run.trigger === 'plan') await storeImageSample(deps.db, planned.planId, imageSample)
  // In a sandbox that was restarted without its state, the stored ids may belong to other product sets. Only a full refresh plans sets
  // there.
  if (!isNewSandbox || (await acceptForFullRefresh(deps, run))) await planSetsOfRun(deps, run, pipeline, planned.planId, { isNewSandbox })
  return planned
}

/**
 * Returns true for a full refresh, which sends everything to the restarted sandbox. Then also stores the new instance. In a `plan` run,
 * `applyPlan` stores it, because the plan may never be sent.
 */
async function acceptForFullRefresh(deps: EngineDeps, run: ClaimedRun): Promise<boolean> {
  return run.trigger === 'plan' ? isFullRefresh(run.options) : acceptSandboxInstance(deps, run, run.options)
}

/**
 * Throws if people opted out, or may have, in a read from which no plan was made. A backfill or a rerun of failed operations also sends
 * stored records, and these do not show the opt-outs.
 *
 * @throws {RunError} `OPT_OUTS_UNPLANNED`
 */
async function assertNoUnplannedOptOuts(deps: EngineDeps, pipeline: Pipeline, run: ClaimedRun): Promise<void> {
  if (!destinationOf(pipeline.destination.kind).reachesPeople || !(await hasUnplannedOptOuts(deps.db, run.destinationId))) return
  throw new RunError(
    'OPT_OUTS_UNPLANNED',
    `people opted out of ${pipeline.name}, or may have, in a read from which no plan was made. This run would ignore that. Nothing was sent.`,
    { where: pipeline.name, hint: `sluice run ${pipeline.name}` },
  )
}

/**
 * Throws if the mapping of the pipeline changed since the stored records were read. A consent column may be new: without a read, the run
 * could send people who say no in it.
 *
 * @throws {RunError} `PIPELINE_CHANGED`
 */
async function assertDefinitionOfLastRead(deps: EngineDeps, pipeline: Pipeline, run: ClaimedRun): Promise<void> {
  // A read without a plan changed no record.
  const [last] = await deps.db.query<DbRow<'snapshot', 'definition_hash'>>(
    `select s.definition_hash from snapshot s
     where s.destination_id = $1 and exists (select from plan p where p.snapshot_id = s.id) order by s.id desc limit 1`,
    [run.destinationId],
  )
  if (last === undefined || last.definition_hash === hashOfDefinitionAndRules(pipeline)) return
  throw new RunError(
    'PIPELINE_CHANGED',
    `${pipeline.name} maps rows by other settings than at its last read. A rerun of failed operations would ignore them. Nothing was sent.`,
    { where: pipeline.file, hint: `sluice run ${pipeline.name}` },
  )
}

/**
 * Returns the input of a plan without a read, and creates the table `stage` (the rows of a read) without rows. `snapshotId`: last complete
 * snapshot; 0 if there is none.
 */
export async function prepareInputWithoutRead(deps: EngineDeps, tx: Connection, run: ClaimedRun): Promise<PlanInput> {
  await createStage(tx)
  const [last] = await deps.db.query<{ id: Value<'snapshot', 'id'> | null }>(
    `select max(id) as id from snapshot where destination_id = $1 and status = 'closed'`,
    [run.destinationId],
  )
  return {
    snapshotId: Number(last?.id ?? 0),
    rows: { read: 0, rejected: 0, duplicates: 0, suppressed: 0, valid: 0 },
    reading: 'unchanged',
    unseen: [],
    previousValid: undefined,
    fallenSources: [],
    lostIds: undefined,
    incompleteReason: undefined,
    suppressedBy: [],
    ...(run.rerunOf === null ? {} : { onlyFailedOf: run.rerunOf }),
  }
}

/** Added to a wait, because Node's timer may end before that time on the database's clock. Then the plan would defer the keys. */
const timerSlackMs = 50

/**
 * Waits until the service can no longer apply an abandoned request. Only then may its keys be sent again (docs/guarantees.md#key-order).
 * Waits at most `horizonMs` (docs/decisions/late-arrival-horizon.md). The plan defers keys that need longer.
 */
async function waitForLateArrivals(deps: EngineDeps, destinationId: number): Promise<void> {
  const [row] = await deps.db.query<{ ms: string | null }>(
    `select extract(epoch from max(late_until) - statement_timestamp()) * 1000 as ms
     from remote where destination_id = $1 and late_until is not null`,
    [destinationId],
  )
  const leftMs = Number(row?.ms ?? 0)
  if (leftMs <= 0) return
  const { horizonMs } = deps.settings
  const ms = Math.min(leftMs, horizonMs)
  deps.onProgress?.({ stage: 'plan', done: 0, waiting: `waiting ${Math.ceil(ms / 1000)} s: an earlier request may still complete` })
  await deps.clock.sleep(ms + timerSlackMs, deps.signal)
  // The longest correct wait is two horizons, for the second delete of a suppressed person. If a longer one is stored, a clock was wrong.
  if (leftMs > 2 * horizonMs) await endFalseWaits(deps.db, destinationId, 2 * horizonMs)
}
