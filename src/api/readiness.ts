/** Runs the checks of `/ready`, which show if this process can work. */
import type { Database } from '../db/database.ts'
import { compareJournal } from '../db/migrate.ts'
import { findWorker } from '../db/workers.ts'
import { inTime } from '../inTime.ts'
import { errorCode } from '../unknownValue.ts'

export interface ReadinessCheck {
  readonly check: 'database' | 'migrations' | 'scheduler' | 'worker'
  readonly ok: boolean
  readonly message: string
}

/** Dependencies of the checks of `/ready`. */
export interface ReadyDeps {
  readonly db: Database
  readonly workerId: string
  /**
   * Returns the seconds since the scheduler's last successful poll. Infinity before its start; undefined if this process has no scheduler.
   */
  readonly schedulerIdleS: () => number | undefined
  /** Maximum time of an answer in milliseconds; default `defaultAnswerMs`. `/ready` takes at most `readyMs`. */
  readonly answerMs?: number
}

/** Maximum time of `/ready` in milliseconds. */
const readyMs = 5_000
/** Maximum age of the scheduler's last poll in seconds. */
const oldestPollS = 30
/** Maximum age of the worker's last heartbeat in seconds. */
const oldestHeartbeatS = 60

/** Runs the checks of `/ready`. If the database does not answer in time, returns only the check `database`. */
export function checkReadiness(deps: ReadyDeps): Promise<readonly ReadinessCheck[]> {
  return inTime(Math.min(deps.answerMs ?? readyMs, readyMs), runChecks(deps)).catch(() => [failedCheck('database', 'does not answer')])
}

async function runChecks(deps: ReadyDeps): Promise<readonly ReadinessCheck[]> {
  try {
    await deps.db.query('select 1')
  } catch (error) {
    return [failedCheck('database', `does not answer${codeOf(error)}`)]
  }
  const idle = deps.schedulerIdleS()
  return [
    { check: 'database', ok: true, message: 'answers' },
    await readCheck('migrations', () => checkMigrations(deps.db)),
    ...(idle === undefined ? [] : [checkScheduler(idle)]),
    await readCheck('worker', () => checkWorker(deps)),
  ]
}

async function checkMigrations(db: Database): Promise<ReadinessCheck> {
  const { applied, known, isPrefix } = await compareJournal(db)
  if (!isPrefix) return failedCheck('migrations', 'do not match this version')
  return { check: 'migrations', ok: applied === known, message: `${applied} of ${known}` }
}

function checkScheduler(idleS: number): ReadinessCheck {
  const message = Number.isFinite(idleS) ? `last poll ${Math.round(idleS)} s ago` : 'has not started yet'
  return { check: 'scheduler', ok: idleS <= oldestPollS, message }
}

async function checkWorker({ db, workerId }: ReadyDeps): Promise<ReadinessCheck> {
  const worker = await findWorker(db, workerId)
  if (worker === undefined) return failedCheck('worker', 'is not registered')
  return { check: 'worker', ok: worker.idleS <= oldestHeartbeatS, message: `last heartbeat ${Math.round(worker.idleS)} s ago` }
}

/** Runs a check that reads a table. If the table cannot be read, for example because a privilege is missing, the check fails. */
async function readCheck(check: ReadinessCheck['check'], run: () => Promise<ReadinessCheck>): Promise<ReadinessCheck> {
  try {
    return await run()
  } catch (error) {
    return failedCheck(check, `cannot be read${codeOf(error)}`)
  }
}

function failedCheck(check: ReadinessCheck['check'], message: string): ReadinessCheck {
  return { check, ok: false, message }
}

/** Returns the code of an error as ` (CODE)`; empty without a code. Never its message, because probes need no credentials. */
function codeOf(error: unknown): string {
  const code = errorCode(error)
  return code === undefined ? '' : ` (${code})`
}
