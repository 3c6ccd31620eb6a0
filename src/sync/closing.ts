/** The frame of a run: its lease while it works, its stages' times, and its end in the `run` table, whatever ends it. */
import { RunError, SluiceError } from '../errors.ts'
import { applyRetention, isFirstOfDay } from '../store/retention.ts'
import { finishRun, heartbeatRun, isCancelRequested, type RunRow } from '../store/runs.ts'
import { settledBy, updateBooksOfOthers } from './books.ts'
import type { EngineDeps } from './engine.ts'
import { loadReport } from './history.ts'
import { planBooks } from './push/push.ts'
import { noCounts, type GuardVerdict, type RunReport, type RunStatus } from './report.ts'
import { interrupted } from './read/stage.ts'

export interface Ending {
  readonly status: RunStatus
  readonly guards: readonly GuardVerdict[]
  readonly error?: SluiceError
}

/** A run that somebody cancels notices it after this at the latest. */
const cancelPollMs = 2_000

/** Runs `work` under the run's lease and writes its end, whatever it is. Errors become the run's, never an exception. */
export async function closing(
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
      // The heartbeat says so already when the database is away.
      () => undefined,
    )
  }, cancelPollMs)
  let ending: Ending
  try {
    ending = await work({ deps: { ...deps, signal } })
  } catch (error) {
    const known = knownError(error, signal)
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

/** Once a day, whoever runs first: also where no worker is ever up. What goes wrong with it is no fault of the run. */
async function keepUp(deps: EngineDeps, run: RunRow): Promise<void> {
  if (deps.signal?.aborted) return
  try {
    if (await isFirstOfDay(deps.db, run.id)) await applyRetention(deps.db, deps.settings)
  } catch (error) {
    deps.log.warn(
      { reason: error instanceof Error ? error.message : 'error' },
      'what is over its time could not be deleted; tried again tomorrow',
    )
  }
}

/** What a run says of itself that somebody cancelled (`sluice cancel`). */
export function cancelled(pipeline: string): RunError {
  return new RunError('RUN_CANCELLED', `somebody cancelled the run of ${pipeline}; what was confirmed is kept`, {
    where: pipeline,
    mend: `sluice run ${pipeline}`,
  })
}

async function finish(deps: EngineDeps, run: RunRow, ending: Ending): Promise<void> {
  const [row] = await deps.db.query<{ plan_id: string | null; counts: Record<string, number> }>(
    'select plan_id, counts from sluice.run where id = $1',
    [run.id],
  )
  const sent = row?.plan_id && run.trigger !== 'plan' ? await planBooks(deps.db, row.plan_id) : undefined
  const settling = await settlingRequests(deps, run.id, row?.plan_id ?? null)
  const planned = run.trigger === 'apply' && row?.plan_id ? await countsOf(deps, row.plan_id) : (row?.counts ?? {})
  await finishRun(deps.db, run, {
    status: ending.status,
    guards: ending.guards,
    counts: {
      ...noCounts,
      ...planned,
      ...sent,
      requests: (sent?.requests ?? 0) + settling,
      ...(settling > 0 ? { settled: await settledBy(deps.db, run.id, row?.plan_id ?? null) } : {}),
    },
    error: ending.error ? errorJson(ending.error) : null,
  })
  await updateBooksOfOthers(deps.db, run.id)
}

/** What this run sent to settle what earlier plans had left open: requests all the same, though in no book of its own plan. */
async function settlingRequests(deps: EngineDeps, runId: number, planId: string | null): Promise<number> {
  const [row] = await deps.db.query<{ n: number }>(
    `select count(*)::int as n from sluice.attempt a join sluice.batch b on b.id = a.batch_id where a.run_id = $1 and b.plan_id is distinct from $2`,
    [runId, planId],
  )
  return row?.n ?? 0
}

async function countsOf(deps: EngineDeps, planId: string): Promise<Record<string, number>> {
  const [row] = await deps.db.query<{ counts: Record<string, number> }>('select counts from sluice.plan where id = $1', [planId])
  return row?.counts ?? {}
}

/** Times a stage and remembers it with the run. */
export async function timed<Result>(deps: EngineDeps, run: RunRow, name: string, work: () => Promise<Result>): Promise<Result> {
  const startedAt = new Date(deps.clock.now()).toISOString()
  const start = deps.clock.monotonic()
  try {
    return await work()
  } finally {
    const entry = { stage: name, startedAt, durationMs: Math.round(deps.clock.monotonic() - start) }
    await deps.db.execute(`update sluice.run set stages = stages || $3::jsonb where id = $1 and epoch = $2`, [
      run.id,
      run.epoch,
      JSON.stringify([entry]),
    ])
  }
}

export function errorJson(error: SluiceError): { code: string; message: string; where: string | null; mend: string } {
  return { code: error.code, message: error.message, where: error.where ?? null, mend: error.mend }
}

/** Undefined: a fault of our own. Whatever a source was doing when the signal came throws an abort of its own kind. */
function knownError(error: unknown, signal: AbortSignal): SluiceError | undefined {
  if (error instanceof SluiceError) return error
  if (signal.aborted && error instanceof Error && (error.name === 'AbortError' || error === signal.reason)) return interrupted()
  return isDatabaseError(error) ? databaseError(error) : undefined
}

function isDatabaseError(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && (/^[0-9A-Z]{5}$/.test(code) || /^E[A-Z]+$/.test(code))
}

/** Postgres' own texts may hold values (`detail`): only its code goes on (guarantees 7, logs). */
function databaseError(error: unknown): RunError {
  const code = String((error as { code?: unknown }).code)
  return new RunError('DATABASE_FAILED', `the database failed (${code}); what was confirmed is kept`, {
    where: 'database',
    mend: 'sluice doctor',
    cause: error,
  })
}

/** A fault of our own: the run says so, and the exception goes on to whoever shows it. */
async function failedBy(deps: EngineDeps, run: RunRow, error: unknown): Promise<unknown> {
  await finish(deps, run, {
    status: 'failed',
    guards: [],
    error: new RunError('INTERNAL', 'a fault in Sluice itself ended the run; what was confirmed is kept', {
      mend: 'SLUICE_LOG_LEVEL=debug shows where; please report it',
      cause: error,
    }),
  })
  return error
}
