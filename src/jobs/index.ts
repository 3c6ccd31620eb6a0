/** Public API of scheduler and workers, for `sluice serve` and `sluice worker`. */
import type { JobDeps } from './deps.ts'
import { startScheduler } from './scheduler.ts'
import { startWorker } from './worker.ts'

export type { JobDeps } from './deps.ts'
export { previousOccurrences, upcomingOccurrence } from './occurrences.ts'
export { queueScript } from './queues.ts'
export { changePause, queueRun, type QueuedRun, type RunRequestOf } from './requests.ts'
export { startScheduler, type Scheduler } from './scheduler.ts'
export { startWorker, type Worker } from './worker.ts'

/** Starts scheduler and worker in one process, until `stop`. */
export async function serve(deps: JobDeps): Promise<{ readonly stop: () => Promise<void>; readonly schedulerIdleS: () => number }> {
  const worker = await startWorker(deps)
  try {
    const scheduler = await startScheduler(deps)
    return {
      schedulerIdleS: scheduler.idleS,
      async stop() {
        // First no new ticks, then no new work.
        await scheduler.stop()
        await worker.stop()
      },
    }
  } catch (error) {
    await worker.stop()
    throw error
  }
}
