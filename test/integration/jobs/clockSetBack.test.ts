/** The scheduler on a machine whose clock was ahead and is set back, for example by NTP. */
import { expect, test, vi } from 'vitest'
import { startScheduler } from '../../../src/jobs/scheduler.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'

test('K4: the scheduler continues to poll after the clock of its machine is set back by an hour', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest()
  const folder = `${engine.folder}/pipelines`
  engine.pipeline('shop', `schedule: "0 0 1 1 *"\n${catalogYaml('feed.xml')}`)
  let loads = 0
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  const scheduler = await startScheduler({
    ...engine.deps,
    folder,
    loadPipeline: (name) => loadPipeline(folder, name),
    loadPipelines: () => {
      loads++
      return loadPipelines(folder)
    },
  }).finally(() => vi.useRealTimers())
  try {
    const atStart = loads
    // Each poll loads the files, except within 14 s after the last load.
    await expect.poll(() => loads, { timeout: 60_000, interval: 200 }).toBeGreaterThan(atStart)
  } finally {
    await scheduler.stop()
  }
})
