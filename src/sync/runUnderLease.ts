/** Runs work under a run's lease, times its stages, and writes its end into the `run` table. */
import { RunError, SluiceError } from '../errors.ts'
import { diskFault, isConnectionLost } from '../db/connectionFault.ts'
import type { Database } from '../db/database.ts'
import { permissionFault } from '../db/permissionFault.ts'
import { purgeErasures } from '../db/erasures.ts'
import { applyRetention } from '../db/retention.ts'
import { isFirstOfDay } from '../db/schedules.ts'
import type { Row } from '../db/row.ts'
import { addStage, finishRun, heartbeatRun, isCancelRequested, type RunRow } from '../db/runs.ts'
import { sentCounts, settledBy, updateCountsOfOtherRuns } from './runCounts.ts'
import type { EngineDeps } from './engine.ts'
import { loadReport } from './history.ts'
import { storingProgress } from './liveProgress.ts'
import type { GuardResult, RunReport, RunStatus } from '../model/report.ts'
import { interrupted } from './read/stage.ts'
import { errorCode } from '../unknownValue.ts'

export interface Ending {
  readonly status: RunStatus
  readonly guards: readonly GuardResult[]
  readonly error?: SluiceError
}

/** Interval of checking whether the run was cancelled. */
const cancelPollMs = 2_000

/** Runs `work` under the run's lease and writes its end. Errors are stored with the run; only internal ones are thrown. */
export async function runUnderLease(
  deps: EngineDeps,
  run: RunRow,
  work: (lease: { readonly deps: EngineDeps }) => Promise<Ending>,
): Promise<RunReport> {
  const lost = new AbortController()
  const signal = deps.signal ? AbortSignal.any([deps.signal, lost.signal]) : lost.signal
  const heartbeat = setInterval(() => {
    heartbeatRun(deps.db, run, deps.settings.leaseMs).then(
      (kept) => kept || lost.abort(),
      (error: unknown) =>
        deps.log.warn({ runId: `r_${run.id}`, reason: error instanceof Error ? error.name : 'error' }, 'the lease could not be renewed'),
    )
  }, deps.settings.heartbeatMs)
  const watch = setInterval(() => {
    isCancelRequested(deps.db, run).then(
      (asked) => asked && lost.abort(),
      // An error is ignored, because the heartbeat warns when the database is down.
      () => undefined,
    )
  }, cancelPollMs)
  let ending: Ending
  try {
    ending = await work({ deps: { ...deps, signal, onProgress: storingProgress(deps, run) } })
  } catch (error) {
    const known = knownError(error, signal, deps.db)
    if (!known) throw await failedBy(deps, run, error)
    ending = { status: deps.signal?.aborted ? 'cancelled' : 'failed', guards: [], error: known }
  } finally {
    clearInterval(heartbeat)
    clearInterval(watch)
  }
  if (ending.status !== 'succeeded' && (await isCancelRequested(deps.db, run)))
    ending = { status: 'cancelled', guards: ending.guards, error: cancelled(run.pipeline) }
  await finish(deps, run, ending)
  await keepUp(deps, run)
  return loadReport(deps.db, run.id)
}

/** Deletes expired data once a day, in the first run, so that it also happens without workers. Errors do not fail the run. */
async function keepUp(deps: EngineDeps, run: RunRow): Promise<void> {
  if (deps.signal?.aborted) return
  try {
    await purgeErasures(deps.db, deps.service.origin)
    if (await isFirstOfDay(deps.db, run.id)) await applyRetention(deps.db, deps.settings)
  } catch (error) {
    deps.log.warn(
      { reason: error instanceof Error ? error.message : 'error' },
      'expired data could not be deleted; will be tried again tomorrow',
    )
  }
}

/** Returns the error of a run that was cancelled (`sluice cancel`). */
export function cancelled(pipeline: string): RunError {
  return new RunError('RUN_CANCELLED', `an operator cancelled the run of ${pipeline}; confirmed changes are kept`, {
    where: pipeline,
    hint: `sluice run ${pipeline}`,
  })
}

