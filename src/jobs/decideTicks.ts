/**
 * Decides every tick (scheduled time) of a schedule exactly once, with any number of schedulers (docs/guarantees.md#one-run-per-tick). A
 * tick runs, is queued, is skipped or is missed. Uses the time of the database, and croner for the times of ticks. A late poll also decides
 * the ticks since the last poll: of each schedule, at most the newest 1,000.
 */
import { errorJson, RunError } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { Database, Transaction } from '../db/database.ts'
import { listPauses } from '../db/pauses.ts'
import { openRuns } from '../db/runs/queued.ts'
import { requestRun } from '../db/runs/request.ts'
import { skipRun } from '../db/runs/end.ts'
import { loadSchedules, lockSchedule, storeLastTick, recordTicks, type Declaration, type ScheduleRow, type Tick } from '../db/schedules.ts'
import { ownerOf } from '../db/destinations.ts'
import { crashPoint } from '../sync/crashPoint.ts'
import { pausedError } from '../sync/run/requestAndClaim.ts'
import { cachedNextTick, dueTicks } from './cronTicks.ts'
import type { Queues } from './queues.ts'

/** Dependencies of the decisions, and the latest reading of the pipeline files. */
export interface DecideTicksDeps {
  readonly db: Database
  readonly queues: Pick<Queues, 'wakeForRun'>
  readonly log: Logger
  readonly declaration: Declaration
  /** Returns the version of a pipeline in the folder; undefined if the folder does not have it. */
  readonly versionOf: (pipeline: string) => string | undefined
  /** Returns the reason why the file of a pipeline cannot be used. */
  readonly reasonOf: (pipeline: string) => string
}

/** Result of one pass over all schedules. */
export interface DecidedTicks {
  /** Number of ticks that were decided, with the missed ones. */
  readonly decidedCount: number
  /** Time until the next schedule is due, in milliseconds; 0 if one was due in this pass; infinity if there is none. */
  readonly quietMs: number
}

/** Decides all due ticks, except those that another scheduler decides. Ticks of a pipeline whose file cannot be used are skipped. */
export async function decideDueTicks(deps: DecideTicksDeps): Promise<DecidedTicks> {
  const { now, schedules, brokenSchedules } = await loadSchedules(deps.db, deps.declaration)
  const isDue = (schedule: ScheduleRow) => nextTickMs(schedule) <= now.getTime()
  let decidedCount = 0
  for (const { id } of schedules.filter(isDue))
    decidedCount += await decide(deps, id, (tx, schedule, at) => queueTick(deps, tx, schedule, at))
  for (const { id } of brokenSchedules.filter(isDue))
    decidedCount += await decide(deps, id, async (_, schedule, at) =>
      skipped(at, `the pipeline file cannot be used: ${deps.reasonOf(schedule.pipeline)}`),
    )
  return { decidedCount, quietMs: quietMs(now, [...schedules, ...brokenSchedules]) }
}

/**
 * Returns the milliseconds until the next schedule is due. `schedules` has the times before the decisions. So the result is 0 if a schedule
 * was due in this pass.
 */
function quietMs(now: Date, schedules: readonly ScheduleRow[]): number {
  let next = Number.POSITIVE_INFINITY
  for (const schedule of schedules) next = Math.min(next, nextTickMs(schedule))
  return Math.max(0, next - now.getTime())
}

/** Returns the next tick of a schedule after its last decided tick, in milliseconds since 1970; infinity if there is none. */
function nextTickMs(schedule: ScheduleRow): number {
  return cachedNextTick(schedule, schedule.lastScheduledFor)?.getTime() ?? Number.POSITIVE_INFINITY
}

/**
 * Decides the newest due tick of a schedule, and records older ticks as missed. Returns the number of due ticks; 0 if another scheduler
 * has decided them, or if `lockSchedule` finds the schedule or its destination locked.
 */
function decide(
  deps: DecideTicksDeps,
  id: number,
  decideNewest: (tx: Transaction, schedule: ScheduleRow, scheduledFor: Date) => Promise<Tick>,
): Promise<number> {
  return deps.db.transaction(async (tx) => {
    const locked = await lockSchedule(tx, id)
    if (locked === undefined) return 0
    const { schedule } = locked
    const due = dueTicks(schedule, schedule.lastScheduledFor, locked.now)
    const newest = due.at(-1)
    if (newest === undefined) return 0
    const tick = await decideNewest(tx, schedule, newest)
    const missed = due.slice(0, -1).map((scheduledFor): Tick => ({
      scheduledFor,
      outcome: 'missed',
      reason: `no scheduler decided it in time; the tick of ${newest.toISOString()} replaces it`,
      runId: tick.runId,
    }))
    await recordTicks(tx, schedule, [...missed, tick])
    await storeLastTick(tx, schedule.id, newest)
    crashPoint('tick.before_commit')
    return due.length
  })
}

/**
 * Queues the run of a tick, and returns the decided tick. If the tick is skipped because of a pause or an open run, stores a skipped run.
 * If the destination belongs to other credentials, skips the tick without a run.
 */
async function queueTick(deps: DecideTicksDeps, tx: Transaction, schedule: ScheduleRow, scheduledFor: Date): Promise<Tick> {
  const { pipeline, destinationId } = schedule
  const { credentials } = deps.declaration
  const owner = await ownerOf(tx, destinationId)
  if (owner !== null && owner !== credentials) {
    const reason = `its destination belongs to ${owner}, and this environment is ${credentials}; to change that: sluice run ${pipeline} --take-over`
    deps.log.error({ code: 'OTHER_CREDENTIALS', pipeline }, reason)
    return skipped(scheduledFor, reason)
  }
  const version = deps.versionOf(pipeline)
  const request = () =>
    requestRun(tx, {
      pipeline,
      destinationId,
      trigger: 'schedule',
      scheduledFor,
      ...(version === undefined ? {} : { version }),
    })
  const skip = async (reason: string, error: RunError) => {
    const runId = await request()
    if (runId !== undefined) await skipRun(tx, runId, errorJson(error))
    return skipped(scheduledFor, reason, runId)
  }
  const [pause] = await listPauses(tx, destinationId)
  if (pause !== undefined) return skip('paused', pausedError(pause, pipeline))
  const open = await openRuns(tx, destinationId, version)
  // The run of a command is left out, because it may end as skipped.
  const waiting = open.find((run) => run.status === 'queued' && run.pipeline === pipeline && run.forAnyWorker)
  const ahead = waiting ?? open.find((run) => run.status === 'running') ?? open.at(0)
  if (ahead !== undefined && (schedule.overlap === 'skip' || waiting !== undefined)) {
    const reason = `run r_${ahead.id} was ${ahead.status === 'running' ? 'still in progress' : 'already waiting'}`
    const hint = waiting === undefined ? 'overlap: queue lets one run wait instead' : `sluice show r_${waiting.id}`
    return skip(reason, new RunError('TICK_SKIPPED', reason, { where: pipeline, hint }))
  }
  const runId = await request()
  if (runId === undefined) return skipped(scheduledFor, 'this tick has its run already')
  // `wakeForRun` returns false if a job for this destination is already queued or active. Its worker, or the next poll, finds this run.
  await deps.queues.wakeForRun({ runId, destinationId }, tx)
  return {
    scheduledFor,
    outcome: ahead === undefined ? 'ran' : 'queued',
    reason: ahead === undefined ? null : `behind run r_${ahead.id}`,
    runId,
  }
}

function skipped(scheduledFor: Date, reason: string, runId?: number): Tick {
  return { scheduledFor, outcome: 'skipped', reason, runId: runId ?? null }
}
