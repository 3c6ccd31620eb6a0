/** Public API of scheduler and workers, for `sluice serve` and `sluice worker`. */
import type { JobDeps } from './deps.ts'
import { openQueues } from './queues.ts'
import { startScheduler } from './scheduler.ts'
import { startWorker } from './worker.ts'

export type { JobDeps } from './deps.ts'
export { previousTicks, cachedNextTick } from './cronTicks.ts'
export { queueScript, queueVersion } from './queues.ts'
export { changePause, ownDestinationId, queueRun, type QueueRequest } from './requests.ts'
export { wakeOnNotification } from './wake.ts'
export { startWorker, type Worker } from './worker.ts'

/**
 * Starts scheduler and worker in one process, with shared queues. `stop` waits for both. `schedulerIdleS` returns the seconds since the
 * scheduler's last successful poll.
 */
export async function serve(deps: JobDeps): Promise<{ readonly stop: () => Promise<void>; readonly schedulerIdleS: () => number }> {
  const queues = await openQueues(deps.db, { supervise: true, log: deps.log })
  const started: { readonly stop: () => Promise<void> }[] = []
  const stop = async () => {
    // The scheduler stops first, so that no new run is queued while the worker stops.
    for (const part of started.toReversed()) await part.stop()
    await queues.close()
  }
  try {
    started.push(await startWorker(deps, queues))
    const scheduler = await startScheduler(deps, queues)
    started.push(scheduler)
    return { schedulerIdleS: scheduler.idleS, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
