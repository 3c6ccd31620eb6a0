/** Runs a worker, which executes queued runs and sends batches of plans of other workers. Any number of workers can share one Postgres. */
import pLimit from 'p-limit'
import { recoverBatches } from '../db/batches/release.ts'
import { applyRetention } from '../db/retention.ts'
import { findQueuedRuns, findSharedPlans, hasOpenWork, isSharedPlan, maxQueuedRuns, type QueuedRun } from '../db/runs/queued.ts'
import { findUnclaimedRuns, skipUnclaimedRuns } from '../db/runs/claim.ts'
import { findEndedWorkers, storeHeartbeat } from '../db/workers.ts'
import { recoverExpiredRuns } from '../sync/run/recoverExpiredRuns.ts'
import { updateCountsOfPlan } from '../sync/run/runCounts.ts'
import { crashPoint } from '../sync/crashPoint.ts'
import { logRunEnd } from '../sync/run/runLog.ts'
import { claimAndExecute } from '../sync/run/run.ts'
import { pushPlan } from '../sync/push/push.ts'
import type { JobDeps } from './deps.ts'
import { openQueues, type PushJob, type Queues, type RunJob } from './queues.ts'
import { createRunSelection } from './runSelection.ts'
import { wakeOnNotification } from './wake.ts'
import { compareJournal } from '../db/migrate.ts'

export interface Worker {
  /** Aborts the runs and pushes of this worker, and resolves when they have ended. The next run of a pipeline sends what is left. */
  readonly stop: () => Promise<void>
}

/** Number of runs that a worker executes in parallel, each for another destination. Also the number of its loops that take push jobs. */
const parallelRuns = 4
/** Poll interval in milliseconds while work is open: a run is queued or running, or a request is in flight. */
const pollMs = 1_000
/**
 * Poll interval in milliseconds while no work is open. A notification ends the interval early, so the interval is the maximum delay after a
 * lost notification. An idle worker notices the work of an expired worker within this time. It takes the work over when the leases of that
 * worker have ended.
 */
const idlePollMs = 15_000
/** Wait in milliseconds after a failed poll. */
const retryMs = 2_000
/** Minimum interval in milliseconds of recoveries, and of heartbeats, while work is open. */
const recoverEveryMs = 5_000
/** Interval in milliseconds of heartbeats while there is no work. `/ready` and the metrics expect one heartbeat per minute. */
const idleHeartbeatMs = 20_000
/** Interval in milliseconds at which a worker queues the job that deletes expired rows. */
const maintainEveryMs = 3_600_000
/** Poll intervals of the queue library in seconds. The worker's own poll finds the same work sooner. */
const polling = { pollingIntervalSeconds: 30, notifyPollingIntervalSeconds: 300 }
/** Interval in milliseconds at which a helper checks that the run of its plan is still running. */
const watchEveryMs = 2_000
/** Maximum number of workers that are woken to help with one plan, and the number of batches for each of them. */
const maxHelpers = 8
const batchesPerHelper = 4

/** Starts a worker. `openedQueues`: queues that the caller closes; without them, the worker opens and closes its own. */
export async function startWorker(deps: JobDeps, openedQueues?: Queues): Promise<Worker> {
  const stopping = new AbortController()
  const signal = deps.signal ? AbortSignal.any([deps.signal, stopping.signal]) : stopping.signal
  const queues = openedQueues ?? (await openQueues(deps.db, { supervise: true, log: deps.log }))
  const isKnownVersion = await createVersionCheck(deps)
  const work = createWork({ ...deps, signal }, queues, isKnownVersion)

  // A job is a whole run, so each loop takes one job at a time.
  await queues.boss.work<RunJob>('run', { ...polling, localConcurrency: parallelRuns }, async ([job]) => {
    if (job !== undefined && !signal.aborted) await work.runDestination(job.data.destinationId, job.data.runId)
  })
  await queues.boss.work<PushJob>('push', { ...polling, localConcurrency: parallelRuns }, async ([job]) => {
    if (job !== undefined && !signal.aborted) await work.helpPush(job.data.planId)
  })
  await queues.boss.work('maintain', polling, async () => {
    if (!signal.aborted && (await isKnownVersion())) await applyRetention(deps.db, deps.settings)
  })
  const loop = poll({ deps, queues, work, isKnownVersion }, signal)

  return {
    async stop() {
      stopping.abort()
      await Promise.allSettled([loop, work.whenIdle()])
      if (openedQueues === undefined) await queues.close()
    },
  }
}

