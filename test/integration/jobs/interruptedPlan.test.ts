/** Workers that help to send the plan of a run, when this run is interrupted. */
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { registerWorker } from '../../../src/db/workers.ts'
import { startWorker } from '../../../src/jobs/index.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { pushPlan } from '../../../src/sync/push/push.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { loadRun } from '../../../src/sync/reports/history.ts'
import { catalogDigest } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'
import { interruptedRun } from '../../support/interrupted.ts'
import { item, products, rss, expectedProduct } from '../acceptance/products.ts'

test(
  'a worker sends no more of a plan once the run was interrupted, and the next run sends the rest',
  { tags: ['long'], timeout: 90_000 },
  async () => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    const folder = join(engine.folder, 'pipelines')
    const rows = products(2_000)
    engine.pipeline('shop', catalogYaml('feed.xml'))
    engine.write('feed.xml', rss(rows.map((row) => item(row))))
    await control.fault({ path: '/12/product_catalogs' }, { kind: 'delay', ms: 1_000 }, 'always')
    const helper = await startWorker({
      ...engine.deps,
      workerId: await registerWorker(engine.db, { role: 'worker' }),
      folder,
      loadPipeline: (name) => loadPipeline(folder, name),
      loadPipelines: () => loadPipelines(folder),
    })
    try {
      const interrupt = new AbortController()
      const run = runPipeline({ ...engine.deps, signal: interrupt.signal }, await loadPipeline(folder, 'shop'), { trigger: 'manual' })
      const senders = () => engine.db.query('select distinct worker_id from attempt')
      await expect.poll(senders, { timeout: 30_000 }).toHaveLength(2)
      interrupt.abort()
      const { runId, status, counts } = await run
      expect({ status, isLeft: counts.pending > 1_000 }).toEqual({ status: 'cancelled', isLeft: true })
      await expect.poll(() => engine.db.query(`select from batch where status = 'in_flight'`), { timeout: 30_000 }).toEqual([])
      const mark = await engine.mark()
      // The worker looks every two seconds if the run still runs.
      await wait(2_500)
      expect(await engine.writes(mark)).toEqual([])
      expect((await loadRun(engine.db, runId)).counts.pending).toBeGreaterThan(0)
      await control.clearFaults()
      expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
      expect((await control.catalog()).digest).toBe(catalogDigest(rows.map(expectedProduct)))
    } finally {
      await helper.stop()
    }
  },
)

test('a worker claims no batch of a plan once its run has ended', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(3).map((row) => item(row))))
  await interruptedRun(engine, 'shop', 'planned')
  const [plan] = await engine.db.query<{ id: string; status: string }>('select id, status from plan')
  expect(plan?.status).toBe('applying')
  const mark = await engine.mark()
  await pushPlan(engine.deps, plan?.id ?? '', { isHelper: true })
  expect(await engine.writes(mark)).toEqual([])
  await engine.db.execute(`update run set status = 'running', finished_at = null`)
  await pushPlan(engine.deps, plan?.id ?? '', { isHelper: true })
  expect(await engine.writes(mark)).toHaveLength(1)
})
