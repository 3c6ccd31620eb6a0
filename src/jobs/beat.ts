/**
 * One beat of the scheduler's pump: every tick that became due is decided once, whoever beats and however often (I21).
 * Time is the database's, arithmetic croner's; a beat that is late finds all that it missed.
 */
import type { Logger } from '../log.ts'
import type { Database, Transaction } from '../store/database.ts'
import { requestRun, skipRun } from '../store/runs.ts'
import { loadSchedules, moveSchedule, openRuns, recordTicks, type ScheduleRow, type Tick } from '../store/schedules.ts'
import { crashPoint } from '../sync/crashPoint.ts'
import { dueOccurrences } from './occurrences.ts'
import type { Queues } from './queues.ts'

export interface BeatDeps {
  readonly db: Database
  readonly queues: Pick<Queues, 'wakeForRun'>
  readonly log: Logger
  /** The destination row of a pipeline; undefined when its file is gone or wrong. */
  readonly destinationOf: (pipeline: string) => Promise<number | undefined>
}

/** Returns how many ticks were decided. */
export async function beat(deps: BeatDeps): Promise<number> {
  const { now, schedules } = await loadSchedules(deps.db)
  const due = schedules
    .filter((schedule) => dueOccurrences(schedule, schedule.lastScheduledFor, now).length > 0)
    .map((schedule) => schedule.pipeline)
  let decided = 0
  for (const pipeline of due) {
    const destinationId = await deps.destinationOf(pipeline)
    decided += await deps.db.transaction(async (tx) => {
      const locked = await loadSchedules(tx, { forUpdate: [pipeline] })
      const [schedule] = locked.schedules
      return schedule === undefined ? 0 : decide(deps, tx, schedule, locked.now, destinationId)
    })
  }
  return decided
}

/** The newest due tick runs; older ones were missed, and this run makes up for all of them. */
async function decide(
  deps: BeatDeps,
  tx: Transaction,
  schedule: ScheduleRow,
  now: Date,
  destinationId: number | undefined,
): Promise<number> {
  const due = dueOccurrences(schedule, schedule.lastScheduledFor, now)
  const newest = due.at(-1)
  if (newest === undefined) return 0
  const tick =
    destinationId === undefined
      ? skipped(newest, 'the pipeline file cannot be used', null)
      : await start(deps, tx, schedule, newest, destinationId)
  const missed = due.slice(0, -1).map((scheduledFor): Tick => ({
    scheduledFor,
    outcome: 'missed',
    reason: `no scheduler was up; ${newest.toISOString()} made up for it`,
    runId: tick.runId,
  }))
  await recordTicks(tx, schedule.pipeline, [...missed, tick])
  await moveSchedule(tx, schedule.pipeline, newest)
  crashPoint('beat.before_commit')
  return due.length
}

async function start(deps: BeatDeps, tx: Transaction, schedule: ScheduleRow, scheduledFor: Date, destinationId: number): Promise<Tick> {
  const open = await openRuns(tx, destinationId)
  const waiting = open.find((run) => run.status === 'queued' && run.pipeline === schedule.pipeline)
  const held = open.at(0)
  if (held !== undefined && (schedule.overlap === 'skip' || waiting !== undefined)) {
    const reason = waiting === undefined ? `run r_${held.id} was still under way` : `run r_${waiting.id} was already waiting`
    const runId = await requestRun(tx, { pipeline: schedule.pipeline, destinationId, trigger: 'schedule', scheduledFor })
    if (runId !== undefined)
      await skipRun(tx, runId, {
        code: 'TICK_SKIPPED',
        message: reason,
        where: schedule.pipeline,
        mend: 'overlap: queue lets one run wait instead',
      })
    return skipped(scheduledFor, reason, runId ?? null)
  }
  const runId = await requestRun(tx, { pipeline: schedule.pipeline, destinationId, trigger: 'schedule', scheduledFor })
  if (runId === undefined) return skipped(scheduledFor, 'this tick has its run already', null)
  // False is no failure: somebody is awake for this destination and looks for queued runs before going to sleep.
  await deps.queues.wakeForRun({ runId, destinationId }, tx)
  return {
    scheduledFor,
    outcome: held === undefined ? 'ran' : 'queued',
    reason: held === undefined ? null : `behind run r_${held.id}`,
    runId,
  }
}

function skipped(scheduledFor: Date, reason: string, runId: number | null): Tick {
  return { scheduledFor, outcome: 'skipped', reason, runId }
}
