/** A worker of an earlier version that still runs while a newer version migrates the database. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { queueRun, startWorker } from '../../../src/jobs/index.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'
import { goodProduct, item, rss } from '../acceptance/products.ts'

test('a running worker takes no run after a newer version migrated the database, and says so once', { timeout: 60_000 }, async () => {
  const errors: string[] = []
  const noted = (fields: object) => void errors.push(String('code' in fields ? fields.code : ''))
  await using engine = await engineUnderTest()
  const folder = join(engine.folder, 'pipelines')
  const log = { ...engine.deps.log, error: noted }
  engine.write('feed.xml', rss([item(goodProduct(1))]))
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const worker = await startWorker({
    ...engine.deps,
    log,
    folder,
    loadPipeline: (name) => loadPipeline(folder, name),
    loadPipelines: () => loadPipelines(folder),
  })
  try {
    await engine.db.execute(`insert into sluice.migration (position, hash) select max(position) + 1, 'newer' from sluice.migration`)
    await queueRun(engine.deps, await loadPipeline(folder, 'shop'), { actor: 'jane' })
    await expect.poll(() => errors, { timeout: 20_000 }).toEqual(['MIGRATION_MISMATCH'])
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    expect(await engine.db.query('select status from sluice.run')).toEqual([{ status: 'queued' }])
    expect(await engine.writes()).toEqual([])
    expect(errors).toHaveLength(1)
    await engine.db.execute(`delete from sluice.migration where hash = 'newer'`)
    await expect.poll(() => engine.db.query('select status from sluice.run'), { timeout: 30_000 }).toEqual([{ status: 'succeeded' }])
  } finally {
    await worker.stop()
  }
})
