/** Worker, scheduler and alerts of an earlier version that still run while a newer version migrates the database. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startAlerts } from '../../../src/alerts/startAlerts.ts'
import type { Database } from '../../../src/db/database.ts'
import { queueRun, startWorker } from '../../../src/jobs/index.ts'
import { startScheduler } from '../../../src/jobs/scheduler.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { recordOf } from '../../../src/unknownValue.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'
import { goodProduct, item, rss } from '../acceptance/products.ts'

/** Counts how often the migration of the newer version was found. Each poll of a worker, scheduler or server reads the migrations. */
function countedPolls(given: Database) {
  let found = 0
  const query: Database['query'] = async (text, values) => {
    const rows = await given.query<never>(text, values)
    if (text.includes('from migration') && rows.some((row) => recordOf(row)['hash'] === 'newer')) found++
    return rows
  }
  return { db: { ...given, query }, found: () => found }
}

test(
  'a running worker takes no run after a newer version migrated the database, and says so once',
  { tags: ['long'], timeout: 60_000 },
  async () => {
    const errors: string[] = []
    const noted = (fields: object) => void errors.push(String('code' in fields ? fields.code : ''))
    await using engine = await engineUnderTest()
    const folder = join(engine.folder, 'pipelines')
    const log = { ...engine.deps.log, error: noted }
    engine.write('feed.xml', rss([item(goodProduct(1))]))
    engine.pipeline('shop', catalogYaml('feed.xml'))
    const polls = countedPolls(engine.db)
    const worker = await startWorker({
      ...engine.deps,
      db: polls.db,
      log,
      folder,
      loadPipeline: (name) => loadPipeline(folder, name),
      loadPipelines: () => loadPipelines(folder),
    })
    try {
      await engine.db.execute(`insert into sluice.migration (position, hash) select max(position) + 1, 'newer' from sluice.migration`)
      await queueRun(engine.deps, await loadPipeline(folder, 'shop'), { actor: 'jane' })
      await expect.poll(() => errors, { timeout: 20_000 }).toEqual(['MIGRATION_MISMATCH'])
      const before = polls.found()
      await expect.poll(polls.found).toBeGreaterThan(before + 2)
      expect(await engine.db.query('select status from sluice.run')).toEqual([{ status: 'queued' }])
      expect(await engine.writes()).toEqual([])
      expect(errors).toHaveLength(1)
      await engine.db.execute(`delete from sluice.migration where hash = 'newer'`)
      await expect.poll(() => engine.db.query('select status from sluice.run'), { timeout: 30_000 }).toEqual([{ status: 'succeeded' }])
    } finally {
      await worker.stop()
    }
  },
)

test(
  'a running scheduler decides no tick of a newer database, and the next one makes up for them',
  { tags: ['long'], timeout: 60_000 },
  async () => {
    await using engine = await engineUnderTest()
    const folder = join(engine.folder, 'pipelines')
    engine.write('feed.xml', rss([]))
    engine.pipeline('shop', `schedule: "* * * * * *"\n${catalogYaml('feed.xml')}`)
    const polls = countedPolls(engine.db)
    const scheduler = await startScheduler({
      ...engine.deps,
      db: polls.db,
      folder,
      loadPipeline: (name) => loadPipeline(folder, name),
      loadPipelines: () => loadPipelines(folder),
    })
    const lastTick = () => engine.db.query<{ at: Date; n: number }>('select max(scheduled_for) as at, count(*)::int as n from tick')
    try {
      await expect.poll(async () => (await lastTick())[0]?.n, { timeout: 10_000 }).toBeGreaterThan(1)
      await engine.db.execute(`insert into sluice.migration (position, hash) select max(position) + 1, 'newer' from sluice.migration`)
      await expect.poll(polls.found).toBeGreaterThan(0)
      const before = await lastTick()
      await expect.poll(() => scheduler.idleS()).toBeGreaterThan(3)
      expect(await lastTick()).toEqual(before)
      await engine.db.execute(`delete from sluice.migration where hash = 'newer'`)
      await expect.poll(async () => (await lastTick())[0]!.n - before[0]!.n, { timeout: 20_000 }).toBeGreaterThan(3)
      expect(await engine.db.query(`select from tick where outcome = 'missed'`)).not.toEqual([])
    } finally {
      await scheduler.stop()
    }
  },
)

test('a running server changes no alert of a newer database', async () => {
  await using engine = await engineUnderTest()
  const folder = join(engine.folder, 'pipelines')
  engine.pipeline('shop', catalogYaml('feed.xml'))
  await engine.db.execute(`insert into sluice.migration (position, hash) select max(position) + 1, 'newer' from sluice.migration`)
  const polls = countedPolls(engine.db)
  const alerts = startAlerts({
    ...engine.deps,
    db: polls.db,
    folder,
    loadPipelines: () => loadPipelines(folder),
    serviceFor: async () => engine.deps.service,
    loadProject: async () => ({ receivers: {}, defaultReceivers: [] }),
    baseUrl: 'https://ops.example.com',
    secret: undefined,
    everyMs: 40,
    unchangedEveryMs: 100,
  })
  try {
    expect(await engine.run('shop')).toMatchObject({ status: 'failed' })
    await expect.poll(polls.found).toBeGreaterThan(2)
    expect(await engine.db.query('select from alert')).toEqual([])
    await engine.db.execute(`delete from sluice.migration where hash = 'newer'`)
    await expect.poll(() => engine.db.query('select event from alert')).toEqual([{ event: 'failed' }])
  } finally {
    await alerts.stop()
  }
})
