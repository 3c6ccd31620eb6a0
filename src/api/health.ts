/** Runs the checks of `/ready`, which show whether this process can work. */
import type { Database } from '../db/database.ts'
import { migrationStatus } from '../db/migrate.ts'
import { findWorker } from '../db/workers.ts'
import { inTime, readyMs } from './answerInTime.ts'

export interface Readiness {
  readonly check: 'database' | 'migrations' | 'scheduler' | 'worker'
  readonly ok: boolean
  readonly message: string
}

export interface ReadyDeps {
  readonly db: Database
  readonly workerId: string
  /** Returns the seconds since the scheduler's last poll; infinity before its start; undefined if this process has no scheduler. */
  readonly schedulerIdleS: () => number | undefined
  /** Maximum time of an answer in milliseconds; default `defaultAnswerMs`, for `/ready` `readyMs`. */
  readonly answerMs?: number
}

const oldestPollS = 30
const oldestHeartbeatS = 60

/** Runs the checks of `/ready`. If the database does not answer in time, returns only the check `database`. */
export function checkReadiness(deps: ReadyDeps): Promise<readonly Readiness[]> {
  return inTime(Math.min(deps.answerMs ?? readyMs, readyMs), runChecks(deps)).catch(() => [
    { check: 'database', ok: false, message: 'does not answer' },
  ])
}

/** Rejects if the database fails. */
async function runChecks(deps: ReadyDeps): Promise<readonly Readiness[]> {
  await deps.db.query('select 1')
  const checks: Readiness[] = [{ check: 'database', ok: true, message: 'answers' }]
  const { applied, known } = await migrationStatus(deps.db.url, deps.db.schema).catch(() => ({ applied: 0, known: -1 }))
  checks.push({ check: 'migrations', ok: applied === known, message: known < 0 ? 'do not match this version' : `${applied} of ${known}` })
  const idle = deps.schedulerIdleS()
  if (idle !== undefined) {
    const message = Number.isFinite(idle) ? `last poll ${Math.round(idle)} s ago` : 'has not started yet'
    checks.push({ check: 'scheduler', ok: idle <= oldestPollS, message })
  }
  const worker = await findWorker(deps.db, deps.workerId)
  checks.push({
    check: 'worker',
    ok: worker !== undefined && worker.idleS <= oldestHeartbeatS,
    message: worker === undefined ? 'is not registered' : `last heartbeat ${Math.round(worker.idleS)} s ago`,
  })
  return checks
}
