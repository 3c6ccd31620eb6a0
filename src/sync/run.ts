/**
 * Carries out a run: settles open batches of earlier runs, reads, plans, pushes, writes the final counts. Its end and reason are
 * written to the `run` table; after a kill, the next run or worker does that.
 */
import { RunError, UsageError } from '../errors.ts'
import type { Pipeline } from '../model/pipeline.ts'
import { loadPipeline } from '../pipeline/load.ts'
import { noteAction } from '../db/audit.ts'
import { listPauses } from '../db/pauses.ts'
import { readOptions, type RunOptions } from '../db/runColumns.ts'
import { imageSampleOf, storeImageSample } from '../db/plans.ts'
import { cancelRun, claimRun, requestRun, skipRun, updateRun, type Cancellation, type RunClaim, type RunRow } from '../db/runs.ts'
import { ensureDestination, resumeDestination, takeOverDestination } from '../db/destinations.ts'
import { guardsOf, outcome, startApplying } from './applying.ts'
import { recoverRunsAndCounts } from './runCounts.ts'
import { cancellingStatements } from './cancelStatements.ts'
import { cancelled, runUnderLease, errorJson, timed } from './runUnderLease.ts'
import { destinationIdentity } from './destinationIdentity.ts'
import type { EngineDeps } from './engine.ts'
import { planErasures } from './erasure/forget.ts'
import { guardRejects } from './plan/guard.ts'
import { loadReport, loadRun, runNumber } from './history.ts'
import { logRunEnd } from './runLog.ts'
import { pausedError } from './paused.ts'
import { withOneOffSource } from './read/oneOffSource.ts'
import { noteBrokenImages } from './brokenImages.ts'
import { planSetsOf, withProductSets } from './productSets.ts'
import { makePlan, type Planned, type PlanInput } from './plan/plan.ts'
import { pushPlan, settleLeftovers } from './push/push.ts'
import { guardNotes, RunWithheld } from './plan/qualityGuard.ts'
import { noCounts, type GuardResult, type PlanReport, type RunReport, type RunTrigger } from '../model/report.ts'
import { needCredentials } from './needCredentials.ts'
import { discardSnapshot } from '../db/snapshots.ts'
import type { Row, Value } from '../db/row.ts'
import { readSnapshot } from './read/snapshot.ts'
import { interrupted } from './read/stage.ts'
import { createStage } from './read/stageTable.ts'
import { noteSandboxInstance } from './sandboxInstance.ts'

export interface RunRequest extends RunOptions {
  readonly trigger: RunTrigger
  readonly rerunOf?: number
  /** Moves the destination to the credentials of this environment first. */
  readonly takeOver?: boolean
  /** User who approved deletes, for the audit log. */
  readonly actor?: string
  /** Called once the plan is stored, so that other workers can start pushing it. */
  readonly onPlanned?: (planId: string, batches: number) => Promise<void>
}

/** Plans and applies in one. If another run has locked the destination, returns a report with status `skipped`, exit code 5. */
export async function runPipeline(deps: EngineDeps, pipeline: Pipeline, request: RunRequest): Promise<RunReport> {
  const run = await begin(deps, pipeline, request)
  return 'report' in run ? run.report : carryOut(deps, pipeline, run.row, request)
}

/** Reads, diffs and stores a plan; sends nothing. */
export async function planPipeline(deps: EngineDeps, pipeline: Pipeline, options: { readonly full?: boolean } = {}): Promise<PlanReport> {
  const run = await begin(deps, pipeline, { trigger: 'plan', ...options })
  if ('report' in run) throw heldError(pipeline.name)
  let planned: Planned | undefined
  let proof = ''
  const report = await runUnderLease(deps, run.row, async (lease) => {
    const made = await readAndPlan(lease.deps, pipeline, run.row)
    planned = made.planned
    proof = made.proof
    return { status: made.guards.length > 0 ? 'withheld' : 'succeeded', guards: made.guards }
  })
  if (report.error) throw asError(report.error)
  return {
    ...report,
    planId: planned?.planId ?? '',
    updateFields: planned?.updateFields ?? [],
    requests: planned?.batches ?? 0,
    minutes: planned?.minutes ?? null,
    proof,
  }
}

