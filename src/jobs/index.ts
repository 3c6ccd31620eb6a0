/** Scheduler and workers: what `sluice serve` and `sluice worker` are made of. */
import type { JobDeps } from './deps.ts'
import { startScheduler } from './scheduler.ts'
import { startWorker } from './worker.ts'

export type { JobDeps } from './deps.ts'
export { startScheduler, type Scheduler } from './scheduler.ts'
export { startWorker, type Worker } from './worker.ts'

/** Scheduler and worker in one process, until `stop`. */
export async function serve(deps: JobDeps): Promise<{ readonly stop: () => Promise<void> }> {
  const worker = await startWorker(deps)
  try {
    const scheduler = await startScheduler(deps)
    return {
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
