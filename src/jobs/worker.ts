/** A worker: carries out queued runs, and helps pushing the plans of others. Any number of them share one Postgres. */
import { rescueBatches } from '../store/batches.ts'
import { applyRetention } from '../store/retention.ts'
import { findQueuedRuns, findSharedPlans } from '../store/schedules.ts'
import { deadWorkers, touchWorker } from '../store/workers.ts'
import { rescueRunsAndBooks, updateBooksOfPlan } from '../sync/books.ts'
import { crashPoint } from '../sync/crashPoint.ts'
import { executeRun } from '../sync/run.ts'
import { pushPlan } from '../sync/push/push.ts'
import type { JobDeps } from './deps.ts'
import { openQueues, type PushJob, type Queues, type RunJob } from './queues.ts'

export interface Worker {
  /** Ends what is under way safely and returns within 25 s. */
  readonly stop: () => Promise<void>
}

/** Runs that one worker carries out side by side; each is of another destination. */
const runsAtOnce = 4
/** A lost wake-up costs this at the most. */
const lookAroundMs = 1_000
const rescueEveryMs = 5_000
const maintainEveryMs = 3_600_000

export async function startWorker(deps: JobDeps): Promise<Worker> {
  const stopping = new AbortController()
  const signal = deps.signal ? AbortSignal.any([deps.signal, stopping.signal]) : stopping.signal
  const queues = await openQueues(deps.db, { supervise: true, log: deps.log })
  const work = createWork({ ...deps, signal }, queues)

  // batchSize 1 and several loops: a job is a whole run, so there is nothing to gain by taking more than one.
  await queues.boss.work<RunJob>(
    'run',
    { localConcurrency: runsAtOnce, pollingIntervalSeconds: 2, notifyPollingIntervalSeconds: 10 },
    async ([job]) => {
      if (job !== undefined && !signal.aborted) await work.runDestination(job.data.destinationId, job.data.runId)
    },
  )
  await queues.boss.work<PushJob>(
    'push',
    { localConcurrency: runsAtOnce, pollingIntervalSeconds: 2, notifyPollingIntervalSeconds: 10 },
    async ([job]) => {
      if (job !== undefined && !signal.aborted) await work.helpPush(job.data.planId)
    },
  )
  await queues.boss.work('maintain', { pollingIntervalSeconds: 30, notifyPollingIntervalSeconds: 30 }, async () => {
    if (!signal.aborted) await applyRetention(deps.db, deps.settings)
  })
  const around = lookAround(deps, queues, work, signal)

  return {
    async stop() {
      stopping.abort()
      await Promise.allSettled([around, work.idle()])
      await queues.close()
    },
  }
}

interface Work {
  readonly runDestination: (destinationId: number, runId?: number) => Promise<void>
  readonly helpPush: (planId: string) => Promise<void>
  readonly idle: () => Promise<void>
}

function createWork(deps: JobDeps & { readonly signal: AbortSignal }, queues: Queues): Work {
  const destinations = new Map<number, Promise<void>>()
  const plans = new Map<string, Promise<void>>()

  const runDestination = async (destinationId: number, runId?: number) => {
    // Queued runs of a destination one after the other, until none is left: also those whose wake-up found us awake.
    for (;;) {
      const [next] = await findQueuedRuns(deps.db, { destinationId, ...(runId === undefined ? {} : { runId }) })
      if (next === undefined || deps.signal.aborted) return
      crashPoint('worker.run_found')
      const own: string[] = []
      try {
        const report = await executeRun(deps, next.id, {
          onPlanned: async (planId, batches) => {
            // This process pushes it as its run; the others may come and help.
            own.push(planId)
            plans.set(planId, Promise.resolve())
            await queues.wakeForPush({ planId }, Math.min(8, Math.ceil(batches / 4)))
          },
        })
        if (report === 'busy') return
        if (report !== 'gone') deps.log.info({ runId: report.runId, pipeline: report.pipeline, status: report.status }, 'run ended')
      } finally {
        for (const planId of own) plans.delete(planId)
      }
    }
  }
  const helpPush = async (planId: string) => {
    const [row] = await deps.db.query(`select from sluice.plan where id = $1 and status = 'applying'`, [planId])
    if (row === undefined) return
    await pushPlan(deps, planId)
    // The run may have ended before its helpers did.
    await updateBooksOfPlan(deps.db, planId)
  }
  return {
    runDestination: (destinationId, runId) => once(destinations, destinationId, () => runDestination(destinationId, runId)),
    helpPush: (planId) => once(plans, planId, () => helpPush(planId)),
    async idle() {
      await Promise.allSettled([...destinations.values(), ...plans.values()])
    },
  }
}

/** One at a time for a key in this process; whoever asks meanwhile has asked already. */
function once<Key>(under: Map<Key, Promise<void>>, key: Key, work: () => Promise<void>): Promise<void> {
  const known = under.get(key)
  if (known !== undefined) return known
  const task = work().finally(() => under.delete(key))
  under.set(key, task)
  return task
}

/** What needs no wake-up: queued runs that nobody took, plans to share, leases of the dead, and the hourly upkeep. */
async function lookAround(deps: JobDeps, queues: Queues, work: Work, signal: AbortSignal): Promise<void> {
  const { db, clock } = deps
  const background = (task: Promise<void>, what: string) => {
    task.catch((error: unknown) =>
      deps.log.error({ what, reason: error instanceof Error ? error.message : 'error' }, 'work ended with an error; it is tried again'),
    )
  }
  let rescuedAt = Number.NEGATIVE_INFINITY
  let maintainedAt = clock.monotonic()
  while (!signal.aborted) {
    try {
      if (clock.monotonic() - rescuedAt >= rescueEveryMs) {
        rescuedAt = clock.monotonic()
        await rescueRunsAndBooks(db)
        await rescueBatches(db, await deadWorkers(db), deps.settings.horizonMs)
        await touchWorker(db, deps.workerId)
      }
      for (const run of await findQueuedRuns(db)) background(work.runDestination(run.destinationId), 'run')
      for (const planId of await findSharedPlans(db)) background(work.helpPush(planId), 'push')
      if (clock.monotonic() - maintainedAt >= maintainEveryMs) {
        maintainedAt = clock.monotonic()
        await queues.boss.send('maintain', {}, { singletonKey: 'hourly' })
      }
    } catch (error) {
      // The database may be away for a while: leases and ticks wait for it, nothing is lost.
      deps.log.warn({ reason: error instanceof Error ? error.message : 'error' }, 'the worker could not look for work')
    }
    await clock.sleep(lookAroundMs, signal)
  }
}
