import { destinationOf } from '../../destinations/index.ts'
import { errorJson, RunError } from '../../errors.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { cancelRun, type Cancellation } from '../../db/runs/end.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import { resumeDestination } from '../../db/destinations.ts'
import { sendPlan, startApplying } from './applyPlan.ts'
import { claimQueued, requestAndClaim, type RunRequest } from './requestAndClaim.ts'
import { cancelledError, runUnderLease } from './runUnderLease.ts'
import { bindOrAssertDatabase } from '../databaseCopy.ts'
import { pushWhilePlanning } from './earlyPush.ts'
import type { EngineDeps } from '../engine.ts'
import { loadRun, runNumber } from '../reports/history.ts'
import type { Planned } from '../plan/plan.ts'
import { readAndPlan } from './readAndPlan.ts'
import type { PlanReport, RunReport } from '../../model/report.ts'

/**
 * Called once when the plan or its first part is stored, before this process sends any of it. From then on other workers can push the plan.
 * `batches`: number of requests of the plan. If only the first part is stored, it is an estimate that may be too low.
 */
export type OnPlanned = (planId: string, batches: number) => Promise<void>

/**
 * Reads, plans and sends in one run. The status is `skipped` if the pipeline is paused, or another run has locked the destination. The
 * report has the error of the run. An internal error is stored with the run and thrown. If the process is killed, a later run or a worker
 * writes the end.
 *
 * @throws {RunError} `OTHER_CREDENTIALS`; `PIPELINE_HELD` if `takeOver` is not possible because the destination is locked
 */
export async function runPipeline(deps: EngineDeps, pipeline: Pipeline, request: RunRequest, onPlanned?: OnPlanned): Promise<RunReport> {
  const claim = await requestAndClaim(deps, pipeline, request)
  return 'report' in claim ? claim.report : executeClaimed(deps, pipeline, claim.run, onPlanned)
}

/**
 * Reads the sources and stores a plan. Sends nothing. `full`: plans to send all desired records again. If a guard stopped the run, the
 * `planId` of the report is empty.
 *
 * @throws {RunError} `PIPELINE_HELD`, `OTHER_CREDENTIALS`, and the error of the run; an internal error is thrown unchanged
 */
export async function planPipeline(deps: EngineDeps, pipeline: Pipeline, options: { readonly full?: boolean } = {}): Promise<PlanReport> {
  const claim = await requestAndClaim(deps, pipeline, { trigger: 'plan', ...options })
  if ('report' in claim) throw unclaimedError(claim.report)
  const { run } = claim
  let planned: Planned | undefined
  let proof = ''
  const report = await runUnderLease(deps, run, async (leased) => {
    const outcome = await readAndPlan(leased, pipeline, run)
    planned = outcome.planned
    proof = outcome.proof
    return { status: outcome.guards.length > 0 ? 'withheld' : 'succeeded', guards: outcome.guards }
  })
  if (report.error) throw reportedError(report.error, report.runId)
  const requests = planned?.batches ?? 0
  return {
    ...report,
    // The stored run counts the requests that it sent: none. This report counts the requests of the plan.
    counts: { ...report.counts, requests },
    planId: planned?.planId ?? '',
    updateFields: planned?.updateFields ?? [],
    requests,
    minutes: planned?.minutes ?? null,
    proof,
  }
}

/**
 * Cancels a run. Returns its state:
 *
 * - `cancelled`: the run was queued.
 * - `stopping`: the run is running, in any process, and will stop.
 * - `ended`: the run had ended before.
 *
 * @throws {UsageError} `UNKNOWN_RUN`
 */
export async function cancel(
  deps: Pick<EngineDeps, 'db'>,
  runId: string,
  by: { readonly actor: string; readonly reason?: string },
): Promise<{ readonly runId: string; readonly state: Cancellation }> {
  const run = await loadRun(deps.db, runId)
  const state = await cancelRun(deps.db, runNumber(runId), errorJson(cancelledError(run)), by)
  return { runId: `r_${runNumber(runId)}`, state: state ?? 'ended' }
}

/** Claims and executes a queued run. `busy`, `not_claimable`: as in `claimQueued`. */
export async function claimAndExecute(
  deps: EngineDeps,
  runId: number,
  pipeline: Pipeline,
  onPlanned?: OnPlanned,
): Promise<RunReport | 'busy' | 'not_claimable'> {
  const run = await claimQueued(deps, runId, pipeline)
  return typeof run === 'string' ? run : executeClaimed(deps, pipeline, run, onPlanned)
}

/** Executes a claimed run. If the plan is made in parts, sends the early parts while the later ones are planned. */
async function executeClaimed(deps: EngineDeps, pipeline: Pipeline, run: ClaimedRun, onPlanned: OnPlanned | undefined): Promise<RunReport> {
  return runUnderLease(deps, run, async (leased) => {
    await bindOrAssertDatabase(leased, run)
    await resumeDestination(leased.db, run.destinationId)
    const { result, awaitPush } = await pushWhilePlanning(
      leased,
      run,
      (onPart) => readAndPlan(leased, pipeline, run, onPart),
      (planId, rows) => onPlanned?.(planId, estimateBatches(pipeline, rows)),
    )
    if (!result.planned) return { status: 'withheld', guards: result.guards }
    const { planId, batches } = result.planned
    if (awaitPush === undefined) {
      await startApplying(leased, run, planId)
      await onPlanned?.(planId, batches)
    }
    return sendPlan(leased, run, planId, { imageSample: pipeline.mapping.imageSample, push: awaitPush })
  })
}

/** Estimates the number of requests for `rows` rows. It may be too low, because the limit of bytes is ignored. */
function estimateBatches({ destination }: Pipeline, rows: number): number {
  return Math.ceil(rows / destinationOf(destination.kind).limits.entries)
}

/** Returns the error of a run that was not claimed, from its report. */
export function unclaimedError({ runId, error }: RunReport): Error {
  return error === undefined ? new Error(`run ${runId} was not claimed and has no error`) : reportedError(error, runId)
}

/** Returns the error of a run report as a `RunError`. */
export function reportedError(error: NonNullable<RunReport['error']>, runId: string): RunError {
  return new RunError(error.code, error.message, { ...(error.where === null ? {} : { where: error.where }), hint: error.hint, runId })
}