interface Work {
  /** Returns queued runs. If there are very many, returns only those of pipelines in the folder of this worker. */
  readonly findQueued: () => Promise<readonly QueuedRun[]>
  /**
   * Executes the queued runs of a destination, or only `runId`, one after the other. Ends if none is left that this worker can execute now.
   * If this process already executes runs of the destination, returns the promise of that work.
   */
  readonly runDestination: (destinationId: number, runId?: number) => Promise<void>
  /** Sends batches of a plan that another worker pushes, until its run ends. Does nothing if the plan needs no help. */
  readonly helpPush: (planId: string) => Promise<void>
  /** Resolves when the present runs and pushes have ended. */
  readonly whenIdle: () => Promise<void>
}

function createWork(deps: JobDeps & { readonly signal: AbortSignal }, queues: Queues, isKnownVersion: VersionCheck): Work {
  const destinations = new Map<number, Promise<void>>()
  const plans = new Map<string, Promise<void>>()
  const selection = createRunSelection(deps)
  const slots = pLimit(parallelRuns)

  const runDestination = async (destinationId: number, runId?: number) => {
    for (;;) {
      if (!(await isKnownVersion())) return
      const queued = await findQueuedRuns(deps.db, deps.service, { destinationId, ...(runId === undefined ? {} : { runId }) })
      const next = await selection.firstRunnable(queued)
      if (next === undefined || deps.signal.aborted) return
      crashPoint('worker.run_found')
      const ownPlans: string[] = []
      try {
        const report = await claimAndExecute(deps, next.run.id, next.pipeline, async (planId, batches) => {
          // The run itself pushes the plan in this process, so `helpPush` must not. Only other workers may help.
          ownPlans.push(planId)
          plans.set(planId, Promise.resolve())
          await queues.wakeForPush({ planId }, Math.min(maxHelpers, Math.ceil(batches / batchesPerHelper)))
        })
        // Another run has locked the destination. A later poll tries again.
        if (report === 'busy') return
        if (report === 'not_claimable') selection.postpone(next.run.id)
        else logRunEnd(deps.log, report)
      } finally {
        for (const planId of ownPlans) plans.delete(planId)
      }
    }
  }
  const helpPush = async (planId: string) => {
    const isShared = () => isSharedPlan(deps.db, planId, deps.service)
    if (!(await isKnownVersion()) || !(await isShared())) return
    // An operator who interrupts a run expects that no process continues to send its plan. A claim checks the run too, but claimed batches may
    // wait for the rate limit.
    const stop = new AbortController()
    const watch = setInterval(() => {
      isShared().then(
        (isStillShared) => isStillShared || stop.abort(),
        // The push fails itself when the database is down.
        () => undefined,
      )
    }, watchEveryMs)
    try {
      await pushPlan(deps, planId, { signal: stop.signal, isHelper: true })
    } finally {
      clearInterval(watch)
    }
    // The run may have ended before this helper did.
    await updateCountsOfPlan(deps.db, planId)
  }
  return {
    async findQueued() {
      const queued = await findQueuedRuns(deps.db, deps.service)
      // Runs of other folders may fill the limit. Only then are the names needed: to list them executes all pipelines in TypeScript.
      if (queued.length < maxQueuedRuns) return queued
      return findQueuedRuns(deps.db, deps.service, { pipelines: await selection.pipelineNames() })
    },
    runDestination: (destinationId, runId) =>
      shareTask(destinations, destinationId, () => slots(() => runDestination(destinationId, runId))),
    helpPush: (planId) => shareTask(plans, planId, () => helpPush(planId)),
    async whenIdle() {
      await Promise.allSettled([...destinations.values(), ...plans.values()])
    },
  }
}

/** Runs one task per key at a time in this process. Further callers get the promise of the running task. */
function shareTask<Key>(running: Map<Key, Promise<void>>, key: Key, work: () => Promise<void>): Promise<void> {
  const current = running.get(key)
  if (current !== undefined) return current
  const task = work().finally(() => running.delete(key))
  running.set(key, task)
  return task
}

/** Parts of a worker that `poll` uses. */
interface PollParts {
  readonly deps: JobDeps
  readonly queues: Queues
  readonly work: Work
  readonly isKnownVersion: VersionCheck
}

/**
 * Polls until `signal` aborts, and stores the heartbeats of this worker. Finds work without a wake-up: queued runs that no worker took,
 * plans to push, leases of expired workers. Queues the hourly retention. Takes no work from a database that a newer version migrated.
 */
