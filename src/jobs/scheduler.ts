/**
 * Runs the scheduler of the pipelines of one folder. node-cron starts a poll every 15 seconds, and a timer starts a poll when a tick is due
 * before. Each poll decides the due ticks.
 */
import cron from 'node-cron'
import { ensureDestination } from '../db/destinations.ts'
import { updateQueuedDefinitions } from '../db/runs.ts'
import { declareSchedules, type DeclaredSchedule } from '../db/schedules.ts'
import { ConfigError, UsageError } from '../errors.ts'
import type { LoadedPipelines } from '../pipeline/load.ts'
import type { Pipeline } from '../model/pipeline.ts'
import { destinationIdentity } from '../sync/destinationIdentity.ts'
import { decideDueTicks, type DueTicksDeps } from './dueTicks.ts'
import type { JobDeps } from './deps.ts'
import { createNextDue, isTouchedByClockChange } from './occurrences.ts'
import { openQueues, type Queues } from './queues.ts'

export interface Scheduler {
  /** Returns the seconds since the last successful poll, or since the start. */
  readonly idleS: () => number
  readonly stop: () => Promise<void>
}

const pollPattern = '*/15 * * * * *'
/** Interval in milliseconds of reading the pipeline files again. Shorter than 15 s, so that each poll of node-cron reads them. */
const reloadEveryMs = 14_000
/** Maximum time of the timer in milliseconds. A poll of node-cron sets the timer again for a later tick. */
const timerMs = 20_000
/** Interval in milliseconds of declaring unchanged schedules, shorter than the validity of a declaration (`declaredForS`). */
const declareEveryMs = 28_000
/** Wait in milliseconds after a failed poll, or after a poll that found a due schedule locked by another scheduler. */
const retryMs = 1_000

const noLogger = { info() {}, warn() {}, error() {}, debug() {} }

/**
 * Starts a scheduler. Any number of schedulers can run on one database, because each tick is decided once. `shared`: queues that the
 * caller closes; without them, the scheduler opens and closes its own. Rejects if the files or the database cannot be used at the start.
 */
