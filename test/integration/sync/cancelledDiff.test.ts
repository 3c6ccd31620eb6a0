/** A signal while Postgres works on one long statement of the plan. */
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { planPipeline, runPipeline } from '../../../src/sync/run/run.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'
import { item, products, rss } from '../acceptance/products.ts'

test.each(['run', 'plan'] as const)(
  'a %s that is stopped during the diff ends as cancelled, and the next one is complete',
  async (what) => {
    await using engine = await engineUnderTest()
    engine.pipeline('shop', catalogYaml('feed.xml'))
    engine.write('feed.xml', rss(products(3).map((row) => item(row))))
    const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'shop')
    // Simulates a diff of many rows: its statement waits for this lock only.
    const other = new pg.Client({ connectionString: engine.databaseUrl })
    await other.connect()
    try {
      await other.query('begin')
      await other.query('lock table sluice.record in access exclusive mode')
      const stop = new AbortController()
      const deps = { ...engine.deps, signal: stop.signal }
      const ended =
        what === 'run'
          ? runPipeline(deps, pipeline, { trigger: 'manual' })
          : planPipeline(deps, pipeline).catch((error: unknown) => ({ status: 'cancelled', error }))
      const blocked = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await expect.poll(async () => (await engine.db.query(blocked)).length, { timeout: 10_000 }).toBe(1)
      stop.abort()
      expect(await ended).toMatchObject({ status: 'cancelled', error: { code: 'RUN_INTERRUPTED' } })
      expect(await engine.db.query(`select status from run`)).toEqual([{ status: 'cancelled' }])
    } finally {
      await other.end()
    }
    expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { confirmed: 3 } })
  },
  30_000,
)
