import { logAction } from '../../db/auditLog.ts'
import { ensureDestination, ownerOf, takeOverDestination } from '../../db/destinations.ts'
import { listPauses, type Pause } from '../../db/pauses.ts'
import type { RunOptions } from '../../db/runs/columns.ts'
import { claimRun, type RunClaim, type ClaimedRun } from '../../db/runs/claim.ts'
import { requestRun } from '../../db/runs/request.ts'
import { skipRun } from '../../db/runs/end.ts'
import { errorJson, RunError } from '../../errors.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import type { RunReport, RunTrigger } from '../../model/report.ts'
import { storedAddress } from '../../shownAddress.ts'
import { destinationKey } from '../destinationKey.ts'
import type { EngineDeps } from '../engine.ts'
import { loadReport } from '../reports/history.ts'
import { recoverExpiredRuns } from './recoverExpiredRuns.ts'

export interface RunRequest extends RunOptions {
  readonly trigger: RunTrigger
  readonly rerunOf?: number
  /** If the destination belongs to other credentials, first assigns it to the credentials of this environment. */
  readonly takeOver?: boolean
  /** User for the audit log; by default `EngineDeps.actor`. Without a user, the request is not written to the audit log. */
  readonly actor?: string
}

/** Claimed run. Or the report of a run that was not claimed: it was skipped, or another process claimed or ended it first. */
export type ClaimResult = { readonly run: ClaimedRun } | { readonly report: RunReport }

/**
 * Requests and claims a run of a pipeline, as `requestAndClaimById` does. Creates the row of the destination if it does not exist.
 *
 * @throws {RunError} `OTHER_CREDENTIALS`; `PIPELINE_HELD` if `takeOver` is not possible because the destination is locked
 */
export async function requestAndClaim(deps: EngineDeps, pipeline: Pipeline, request: RunRequest): Promise<ClaimResult> {
  const destination = await ensureDestination(deps.db, destinationKey(deps, pipeline))
  if (request.takeOver && destination.credentials !== null && destination.credentials !== deps.service.credentials) {
    const actor = request.actor ?? deps.actor ?? 'command'
    if (!(await takeOverDestination(deps.db, destination.id, deps.service.credentials, actor))) throw lockedError(pipeline.name)
  } else assertOwnCredentials(deps, pipeline.name, destination.credentials)
  return requestAndClaimById(deps, pipeline.name, destination.id, request)
}

/**
 * Ends expired runs (`recoverExpiredRuns`), requests a run, and claims it. Writes the request to the audit log. Skips the run if the
 * destination is locked, or if the pipeline is paused and the run is not a `plan` run.
 *
 * @throws {RunError} `OTHER_CREDENTIALS`, after skipping the run, if the destination was taken over before the claim
 */
export async function requestAndClaimById(
  deps: EngineDeps,
  pipeline: string,
  destinationId: number,
  request: RunRequest,
): Promise<ClaimResult> {
  await recoverExpiredRuns(deps, sendsAllChanges(request) ? destinationId : undefined)
  const { trigger, rerunOf, actor, takeOver: _, source, ...rest } = request
  const options: RunOptions = source === undefined ? rest : { ...rest, source: storedAddress(source) }
  const runId = await requestRun(deps.db, { pipeline, destinationId, trigger, options, ...(rerunOf === undefined ? {} : { rerunOf }) })
  if (runId === undefined) throw new Error('requestRun returned no id for a requested run')
  const by = actor ?? deps.actor
  if (by !== undefined) {
    const { full, approveDeletes } = options
    const detail = { ...(full ? { full } : {}), ...(approveDeletes === undefined ? {} : { approveDeletes }) }
    await logAction(deps.db, {
      actor: by,
      what: approveDeletes === undefined ? 'run.requested' : 'deletes.approved',
      pipeline,
      runId,
      detail,
    })
  }
  const findPause = async () => (trigger === 'plan' ? undefined : (await listPauses(deps.db, destinationId))[0])
  const pause = await findPause()
  if (pause !== undefined) return skipAndReport(deps, runId, pausedError(pause, pipeline))
  const run = await claimRun(deps.db, runId, claimOptions(deps))
  if (run === 'busy') return skipAndReport(deps, runId, lockedError(pipeline))
  // The stored address of a backfill source lacks password and query, so the claimed run gets the address of the request.
  if (run !== 'not_claimable') return { run: source === undefined ? run : { ...run, options: { ...run.options, source } } }
  const latePause = await findPause()
  if (latePause !== undefined) return skipAndReport(deps, runId, pausedError(latePause, pipeline))
  const credentials = await ownerOf(deps.db, destinationId)
  // Neither a pause nor the credentials prevent the claim, so another process has claimed the run or ended it (for example `sluice cancel`).
  if (isOwnOrUnowned(deps, credentials)) return { report: await loadReport(deps.db, runId) }
  const error = otherCredentialsError(deps, pipeline, credentials)
  await skipRun(deps.db, runId, errorJson(error))
  throw error
}