export async function startScheduler(deps: JobDeps, shared?: Queues): Promise<Scheduler> {
  const queues = shared ?? (await openQueues(deps.db, { supervise: false, log: deps.log }))
  const warned = new Set<string>()
  const nextDue = createNextDue()
  const destinationIds = new Map<string, number>()
  let reloadedAt = Number.NEGATIVE_INFINITY
  let declaredAt = Number.NEGATIVE_INFINITY
  let declaredText = ''
  let declared: Pick<DueTicksDeps, 'declaration' | 'versionOf' | 'reasonOf'> | undefined
  let polledAt = deps.clock.monotonic()
  let unusable = ''
  /**
   * Time (`clock.monotonic`) before which no tick is due, so that polls send no query. Each declaration resets it, so that a change of
   * the database's clock delays a tick by 30 s at most.
   */
  let quietUntil = Number.NEGATIVE_INFINITY

  /** Reads the files. If `sluice.yaml` or the folder cannot be used, all pipelines of the last reading count as broken. */
  const readFiles = async (): Promise<Pick<LoadedPipelines, 'pipelines' | 'broken'>> => {
    try {
      const loaded = await deps.loadPipelines()
      unusable = ''
      return loaded
    } catch (error) {
      if (declared === undefined || !(error instanceof ConfigError || error instanceof UsageError)) throw error
      const { code, where, message, hint } = error
      if (message !== unusable) deps.log.error({ code, where, hint }, `${message}: no schedule runs until it is corrected`)
      unusable = message
      const { schedules, broken } = declared.declaration
      const reason = new ConfigError(code, `${where === undefined ? '' : `${where}: `}${message}`, [], { hint })
      return { pipelines: [], broken: new Map([...broken, ...schedules.map(({ pipeline }) => pipeline)].map((name) => [name, reason])) }
    }
  }

  // Ids are cached, because the id of a destination never changes and there may be thousands of destinations.
  const destinationIdOf = async (pipeline: Pipeline) => {
    const identity = destinationIdentity(deps, pipeline)
    const key = JSON.stringify(identity)
    const id = destinationIds.get(key) ?? (await ensureDestination(deps.db, identity)).id
    destinationIds.set(key, id)
    return id
  }
  /** Reads the files, and declares their schedules in the database if they changed or the last declaration is old. */
  const reload = async () => {
    const { pipelines, broken } = await readFiles()
    const scheduled = pipelines.filter(({ name, schedule }) => schedule !== undefined && !broken.has(name))
    const schedules: DeclaredSchedule[] = []
    for (const pipeline of scheduled) {
      const destinationId = await destinationIdOf(pipeline)
      if (pipeline.schedule !== undefined) schedules.push({ destinationId, pipeline: pipeline.name, ...pipeline.schedule })
    }
    const declaration = { credentials: deps.service.credentials, folder: deps.folder, schedules, broken: [...broken.keys()] }
    const versions = new Map(scheduled.map(({ name, version }) => [name, version]))
    const text = JSON.stringify([declaration, [...versions]])
    if (text !== declaredText || deps.clock.monotonic() - declaredAt >= declareEveryMs) {
      for (const name of await declareSchedules(deps.db, declaration, new Date(deps.clock.now())))
        deps.log.warn(
          { pipeline: name },
          'the last tick of this schedule was in the future, because the clock of the database was ahead: it begins now',
        )
      await updateQueuedDefinitions(
        deps.db,
        deps.service,
        schedules.map(({ destinationId, pipeline: name }) => ({ destinationId, name, version: versions.get(name) ?? '' })),
      )
      declaredText = text
      declaredAt = deps.clock.monotonic()
      quietUntil = Number.NEGATIVE_INFINITY
    }
    declared = {
      declaration,
      versionOf: (name) => versions.get(name),
      reasonOf: (name) => broken.get(name)?.message ?? 'its file was removed',
    }
    for (const { name, schedule } of scheduled) {
      if (schedule === undefined || warned.has(name) || !isTouchedByClockChange(schedule)) continue
      warned.add(name)
      deps.log.warn(
        { pipeline: name, cron: schedule.cron, timezone: schedule.timezone },
        'a time of this schedule is skipped or repeated when the clocks change; see docs/schedules.md',
      )
    }
    reloadedAt = deps.clock.monotonic()
  }
  const poll = async () => {
    try {
      if (deps.clock.monotonic() - reloadedAt >= reloadEveryMs) await reload()
      while (declared !== undefined && deps.clock.monotonic() >= quietUntil) {
        const { decided, quietMs } = await decideDueTicks({ db: deps.db, queues, log: deps.log, nextDue, ...declared })
        // Decided schedules still have their old time here, so they are read again.
        if (decided === 0) quietUntil = deps.clock.monotonic() + (quietMs === 0 ? retryMs : quietMs)
      }
      polledAt = deps.clock.monotonic()
      armTimer(quietUntil - polledAt)
    } catch (error) {
      // The next poll finds what this one missed.
      armTimer(retryMs)
      deps.log.warn({ reason: error instanceof Error ? error.message : 'error' }, 'a poll of the scheduler failed')
    }
  }

  let timer: NodeJS.Timeout | undefined
  let polling: Promise<void> | undefined
  let stopped = false
  const startPoll = () => {
    // Polls never overlap. Ticks that become due meanwhile are decided by the next poll.
    polling ??= poll().finally(() => (polling = undefined))
    return polling
  }
  const armTimer = (ms: number) => {
    clearTimeout(timer)
    if (!stopped && ms <= timerMs) timer = setTimeout(() => void startPoll(), ms)
  }

  await reload()
  // UTC has no clock changes. Late polls are harmless, so node-cron's warnings about them are off.
  const task = cron.schedule(pollPattern, startPoll, { timezone: 'UTC', suppressMissedWarning: true, logger: noLogger })
  void startPoll()
  return {
    idleS: () => (deps.clock.monotonic() - polledAt) / 1000,
    async stop() {
      stopped = true
      clearTimeout(timer)
      await task.destroy()
      await polling
      clearTimeout(timer)
      if (shared === undefined) await queues.close()
    },
  }
}
