import { errorJson, RunError, SluiceError } from '../../errors.ts'
import { isDatabaseDown, statementFault } from '../../db/connectionFault.ts'
import type { Database } from '../../db/database.ts'
import { permissionFault } from '../../db/permissionFault.ts'
import { purgeErasures } from '../../db/erasures.ts'
import { claimDailyRetention } from '../../db/schedules.ts'
import { finishRun, isCancelRequested } from '../../db/runs/end.ts'
import { heartbeatRun, type ClaimedRun } from '../../db/runs/claim.ts'
import { repeatRun } from '../../db/runs/request.ts'
import { countsAtEnd, updateCountsOfOtherRuns } from './runCounts.ts'
import { interruptedError, type EngineDeps } from '../engine.ts'
import { loadReport } from '../reports/history.ts'
import { repeatingCommand } from '../reports/nextCommands.ts'
import { createProgressStorer } from './liveProgress.ts'
import type { GuardResult, RunReport, RunStatus } from '../../model/report.ts'
import { errorCode } from '../../unknownValue.ts'
import { logFailure } from './runLog.ts'

/** Result of a run, without its counts. `error` is stored with the run. */
export interface Ending {
  readonly status: RunStatus
  readonly guards: readonly GuardResult[]
  readonly error?: SluiceError
}

/** Milliseconds between two checks for a cancellation. */
const cancelPollMs = 2_000

/**
 * Runs `work` while a heartbeat renews the lease of the run. Then writes the end of the run, deletes expired data, and returns the report.
 * `work` gets `deps` that store its progress. Their signal also aborts if the lease is lost or the run is cancelled.
 *
 * Stores the error of `work` with the run, and throws it only if it is an internal error. Also throws if the end cannot be stored, or the
 * report cannot be loaded.
 */
export async function runUnderLease(deps: EngineDeps, run: ClaimedRun, work: (deps: EngineDeps) => Promise<Ending>): Promise<RunReport> {
  const stop = new AbortController()
  const shown = {
    runId: `r_${run.id}`,
    pipeline: run.pipeline,
    trigger: run.options.audit === undefined ? run.trigger : 'audit',
    ...(run.options.source === '-' ? { fromStandardInput: true } : {}),
  } as const
  const signal = deps.signal ? AbortSignal.any([deps.signal, stop.signal]) : stop.signal
  const heartbeat = setInterval(() => {
    heartbeatRun(deps.db, run, deps.settings.leaseMs).then(
      (kept) => kept || stop.abort(),
      logFailure(deps, run, 'the lease could not be renewed'),
    )
  }, deps.settings.heartbeatMs)
  const watch = setInterval(() => {
    isCancelRequested(deps.db, run).then(
      (isRequested) => isRequested && stop.abort(),
      // The heartbeat warns when the database is down.
      () => undefined,
    )
  }, cancelPollMs)
  let ending: Ending
  try {
    ending = await work({ ...deps, signal, onProgress: createProgressStorer(deps, run) })
  } catch (error) {
    const stored = errorToStore(error, signal, deps.db)
    if (!stored) {
      await storeInternalError(deps, run, error)
      throw error
    }
    ending = { status: deps.signal?.aborted ? 'cancelled' : 'failed', guards: [], error: stored }
  } finally {
    clearInterval(heartbeat)
    clearInterval(watch)
  }
  await retryWhileDisconnected(deps, async () => {
    const isCancelled = ending.status !== 'succeeded' && (await isCancelRequested(deps.db, run))
    await endRun(deps, run, isCancelled ? { status: 'cancelled', guards: ending.guards, error: cancelledError(shown) } : ending)
  })
  await deleteExpiredData(deps, run)
  return loadReport(deps.db, run.id)
}

/** Maximum time to wait for the database at the end of a run: a restart takes seconds. */
const reconnectMs = 20_000
const reconnectEveryMs = 500

/**
 * Calls `write`, and repeats the call while the database cannot be reached, for at most `reconnectMs`. Stops once `deps.signal` has
 * aborted. If the end of a run is not stored, its destination stays locked until the lease expires.
 */
