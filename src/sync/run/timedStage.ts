import { addStage } from '../../db/runs/update.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import type { EngineDeps } from '../engine.ts'
import { logFailure } from './runLog.ts'

/** Runs `work` as the stage `name` of the run, and stores its duration with the run, also after an error. */
export async function timedStage<Result>(deps: EngineDeps, run: ClaimedRun, name: string, work: () => Promise<Result>): Promise<Result> {
  const startedAt = new Date(deps.clock.now()).toISOString()
  const start = deps.clock.monotonic()
  const store = () => addStage(deps.db, run, { stage: name, startedAt, durationMs: Math.round(deps.clock.monotonic() - start) })
  let result: Result
  try {
    result = await work()
  } catch (error) {
    // Only logged, because the run must end with the error of `work`.
    await store().catch(logFailure(deps, run, 'the duration of a stage could not be stored', { stage: name }))
    throw error
  }
  await store()
  return result
}
