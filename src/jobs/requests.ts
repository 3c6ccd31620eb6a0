/** Handles requests of an operator or a program: queues a run for any worker, pauses or resumes a pipeline. */
import { UsageError } from '../errors.ts'
import type { Pipeline } from '../model/pipeline.ts'
import { logAction } from '../db/auditLog.ts'
import { listPauses, pausePipeline, resumePipeline } from '../db/pauses.ts'
import { ensureDestination } from '../db/destinations.ts'
import { approvedRunOf, findRequest, queuedRunOf, storeRunRequest } from '../db/runs/idempotency.ts'
import type { RunOptions } from '../db/runs/columns.ts'
import { requestRun, mergeRunOptions } from '../db/runs/request.ts'
import { schemaLock } from '../db/schemaLock.ts'
import { destinationKey } from '../sync/destinationKey.ts'
import type { EngineDeps } from '../sync/engine.ts'
import { assertOwnCredentials, pausedError } from '../sync/run/requestAndClaim.ts'
import { assertPlanOfDestination, assertRunOfDestination } from '../sync/run/rerun.ts'

export interface QueueRequest {
  /** User or program that requests the run. */
  readonly actor: string
  readonly reason?: string
  /** True for a full refresh. */
  readonly full?: boolean
  /** Maximum number of withheld deletes that the run may send. */
  readonly approveDeletes?: number
  /** Id of the run whose refused, ambiguous and pending operations are sent again. No source is read. */
  readonly rerunFailedOf?: number
  /** Plan whose withheld deletes are approved. */
  readonly planId?: string
  /** `Idempotency-Key`: repeated requests with one key get the same run. A key belongs to one pipeline and its destination. */
  readonly key?: string
}

export interface QueueResult {
  /** `r_` and the id of the run. The run is queued, or in any state if an earlier request with the same key made it. */
  readonly runId: string
  /** True if the request made no new run: it joined a queued one, or repeated an earlier request with the same key. */
  readonly coalesced: boolean
}

/**
 * Queues a run for any worker, and notes the request in the audit log. A request joins the oldest queued run of the same version of the
 * pipeline and adds its options. A rerun of failed operations always makes its own run. Nothing is queued for a request with a known `key`,
 * or for the approval of a plan whose approved run is running.
 *
 * @throws {RunError} `PIPELINE_PAUSED`, `OTHER_CREDENTIALS`
 * @throws {UsageError} `RUN_OF_ANOTHER_DESTINATION` or `PLAN_OF_ANOTHER_DESTINATION` if the pipeline now writes to another destination
 * @throws {UsageError} `IDEMPOTENCY_KEY_REUSED` if the earlier request with the key had another `full` or `approveDeletes`
 */
export async function queueRun(deps: Pick<EngineDeps, 'db' | 'service'>, pipeline: Pipeline, request: QueueRequest): Promise<QueueResult> {
  const destination = await ensureDestination(deps.db, destinationKey(deps, pipeline))
  assertOwnCredentials(deps, pipeline.name, destination.credentials)
  const current = { pipeline: pipeline.name, destinationId: destination.id }
  const { rerunFailedOf } = request
  if (rerunFailedOf !== undefined) await assertRunOfDestination(deps.db, rerunFailedOf, current)
  if (request.planId !== undefined) await assertPlanOfDestination(deps.db, request.planId, current)
  return deps.db.transaction(async (tx) => {
    // Requests for one pipeline wait for each other, so that simultaneous requests make one run.
    await tx.query(`select pg_advisory_xact_lock(${schemaLock(`'run request ' || $1`)})`, [pipeline.name])
    const earlier = request.key === undefined ? undefined : await findRequest(tx, current, request.key)
    const requestedOptions = JSON.stringify({ full: request.full ?? false, approveDeletes: request.approveDeletes ?? null })
    if (earlier !== undefined) {
      if (earlier.options !== null && earlier.options !== requestedOptions) throw keyReused(pipeline.name, earlier.runId)
      return { runId: `r_${earlier.runId}`, coalesced: true }
    }
    const [pause] = await listPauses(tx, destination.id)
    if (pause !== undefined) throw pausedError(pause, pipeline.name)
    // A second approval of the plan would let one more run delete as many records.
    const approved = request.planId === undefined ? undefined : await approvedRunOf(tx, destination.id, request.planId)
    if (approved !== undefined) return { runId: `r_${approved}`, coalesced: true }
    const options: RunOptions = {
      anyWorker: true,
      ...(request.full ? { full: true } : {}),
      ...(request.approveDeletes === undefined ? {} : { approveDeletes: request.approveDeletes }),
      ...(rerunFailedOf === undefined ? {} : { failedOnly: true }),
    }
    // A rerun of failed operations reads no source, so it stays apart from other requests.
    const joined = rerunFailedOf === undefined ? await queuedRunOf(tx, current, pipeline.version) : undefined
    if (joined !== undefined) await mergeRunOptions(tx, joined, options)
    const runId =
      joined ??
      (await requestRun(tx, {
        pipeline: pipeline.name,
        destinationId: destination.id,
        trigger: rerunFailedOf === undefined ? 'manual' : 'rerun',
        version: pipeline.version,
        ...(rerunFailedOf === undefined ? {} : { rerunOf: rerunFailedOf }),
        options,
      }))
    if (runId === undefined) throw new Error('requestRun returned no id for a requested run')
    if (request.key !== undefined) await storeRunRequest(tx, { ...current, key: request.key, runId, options: requestedOptions })
    const { actor, key: _, planId, ...detail } = request
    await logAction(tx, {
      actor,
      what: request.approveDeletes === undefined ? 'run.requested' : 'deletes.approved',
      pipeline: pipeline.name,
      runId,
      ...(planId === undefined ? {} : { planId }),
      detail,
    })
    return { runId: `r_${runId}`, coalesced: joined !== undefined }
  })
}

function keyReused(pipeline: string, runId: number): UsageError {
  return new UsageError(
    'IDEMPOTENCY_KEY_REUSED',
    `the Idempotency-Key belongs to run r_${runId}, which was requested with another full or approveDeletes. Nothing was queued.`,
    { where: pipeline, hint: `send another Idempotency-Key, or the same request: sluice show r_${runId}` },
  )
}

/**
 * Pauses or resumes a pipeline, and notes the action in the audit log. Returns false if nothing changed. `isUserKnown`: false if the caller
 * has no tokens of a user. Then the owner of the destination is not checked.
 *
 * @throws {RunError} `OTHER_CREDENTIALS`, because the pause would be that of another environment
 */
export async function changePause(
  deps: Pick<EngineDeps, 'db' | 'service'>,
  pipeline: Pipeline,
  change: 'pause' | 'resume',
  { isUserKnown = true, ...by }: { readonly actor: string; readonly reason?: string; readonly isUserKnown?: boolean },
): Promise<boolean> {
  const destinationId = isUserKnown
    ? await ownDestinationId(deps, pipeline)
    : (await ensureDestination(deps.db, destinationKey(deps, pipeline))).id
  return (change === 'pause' ? pausePipeline : resumePipeline)(deps.db, { destinationId, pipeline: pipeline.name, ...by })
}

/** Returns the id of a pipeline's destination, which it stores if the destination is new. @throws {RunError} `OTHER_CREDENTIALS` */
export async function ownDestinationId(deps: Pick<EngineDeps, 'db' | 'service'>, pipeline: Pipeline): Promise<number> {
  const { id, credentials } = await ensureDestination(deps.db, destinationKey(deps, pipeline))
  assertOwnCredentials(deps, pipeline.name, credentials)
  return id
}