async function poll({ deps, queues, work, isKnownVersion }: PollParts, signal: AbortSignal): Promise<void> {
  const { db, clock } = deps
  const hasElapsed = (ms: number, since: number) => clock.monotonic() - since >= ms
  const wake = wakeOnNotification(db, clock)
  const startedAt = clock.monotonic()
  let recoveredAt = Number.NEGATIVE_INFINITY
  let heartbeatAt = Number.NEGATIVE_INFINITY
  let maintainedAt = startedAt
  let unclaimed: readonly number[] = []
  while (!signal.aborted) {
    let waitMs = retryMs
    try {
      const open = await hasOpenWork(db)
      const mayWork = open && (await isKnownVersion())
      if (hasElapsed(open ? recoverEveryMs : idleHeartbeatMs, heartbeatAt)) {
        await storeHeartbeat(db, deps.workerId)
        heartbeatAt = clock.monotonic()
      }
      if (mayWork && hasElapsed(recoverEveryMs, recoveredAt)) {
        recoveredAt = clock.monotonic()
        await recoverExpiredRuns(deps)
        await recoverBatches(db, await findEndedWorkers(db), deps.settings.horizonMs, deps.service)
        // Waits `unclaimedAfterMs` after the start, because a worker with the needed version may be starting too.
        if (hasElapsed(deps.settings.unclaimedAfterMs, startedAt)) unclaimed = await skipUnclaimed(deps, unclaimed)
      }
      if (mayWork) await startOpenWork(deps, work)
      if (hasElapsed(maintainEveryMs, maintainedAt)) {
        maintainedAt = clock.monotonic()
        await queues.boss.send('maintain', {}, { singletonKey: 'hourly' })
      }
      waitMs = open ? pollMs : idlePollMs
    } catch (error) {
      // The database may be down for a while. Nothing is lost: the next poll finds the work.
      deps.log.warn({ reason: error instanceof Error ? error.message : 'error' }, 'the worker could not poll for work')
    }
    await wake.sleep(waitMs, signal)
  }
  wake.close()
}

/**
 * Skips the queued runs that no worker claims, if the recovery before this one found them too (`foundBefore`). In between, a worker can
 * claim a run whose pipeline was just resumed. Returns the runs that this recovery found.
 */
async function skipUnclaimed({ db, service, settings, log }: JobDeps, foundBefore: readonly number[]): Promise<readonly number[]> {
  const found = await findUnclaimedRuns(db, service, { waitedMs: settings.unclaimedAfterMs, maxRuns: parallelRuns })
  const skipped = await skipUnclaimedRuns(
    db,
    found.filter((id) => foundBefore.includes(id)),
  )
  for (const id of skipped)
    log.error({ runId: `r_${id}`, code: 'RUN_UNCLAIMED' }, 'skipped: no worker has the version of the pipeline that this run needs')
  return found
}

/** Starts the queued runs and the pushes that this environment may execute, and does not wait for them. */
async function startOpenWork({ db, service, log }: JobDeps, work: Work): Promise<void> {
  const logFailure = (task: Promise<void>, what: string) => {
    task.catch((error: unknown) =>
      log.error({ what, reason: error instanceof Error ? error.message : 'error' }, 'work failed; it will be tried again'),
    )
  }
  const queued = await work.findQueued()
  for (const destinationId of new Set(queued.map((run) => run.destinationId))) logFailure(work.runDestination(destinationId), 'run')
  for (const planId of await findSharedPlans(db, service)) logFailure(work.helpPush(planId), 'push')
}

/** Resolves to false if the database has a migration that this version does not know. */
type VersionCheck = () => Promise<boolean>

/**
 * Creates the check. Reads the known migrations now, because an upgrade may replace their files while this process runs. The check logs an
 * error when a newer version migrated the database.
 */
async function createVersionCheck({ db, log }: Pick<JobDeps, 'db' | 'log'>): Promise<VersionCheck> {
  let wasKnown = true
  const check = async () => {
    const { isPrefix } = await compareJournal(db)
    if (wasKnown && !isPrefix)
      log.error(
        { code: 'MIGRATION_MISMATCH' },
        'another version of Sluice migrated the database: this process takes no more work. hint: stop it, and start the version that migrated',
      )
    wasKnown = isPrefix
    return isPrefix
  }
  await check()
  return check
}
