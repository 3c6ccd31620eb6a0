/** The scheduler on a machine whose clock was ahead and is set back, for example by NTP. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { startScheduler } from '../../../src/jobs/scheduler.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'

test('K4: the scheduler continues to poll after the clock of its machine is set back by an hour', { timeout: 60_000 }, async () => {
  await using engine = await engineUnderTest()
  const folder = `${engine.folder}/pipelines`
  engine.pipeline('shop', `schedule: "0 0 1 1 *"\n${catalogYaml('feed.xml')}`)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  const scheduler = await startScheduler({
    ...engine.deps,
    folder,
    loadPipeline: (name) => loadPipeline(folder, name),
    loadPipelines: () => loadPipelines(folder),
  }).finally(() => vi.useRealTimers())
  try {
    await sleep(18_000)
    // `/ready` fails from 30 s on.
    expect(scheduler.idleS()).toBeLessThan(16)
  } finally {
    await scheduler.stop()
  }
})
