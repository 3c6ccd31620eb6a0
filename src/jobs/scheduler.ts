/** Runs the scheduler: node-cron polls once a second, and each poll decides the due ticks. */
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
import { openQueues } from './queues.ts'

export interface Scheduler {
  /** Seconds since its last successful poll. */
  readonly idleS: () => number
  readonly stop: () => Promise<void>
}

/** Interval of reading the pipeline files again, so that an edited schedule takes effect. */
const reloadEveryMs = 15_000

const quiet = { info() {}, warn() {}, error() {}, debug() {} }

/** Starts a scheduler. Any number can run on one database: each tick is decided once. */
export async function startScheduler(deps: JobDeps): Promise<Scheduler> {
  const queues = await openQueues(deps.db, { supervise: false, log: deps.log })
  const warned = new Set<string>()
  const nextDue = createNextDue()
  const destinationIds = new Map<string, number>()
  let reloadedAt = Number.NEGATIVE_INFINITY
  let declared: Pick<DueTicksDeps, 'declaration' | 'versionOf' | 'reasonOf'> | undefined
  let polledAt = deps.clock.monotonic()
  let unusable = ''
  /**
   * Time before which nothing is due, so that polls send no query. Reset by each reload, so that a changed clock delays a tick by
   * 15 s at most.
   */
  let quietUntil = Number.NEGATIVE_INFINITY

  /** Reads the files. If `sluice.yaml` or the folder cannot be used, all pipelines known so far count as broken. */
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

  // Cached, because ids of destinations never change and there may be thousands of them.
  const destinationIdOf = async (pipeline: Pipeline) => {
    const identity = destinationIdentity(deps, pipeline)
    const key = JSON.stringify(identity)
    const id = destinationIds.get(key) ?? (await ensureDestination(deps.db, identity)).id
    destinationIds.set(key, id)
    return id
  }
  const reload = async () => {
    const { pipelines, broken } = await readFiles()
    const scheduled = pipelines.filter(({ name, schedule }) => schedule !== undefined && !broken.has(name))
    const schedules: DeclaredSchedule[] = []
    for (const pipeline of scheduled) {
      const destinationId = await destinationIdOf(pipeline)
      if (pipeline.schedule !== undefined) schedules.push({ destinationId, pipeline: pipeline.name, ...pipeline.schedule })
    }
    const declaration = { credentials: deps.service.credentials, folder: deps.folder, schedules, broken: [...broken.keys()] }
    await declareSchedules(deps.db, declaration)
    const versions = new Map(scheduled.map(({ name, version }) => [name, version]))
    await updateQueuedDefinitions(
      deps.db,
      deps.service,
      schedules.map(({ destinationId, pipeline: name }) => ({ destinationId, name, version: versions.get(name) ?? '' })),
    )
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
        'this time is skipped or repeated when the clocks change; see docs/schedules.md',
      )
    }
    reloadedAt = deps.clock.monotonic()
    quietUntil = Number.NEGATIVE_INFINITY
  }
  const poll = async () => {
    try {
      if (deps.clock.monotonic() - reloadedAt >= reloadEveryMs) await reload()
      if (declared !== undefined && deps.clock.monotonic() >= quietUntil) {
        const { quietMs } = await decideDueTicks({ db: deps.db, queues, log: deps.log, nextDue, ...declared })
        quietUntil = deps.clock.monotonic() + quietMs
      }
      polledAt = deps.clock.monotonic()
    } catch (error) {
      // The next poll finds what this one missed.
      deps.log.warn({ reason: error instanceof Error ? error.message : 'error' }, 'a poll of the scheduler failed')
    }
  }

  await reload()
  let polling: Promise<void> | undefined
  const onPoll = () => {
    // Polls never overlap. The next one decides what became due meanwhile.
    polling ??= poll().finally(() => (polling = undefined))
    return polling
  }
  // UTC has no clock changes. Late polls are harmless, so node-cron's warnings about them are off.
  const task = cron.schedule('* * * * * *', onPoll, { timezone: 'UTC', suppressMissedWarning: true, logger: quiet })
  return {
    idleS: () => (deps.clock.monotonic() - polledAt) / 1000,
    async stop() {
      await task.destroy()
      await polling
      await queues.close()
    },
  }
}
