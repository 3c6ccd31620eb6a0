/** The scheduler: node-cron as the pump, one beat a second; the beat itself decides what is due (scale 2). */
import cron from 'node-cron'
import { ensureDestination } from '../store/runs.ts'
import { storeSchedules } from '../store/schedules.ts'
import { destinationIdentity } from '../sync/destinationIdentity.ts'
import { beat } from './beat.ts'
import type { JobDeps } from './deps.ts'
import { isTouchedByClockChange } from './occurrences.ts'
import { openQueues } from './queues.ts'

export interface Scheduler {
  readonly stop: () => Promise<void>
}

/** Files are looked at again so often: an edited schedule counts from then on. */
const reloadEveryMs = 15_000

const quiet = { info() {}, warn() {}, error() {}, debug() {} }

/** Any number may run on one database: a tick is decided once. */
export async function startScheduler(deps: JobDeps): Promise<Scheduler> {
  const queues = await openQueues(deps.db, { supervise: false, log: deps.log })
  const warned = new Set<string>()
  let reloadedAt = Number.NEGATIVE_INFINITY
  let destinations = new Map<string, number>()

  const reload = async () => {
    const pipelines = await deps.loadPipelines()
    const scheduled = pipelines.filter((pipeline) => pipeline.schedule !== undefined)
    const found = new Map<string, number>()
    for (const pipeline of scheduled) found.set(pipeline.name, (await ensureDestination(deps.db, destinationIdentity(deps, pipeline))).id)
    destinations = found
    await storeSchedules(
      deps.db,
      scheduled.flatMap((pipeline) => (pipeline.schedule === undefined ? [] : [{ pipeline: pipeline.name, ...pipeline.schedule }])),
    )
    for (const { name, schedule } of scheduled) {
      if (schedule === undefined || warned.has(name) || !isTouchedByClockChange(schedule)) continue
      warned.add(name)
      deps.log.warn(
        { pipeline: name, cron: schedule.cron, timezone: schedule.timezone },
        'this time is skipped or doubled when the clocks change; docs/schedules.md says what then',
      )
    }
    reloadedAt = deps.clock.monotonic()
  }
  const pump = async () => {
    try {
      if (deps.clock.monotonic() - reloadedAt >= reloadEveryMs) await reload()
      await beat({ db: deps.db, queues, log: deps.log, destinationOf: async (pipeline) => destinations.get(pipeline) })
    } catch (error) {
      // The next beat finds what this one missed.
      deps.log.warn({ reason: error instanceof Error ? error.message : 'error' }, 'a beat of the scheduler failed')
    }
  }

  await reload()
  let beating: Promise<void> | undefined
  const onBeat = () => {
    // A slow beat is not beaten twice: the next one finds what came due meanwhile.
    beating ??= pump().finally(() => (beating = undefined))
    return beating
  }
  // UTC: the pump itself knows no clock changes. What node-cron would print about late beats nobody needs to read.
  const task = cron.schedule('* * * * * *', onBeat, { timezone: 'UTC', suppressMissedWarning: true, logger: quiet })
  return {
    async stop() {
      await task.destroy()
      await beating
      await queues.close()
    },
  }
}