/** Returns true for a run that sends everything that is out of sync, and so does the work of an interrupted run. */
function sendsAllChanges({ trigger, failedOnly, source }: RunRequest): boolean {
  return (trigger === 'manual' || trigger === 'rerun') && failedOnly !== true && source === undefined
}

async function skipAndReport(deps: EngineDeps, runId: number, error: RunError): Promise<{ readonly report: RunReport }> {
  await skipRun(deps.db, runId, errorJson(error))
  return { report: await loadReport(deps.db, runId) }
}

/**
 * Ends expired runs (`recoverExpiredRuns`), and claims a queued run. A run without a version matches any version of the pipeline. Returns
 * instead of the run:
 *
 * - `busy`: the destination is locked.
 * - `not_claimable`: the run is not queued, its pipeline is paused, or it was requested for another destination, version or environment.
 */
export async function claimQueued(deps: EngineDeps, runId: number, pipeline: Pipeline): Promise<ClaimedRun | 'busy' | 'not_claimable'> {
  await recoverExpiredRuns(deps)
  return claimRun(deps.db, runId, {
    ...claimOptions(deps),
    pipeline: { ...destinationKey(deps, pipeline), version: pipeline.version },
  })
}

function claimOptions(deps: EngineDeps): RunClaim {
  return { workerId: deps.workerId, leaseMs: deps.settings.leaseMs, fence: deps.service }
}

/**
 * Throws if the destination belongs to other credentials than those of this environment. `credentials`: owner of the destination; null:
 * none yet.
 * @throws {RunError} `OTHER_CREDENTIALS`
 */
export function assertOwnCredentials(deps: Pick<EngineDeps, 'service'>, pipeline: string, credentials: string | null): void {
  if (!isOwnOrUnowned(deps, credentials)) throw otherCredentialsError(deps, pipeline, credentials)
}

function isOwnOrUnowned({ service }: Pick<EngineDeps, 'service'>, credentials: string | null): boolean {
  return credentials === null || credentials === service.credentials
}

function otherCredentialsError({ service }: Pick<EngineDeps, 'service'>, pipeline: string, credentials: string | null): RunError {
  return new RunError(
    'OTHER_CREDENTIALS',
    `the destination of ${pipeline} belongs to ${credentials}, but this environment uses ${service.credentials}. Nothing was sent.`,
    {
      where: pipeline,
      hint: `set the SLUICE_… credentials of that user, or move the destination to these: sluice run ${pipeline} --take-over`,
    },
  )
}

export function lockedError(pipeline: string): RunError {
  return new RunError('PIPELINE_HELD', `${pipeline} is locked by another run. Nothing was sent.`, {
    where: pipeline,
    hint: `sluice runs ${pipeline}`,
  })
}

/** Returns the error of a run of a paused pipeline. `name`: the paused pipeline, which may be another one with the same destination. */
export function pausedError({ pipeline: name, actor, reason, pausedAt }: Pause, pipeline: string): RunError {
  const since = pausedAt.toISOString().replace(/\.\d{3}Z$/, 'Z')
  const message = `${pipeline} is paused${name === pipeline ? '' : ` as ${name}, with the same destination,`} by ${actor} since ${since}${reason === null ? '' : `: ${reason}`}. Nothing was sent.`
  return new RunError('PIPELINE_PAUSED', message, { where: pipeline, hint: `sluice resume ${pipeline}` })
}