async function finish(deps: EngineDeps, run: RunRow, ending: Ending): Promise<void> {
  const [row] = await deps.db.query<Row<'run', 'plan_id'>>('select plan_id from run where id = $1', [run.id])
  const sent = row?.plan_id && run.trigger !== 'plan' ? await sentCounts(deps.db, row.plan_id) : undefined
  const settling = await settlingRequests(deps, run.id, row?.plan_id ?? null)
  // Called before `finishRun`: if the process dies between the two, the run has not ended, so its recovery repeats both.
  await updateCountsOfOtherRuns(deps.db, run.id)
  await finishRun(deps.db, run, {
    status: ending.status,
    guards: ending.guards,
    counts: {
      ...sent,
      requests: (sent?.requests ?? 0) + settling,
      ...(settling > 0 ? { settled: await settledBy(deps.db, run.id, row?.plan_id ?? null) } : {}),
    },
    error: ending.error ? errorJson(ending.error) : null,
  })
}

/** Counts the requests that this run sent for batches of earlier plans. The counts of its own plan do not include them. */
async function settlingRequests(deps: EngineDeps, runId: number, planId: string | null): Promise<number> {
  const [row] = await deps.db.query<{ n: number }>(
    `select count(*)::int as n from attempt a join batch b on b.id = a.batch_id where a.run_id = $1 and b.plan_id is distinct from $2`,
    [runId, planId],
  )
  return row?.n ?? 0
}

/** Times a stage and stores the time with the run. */
export async function timed<Result>(deps: EngineDeps, run: RunRow, name: string, work: () => Promise<Result>): Promise<Result> {
  const startedAt = new Date(deps.clock.now()).toISOString()
  const start = deps.clock.monotonic()
  try {
    return await work()
  } finally {
    const entry = { stage: name, startedAt, durationMs: Math.round(deps.clock.monotonic() - start) }
    await addStage(deps.db, run, entry)
  }
}

export function errorJson(error: SluiceError): NonNullable<RunReport['error']> {
  return { code: error.code, message: error.message, where: error.where ?? null, hint: error.hint }
}

/** Returns the error to store; undefined for an internal error. Maps the abort errors of sources to `RUN_INTERRUPTED`. */
function knownError(error: unknown, signal: AbortSignal, db: Database): SluiceError | undefined {
  if (error instanceof SluiceError) return error
  if (signal.aborted && error instanceof Error && (error.name === 'AbortError' || error === signal.reason)) return interrupted()
  return isDatabaseError(error) ? (permissionFault(error, db) ?? databaseError(error)) : undefined
}

function isDatabaseError(error: unknown): boolean {
  const code = errorCode(error)
  return isConnectionLost(error) || (typeof code === 'string' && (/^[0-9A-Z]{5}$/.test(code) || /^E[A-Z]+$/.test(code)))
}

/** Returns an error with only the code of Postgres, because its texts may contain values (`detail`; docs/guarantees.md). */
function databaseError(error: unknown): RunError {
  const full = diskFault(error)
  if (full !== undefined) return full
  const code = isConnectionLost(error) ? 'connection lost' : String(errorCode(error))
  return new RunError('DATABASE_FAILED', `the database failed (${code}); what was confirmed is kept`, {
    where: 'database',
    hint: 'sluice doctor',
    cause: error,
  })
}

/** Stores an internal error with the run and returns the exception to throw. */
async function failedBy(deps: EngineDeps, run: RunRow, error: unknown): Promise<unknown> {
  await finish(deps, run, {
    status: 'failed',
    guards: [],
    error: new RunError('INTERNAL', 'an internal error ended the run; confirmed changes are kept', {
      hint: 'SLUICE_LOG_LEVEL=debug shows where; please report it',
      cause: error,
    }),
  })
  return error
}