async function retryWhileDisconnected(deps: EngineDeps, write: () => Promise<void>): Promise<void> {
  const deadline = deps.clock.monotonic() + reconnectMs
  for (;;) {
    try {
      return await write()
    } catch (error) {
      if (!isDatabaseDown(error) || deps.signal?.aborted || deps.clock.monotonic() > deadline) throw error
      await deps.clock.sleep(reconnectEveryMs, deps.signal)
    }
  }
}

/**
 * Deletes the data of erased people, and in the first run of a day expired data. Runs do this, because there may be no workers. Only logs
 * errors. Does nothing once `deps.signal` has aborted.
 */
async function deleteExpiredData(deps: EngineDeps, run: ClaimedRun): Promise<void> {
  if (deps.signal?.aborted) return
  const purged = purgeErasures(deps.db, deps.service.origin)
  await purged.catch(logFailure(deps, run, 'the data of erased people could not be deleted; the next run tries again'))
  // `claimDailyRetention` permits one attempt a day.
  const deleted = applyDailyRetention(deps, run)
  await deleted.catch(logFailure(deps, run, 'expired data could not be deleted; the first run of the next day tries again'))
}

async function applyDailyRetention(deps: EngineDeps, run: ClaimedRun): Promise<void> {
  if (!(await claimDailyRetention(deps.db, run.id))) return
  const { applyRetention } = await import('../../db/retention.ts')
  await applyRetention(deps.db, deps.settings)
}

/** Returns the error of a run that an operator cancelled. */
export function cancelledError(run: Parameters<typeof repeatingCommand>[0]): RunError {
  return new RunError('RUN_CANCELLED', `an operator cancelled the run of ${run.pipeline}; confirmed changes are kept`, {
    where: run.pipeline,
    hint: repeatingCommand(run),
  })
}

async function endRun(deps: EngineDeps, run: ClaimedRun, ending: Ending): Promise<void> {
  // `finishRun` is last. If the process dies before it, `recoverRunsAndCounts` updates the counts again.
  await updateCountsOfOtherRuns(deps.db, run.id)
  const end = {
    status: ending.status,
    guards: ending.guards,
    counts: await countsAtEnd(deps.db, run.id),
    error: ending.error ? errorJson(ending.error) : null,
  }
  if (ending.error?.code !== 'RUN_INTERRUPTED' || !deps.signal?.aborted) return finishRun(deps.db, run, end)
  // One transaction, because no later call would queue the repetition.
  await deps.db.transaction(async (tx) => {
    await finishRun(tx, run, end)
    await repeatRun(tx, run.id)
  })
}

/** Returns the error to store; undefined for an internal error. An abort error becomes `RUN_INTERRUPTED` once `signal` has aborted. */
function errorToStore(error: unknown, signal: AbortSignal, db: Database): SluiceError | undefined {
  if (error instanceof SluiceError) return error
  if (signal.aborted && error instanceof Error && (error.name === 'AbortError' || error === signal.reason)) return interruptedError()
  return isDatabaseError(error) ? (permissionFault(error, db) ?? statementFault(error)) : undefined
}

/**
 * Returns true if the database is down, or for an error with an SQLSTATE. Error codes of the operating system begin with E, an SQLSTATE
 * does not.
 */
function isDatabaseError(error: unknown): boolean {
  return isDatabaseDown(error) || /^(?!E)[0-9A-Z]{5}$/.test(errorCode(error) ?? '')
}

/** Stores an internal error with the run. If this fails, only logs it. */
async function storeInternalError(deps: EngineDeps, run: ClaimedRun, error: unknown): Promise<void> {
  const ending: Ending = {
    status: 'failed',
    guards: [],
    error: new RunError('INTERNAL', 'an internal error ended the run; confirmed changes are kept', {
      hint: 'SLUICE_LOG_LEVEL=debug shows where; please report it',
      cause: error,
    }),
  }
  await retryWhileDisconnected(deps, () => endRun(deps, run, ending)).catch(
    logFailure(deps, run, 'the end of the run could not be stored; its destination is locked until the lease expires'),
  )
}