/** Sends exactly a stored plan. Throws if the synced state changed since; a second time it sends nothing. */
export async function applyPlan(deps: EngineDeps, planId: string): Promise<RunReport> {
  const [plan] = await deps.db.query<Row<'plan', 'pipeline' | 'destination_id'> & Row<'destination', 'service' | 'credentials'>>(
    `select p.pipeline, p.destination_id, d.service, d.credentials from plan p join destination d on d.id = p.destination_id where p.id = $1`,
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
  needCredentials(deps, plan.pipeline, plan.credentials)
  const run = await claimDestination(deps, plan.pipeline, plan.destination_id, { trigger: 'apply', planId })
  if ('report' in run) return run.report
  return runUnderLease(deps, run.row, async (lease) => {
    const started = await startApplying(deps, run.row, planId)
    const guards = await guardsOf(deps, planId)
    if (started === 'done') return { status: 'succeeded', guards: [] }
    await resumeDestination(deps.db, run.row.destinationId)
    await timed(deps, run.row, 'push', () => pushPlan(lease.deps, planId))
    const ending = await withProductSets(lease.deps, run.row, planId, await outcome(deps, planId, guards))
    await sampleImages(lease.deps, run.row, await imageSampleOf(deps.db, planId))
    return ending
  })
}

/** Runs again: the whole source of a run, or only its refused, ambiguous or pending operations. */
export async function rerun(
  deps: EngineDeps,
  runId: string,
  options: { readonly failedOnly: boolean; readonly pipelines: string },
): Promise<RunReport> {
  const old = await loadRun(deps.db, runId)
  return rerunPipeline(deps, await loadPipeline(options.pipelines, old.pipeline, deps.env), runNumber(runId), options)
}

async function rerunPipeline(
  deps: EngineDeps,
  pipeline: Pipeline,
  runId: number,
  options: { readonly failedOnly: boolean },
): Promise<RunReport> {
  const [old] = await deps.db.query<Row<'run', 'options' | 'destination_id'>>(`select options, destination_id from run where id = $1`, [
    runId,
  ])
  const { id: destinationId } = await ensureDestination(deps.db, destinationIdentity(deps, pipeline))
  if (old?.destination_id !== undefined && old.destination_id !== null && old.destination_id !== destinationId)
    throw new UsageError(
      'RUN_OF_ANOTHER_DESTINATION',
      `run r_${runId} went to another service or destination than ${pipeline.name} has in this environment. Nothing was sent.`,
      { where: `r_${runId}`, hint: `rerun it in the environment and folder that it was run in, or: sluice run ${pipeline.name}` },
    )
  const { full, source } = readOptions(old?.options)
  return runPipeline(deps, pipeline, {
    trigger: 'rerun',
    rerunOf: runId,
    failedOnly: options.failedOnly,
    // A full refresh stays one. The approval is not repeated: approved deletes need no second one.
    ...(full ? { full } : {}),
    ...(source === undefined || options.failedOnly ? {} : { source }),
  })
}

/** Requests a run to stop. Returns `stopping` for a running one, in whatever process. */
export async function cancel(
  deps: Pick<EngineDeps, 'db'>,
  runId: string,
  by: { readonly actor: string; readonly reason?: string },
): Promise<{ readonly runId: string; readonly state: Cancellation }> {
  const { pipeline } = await loadRun(deps.db, runId)
  const state = await cancelRun(deps.db, runNumber(runId), errorJson(cancelled(pipeline)), by)
  return { runId: `r_${runNumber(runId)}`, state: state ?? 'ended' }
}

/** Carries out a queued run, if it was requested for this pipeline in this version and environment. */
export async function executeRun(
  deps: EngineDeps,
  runId: number,
  pipeline: Pipeline,
  options: { readonly onPlanned?: RunRequest['onPlanned'] } = {},
): Promise<RunReport | 'busy' | 'gone'> {
  await recoverExpiredRuns(deps)
  const row = await claimRun(deps.db, runId, {
    ...claimOf(deps),
    pipeline: { ...destinationIdentity(deps, pipeline), version: pipeline.version },
  })
  if (typeof row === 'string') return row
  return carryOut(deps, pipeline, row, {
    trigger: row.trigger,
    ...row.options,
    ...(options.onPlanned ? { onPlanned: options.onPlanned } : {}),
  })
}

/** Claims the destination. Returns the run that has locked it, or the report of a skipped run. */
export async function begin(deps: EngineDeps, pipeline: Pipeline, request: RunRequest): Promise<{ row: RunRow } | { report: RunReport }> {
  const destination = await ensureDestination(deps.db, destinationIdentity(deps, pipeline))
  if (request.takeOver && destination.credentials !== null && destination.credentials !== deps.service.credentials) {
    if (!(await takeOverDestination(deps.db, destination.id, deps.service.credentials))) throw heldError(pipeline.name)
  } else needCredentials(deps, pipeline.name, destination.credentials)
  return claimDestination(deps, pipeline.name, destination.id, request)
}

function claimOf(deps: EngineDeps): RunClaim {
  return { workerId: deps.workerId, leaseMs: deps.settings.leaseMs, fence: deps.service }
}

async function claimDestination(
  deps: EngineDeps,
  pipeline: string,
  destinationId: number,
  request: RunRequest,
): Promise<{ row: RunRow } | { report: RunReport }> {
  await recoverExpiredRuns(deps)
  const { trigger, rerunOf, actor, onPlanned: _, takeOver: __, ...options } = request
  const runId = await requestRun(deps.db, { pipeline, destinationId, trigger, options, ...(rerunOf === undefined ? {} : { rerunOf }) })
  if (runId === undefined) throw new Error('a run without a tick is always created')
  const by = actor ?? deps.actor
  if (by !== undefined) {
    const { full, approveDeletes } = options
    const detail = { ...(full ? { full } : {}), ...(approveDeletes === undefined ? {} : { approveDeletes }) }
    await noteAction(deps.db, {
      actor: by,
      what: approveDeletes === undefined ? 'run.requested' : 'deletes.approved',
      pipeline,
      runId,
      detail,
    })
  }
  const [pause] = trigger === 'plan' ? [] : await listPauses(deps.db, { destinationId, pipeline })
  if (pause !== undefined) {
    await skipRun(deps.db, runId, errorJson(pausedError(pause)))
    return { report: await loadReport(deps.db, runId) }
  }
  const row = await claimRun(deps.db, runId, claimOf(deps))
  if (typeof row !== 'string') return { row }
  const error = heldError(pipeline)
  await skipRun(deps.db, runId, errorJson(error))
  return { report: await loadReport(deps.db, runId) }
}

export function heldError(pipeline: string): RunError {
  return new RunError('PIPELINE_HELD', `${pipeline} is locked by another run. Nothing was sent.`, {
    where: pipeline,
    hint: `sluice runs ${pipeline}`,
  })
}

/** Ends runs of dead processes, so that their destinations are unlocked immediately. */
async function recoverExpiredRuns(deps: EngineDeps): Promise<void> {
  for (const id of await recoverRunsAndCounts(deps.db, deps.service)) logRunEnd(deps.log, await loadReport(deps.db, id))
}

async function carryOut(deps: EngineDeps, pipeline: Pipeline, run: RunRow, request: RunRequest): Promise<RunReport> {
  return runUnderLease(deps, run, async (lease) => {
    await resumeDestination(deps.db, run.destinationId)
    const made = await readAndPlan(lease.deps, pipeline, run)
    if (!made.planned) return { status: 'withheld', guards: made.guards }
    const { planId, batches } = made.planned
    await startApplying(deps, run, planId)
    await request.onPlanned?.(planId, batches)
    await timed(deps, run, 'push', () => pushPlan(lease.deps, planId))
    const ending = await withProductSets(lease.deps, run, planId, await outcome(deps, planId, made.guards))
    await sampleImages(lease.deps, run, pipeline.mapping.imageSample)
    return ending
  })
}

async function sampleImages(deps: EngineDeps, run: RunRow, size: number | undefined): Promise<void> {
  if (size !== undefined) await timed(deps, run, 'images', () => noteBrokenImages(deps, run, size))
}

interface Made {
  readonly planned: Planned | undefined
  readonly guards: readonly GuardResult[]
  readonly proof: string
}

/** Settles open batches, reads, plans. Makes no plan (and sends nothing) if too many rows were rejected. */
async function readAndPlan(deps: EngineDeps, pipeline: Pipeline, run: RunRow): Promise<Made> {
  await planErasures(deps)
  if (run.trigger !== 'plan') await timed(deps, run, 'settle', () => settleLeftovers(deps, run.destinationId, { runId: run.id }))
  const client = await deps.db.connect()
  try {
    const effective = run.options.source === undefined ? pipeline : await withOneOffSource(pipeline, run.options.source)
    let input: PlanInput & { readonly proof: string }
    if (run.options.failedOnly) {
      input = { ...(await nothingRead(deps, client, run)), proof: 'nothing was read: only failed operations are sent again' }
    } else {
      const snapshot = await timed(deps, run, 'read', () => readSnapshot(deps, client, effective, run))
      const { rows } = snapshot
      await updateRun(deps.db, run, { counts: { ...noCounts, ...rows }, snapshotId: snapshot.snapshotId })
      const tooMany =
        snapshot.reading !== 'unread'
          ? guardRejects({
              guards: pipeline.guards,
              read: rows.read,
              rejected: rows.rejected,
              pipeline: pipeline.name,
              run: `r_${run.id}`,
              codes: (await loadRun(deps.db, `r_${run.id}`)).rejectCodes ?? [],
            })
          : undefined
      if (tooMany) {
        await discardSnapshot(deps.db, snapshot.snapshotId, rows)
        return { planned: undefined, guards: [tooMany], proof: snapshot.proof }
      }
      const held = guardNotes(pipeline, snapshot.warnings)
      if (held.length > 0) {
        await discardSnapshot(deps.db, snapshot.snapshotId, rows)
        return { planned: undefined, guards: held, proof: snapshot.proof }
      }
      input = snapshot
    }
    if (run.trigger !== 'plan') await waitForLateArrivals(deps, run.destinationId)
    if (deps.signal?.aborted) throw interrupted()
    const isReplaced = await noteSandboxInstance(deps, run)
    const planned = await timed(deps, run, 'plan', () =>
      cancellingStatements(deps, client, () => makePlan(deps, client, effective, run, input)),
    ).catch(async (error: unknown) => {
      if (!(error instanceof RunWithheld)) throw error
      await discardSnapshot(deps.db, input.snapshotId, input.rows)
      return error
    })
    if (planned instanceof RunWithheld) return { planned: undefined, guards: planned.results, proof: input.proof }
    const { imageSample } = pipeline.mapping
    if (imageSample !== undefined && run.trigger === 'plan') await storeImageSample(deps.db, planned.planId, imageSample)
    if (!isReplaced) await planSetsOf(deps, run, pipeline, planned.planId)
    if (deps.signal?.aborted) throw interrupted()
    return { planned, guards: planned.guards, proof: input.proof }
  } finally {
    // Closed, not returned to the pool, to drop its temporary tables.
    client.release(true)
  }
}

/** Returns the input of a plan without a read: the last snapshot. With `rerun --failed` the plan has only open operations of that run. */
export async function nothingRead(deps: EngineDeps, client: Parameters<typeof makePlan>[1], run: RunRow): Promise<PlanInput> {
  await createStage(client)
  const [last] = await deps.db.query<{ id: Value<'snapshot', 'id'> | null }>(
    `select max(id) as id from snapshot where destination_id = $1 and status = 'closed'`,
    [run.destinationId],
  )
  return {
    snapshotId: Number(last?.id ?? 0),
    rows: { read: 0, rejected: 0, duplicates: 0, suppressed: 0, valid: 0 },
    reading: 'unread',
    unseen: [],
    previousValid: undefined,
    incomplete: undefined,
    suppressedBy: [],
    ...(run.rerunOf === null ? {} : { onlyFailedOf: run.rerunOf }),
  }
}

/**
 * Waits while an abandoned attempt may still be applied: nothing newer may be sent for its keys before
 * (docs/guarantees.md#key-order). Waits at most for the horizon, and only after such an attempt.
 */
async function waitForLateArrivals(deps: EngineDeps, destinationId: number): Promise<void> {
  const [row] = await deps.db.query<{ ms: string | null }>(
    `select extract(epoch from max(late_until) - statement_timestamp()) * 1000 as ms from remote where destination_id = $1 and late_until is not null`,
    [destinationId],
  )
  const ms = Math.min(Number(row?.ms ?? 0), deps.settings.horizonMs)
  if (ms <= 0) return
  deps.onProgress?.({ stage: 'plan', done: 0, waiting: `waiting ${Math.ceil(ms / 1000)} s: an earlier request may still complete` })
  await deps.clock.sleep(ms + 50, deps.signal)
}

export function operationsOf({ counts }: Planned): number {
  return counts.creates + counts.updates + counts.deletes + counts.renewals
}

export function asError(error: NonNullable<RunReport['error']>): RunError {
  return new RunError(error.code, error.message, { ...(error.where === null ? {} : { where: error.where }), hint: error.hint })
}
