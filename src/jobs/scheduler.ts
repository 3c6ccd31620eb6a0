/**
 * Runs the scheduler of the pipelines of one folder. node-cron starts a poll every 15 seconds. If a tick is due earlier, a timer starts a
 * poll at that time. Each poll decides the due ticks: it queues or skips their runs. If the clock of this machine is set back, node-cron
 * waits until the old time comes again. Meanwhile the timer starts the polls.
 */
import cron from 'node-cron'
import { compareJournal } from '../db/migrate.ts'
import { DeclaredFiles } from './declaredFiles.ts'
import { decideDueTicks } from './decideTicks.ts'
import type { JobDeps } from './deps.ts'
import { openQueues, type Queues } from './queues.ts'

export interface Scheduler {
  /** Returns the seconds since the last successful poll, or since the start. After a migration by a newer version, no poll is successful. */
  readonly idleS: () => number
  /** Stops the polls. Resolves when a running poll has ended. */
  readonly stop: () => Promise<void>
}

const pollPattern = '*/15 * * * * *'
/** Maximum time of the timer in milliseconds. Also the interval of polls while node-cron waits. */
const maxTimerMs = 15_000
/** Wait in milliseconds after a failed poll. Also after a poll that left a due schedule to another scheduler, which has locked it. */
const retryMs = 1_000

const noLogger = { info() {}, warn() {}, error() {}, debug() {} }

/**
 * Starts a scheduler. Any number of schedulers can run on one database, because each tick is decided once. `openedQueues`: queues
 * that the caller closes; without them, the scheduler opens and closes its own. Rejects if the first read of the files or the database
 * fails.
 */
export async function startScheduler(deps: JobDeps, openedQueues?: Queues): Promise<Scheduler> {
  const { db, clock, log } = deps
  const queues = openedQueues ?? (await openQueues(db, { supervise: false, log }))
  const files = new DeclaredFiles(deps)
  await files.current()
  let polledAt = clock.monotonic()
  /**
   * Time (`clock.monotonic`) before which no tick is due. Until then, polls do not query the schedules. Each declaration resets this time,
   * so that a change of the database's clock delays a tick by 30 s at most.
   */
  let quietUntil = Number.NEGATIVE_INFINITY
  /** Decides the due ticks. Returns the milliseconds until the next tick; infinity if a newer version migrated the database. */
  const decide = async () => {
    // A newer scheduler decides the ticks. This version could declare other schedules, and queue runs that no newer worker can claim.
    if (!(await compareJournal(db)).isPrefix) return Number.POSITIVE_INFINITY
    const { isDeclared, ...declared } = await files.current()
    if (isDeclared) quietUntil = Number.NEGATIVE_INFINITY
    while (clock.monotonic() >= quietUntil) {
      const { decidedCount, quietMs } = await decideDueTicks({ db, queues, log, ...declared })
      // `quietMs` is computed from the times before the decisions, so after a decision the schedules are read again.
      if (decidedCount === 0) quietUntil = clock.monotonic() + (quietMs === 0 ? retryMs : quietMs)
    }
    polledAt = clock.monotonic()
    return quietUntil - polledAt
  }

  let isStopping = false
  let timer: NodeJS.Timeout | undefined
  let polling: Promise<void> | undefined
  // Polls never overlap. Ticks that become due meanwhile are decided by the next poll.
  const poll = () =>
    (polling ??= decide()
      .then((ms) => armTimer(ms), retry)
      .finally(() => (polling = undefined)))
  // A failed poll loses no tick: the next poll decides it.
  const retry = (error: unknown) => {
    armTimer(retryMs)
    log.warn({ reason: error instanceof Error ? error.message : 'error' }, 'a poll of the scheduler failed')
  }
  const armTimer = (ms: number) => {
    clearTimeout(timer)
    if (!isStopping) timer = setTimeout(() => void poll(), Math.min(ms, maxTimerMs))
  }

  // UTC has no clock changes. Late polls are harmless, so node-cron's warnings about them are off.
  const task = cron.schedule(pollPattern, poll, { timezone: 'UTC', suppressMissedWarning: true, logger: noLogger })
  void poll()
  return {
    idleS: () => (clock.monotonic() - polledAt) / 1000,
    async stop() {
      isStopping = true
      clearTimeout(timer)
      await task.destroy()
      await polling
      if (openedQueues === undefined) await queues.close()
    },
  }
}
