/** Interrupted runs in this process: stopped, or as after a power failure. */
import { join } from 'node:path'
import { expect } from 'vitest'
import { loadPipeline } from '../../src/pipeline/load.ts'
import { registerWorker } from '../../src/db/workers.ts'
import { runPipeline } from '../../src/sync/run/run.ts'
import type { EngineUnderTest, RunOptions } from './engine.ts'
import { resetWriter, writer } from './staticList.ts'

/**
 * Place of the interruption. `stop`: at the first request. `die`: after the first answer. `planned`: between the plan and the first
 * request.
 */
export type Interruption = 'stop' | 'die' | 'planned'

/** Leaves the state of such a run, with batches of a worker whose process provably ended. */
export async function interruptedRun(engine: EngineUnderTest, name: string, how: Interruption, options: RunOptions = {}): Promise<void> {
  const stop = new AbortController()
  const workerId = await registerWorker(engine.db, { role: 'test' })
  const exchange: typeof engine.deps.transport.exchange = async (request) => {
    stop.abort()
    const answer = await engine.deps.transport.exchange(request)
    if (how === 'die') throw new Error('the power went')
    return answer
  }
  writer.onRequest = () => stop.abort()
  writer.onAnswer = () => {
    if (how === 'die') throw new Error('the power went')
  }
  const deps = {
    ...engine.deps,
    workerId,
    transport: { ...engine.deps.transport, exchange },
    ...(how === 'stop' ? { signal: stop.signal } : {}),
  }
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), name)
  const onPlanned = how === 'planned' ? () => Promise.reject(new Error('the power went')) : undefined
  await runPipeline(deps, pipeline, { trigger: 'manual', ...options }, onPlanned)
    .catch((error: unknown) => expect(String(error)).toContain('the power went'))
    .finally(resetWriter)
  // No process has this number, so its batches are recovered immediately.
  await engine.db.execute('update sluice.worker set pid = 4194999, pid_started = $2 where id = $1', [workerId, '1'])
}
