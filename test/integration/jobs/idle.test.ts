/**
 * `serve` without work has one connection and few transactions. A notification finds new work; without one, a slow poll does. The tests
 * only wait, each on a database of its own, so all wait together.
 */
import { join } from 'node:path'
import { test } from 'vitest'
import { startAlerts } from '../../../src/alerts/startAlerts.ts'
import { openDatabase, type Database } from '../../../src/db/database.ts'
import { ensureDestination } from '../../../src/db/destinations.ts'
import { requestRun } from '../../../src/db/runs/request.ts'
import { serve } from '../../../src/jobs/index.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { destinationKey } from '../../../src/sync/destinationKey.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { pgbouncerMissing, pooler } from '../../support/pgbouncer.ts'
import { rss } from '../acceptance/products.ts'

const applicationName = 'sluice idle'

/** `serve` with alerts, on a pool of its own, with a pipeline that is not due. */
async function idleServe(engine: EngineUnderTest, { databaseUrl = engine.databaseUrl, cron = '0 3 1 1 *' } = {}) {
  engine.pipeline('shop', `schedule: "${cron}"\n${catalogYaml('feed.xml')}`)
  engine.write('feed.xml', rss([]))
  const folder = join(engine.folder, 'pipelines')
  const db = openDatabase(databaseUrl, { applicationName })
  const deps = {
    ...engine.deps,
    db,
    loadPipeline: (name: string) => loadPipeline(folder, name),
    loadPipelines: () => loadPipelines(folder),
    folder,
  }
  const running = await serve(deps)
  const alerts = startAlerts({
    ...deps,
    serviceFor: async () => deps.service,
    loadProject: async () => ({ receivers: {}, defaultReceivers: [] }),
    baseUrl: 'https://ops.example.com',
    secret: undefined,
  })
  const pipeline = await loadPipeline(folder, 'shop')
  let transactions = 0
  db.pool.on('acquire', () => transactions++)
  const { id: destinationId } = await ensureDestination(engine.db, destinationKey(deps, pipeline))
  return {
    transactions: () => transactions,
    /** Queues a run as another process does. */
    request: () =>
      requestRun(engine.db, {
        pipeline: 'shop',
        destinationId,
        trigger: 'manual',
        version: pipeline.version,
        options: { anyWorker: true },
      }),
    /** The same, and its notification is lost. */
    requestSilently: async () => {
      await engine.db.execute(
        `insert into run (pipeline, destination_id, trigger, status, options, definition) values ('shop', $1, 'manual', 'queued', '{"anyWorker": true}', $2)`,
        [destinationId, pipeline.version],
      )
    },
    async [Symbol.asyncDispose]() {
      await alerts.stop()
      await running.stop()
      await db.close()
    },
  }
}

async function connections(db: Database): Promise<number> {
  const rows = await db.query('select from pg_stat_activity where application_name = $1 and datname = current_database()', [
    applicationName,
  ])
  return rows.length
}

/** Runs that no worker took yet. How long a run then takes says nothing about the notification. */
const waiting = (db: Database) => db.query(`select from run where status = 'queued'`)
const unfinished = (db: Database) => db.query(`select from run where status in ('queued', 'running')`)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test.concurrent(
  'keeps one connection, and runs fewer than 60 transactions per minute',
  { tags: ['long'], timeout: 60_000 },
  async ({ expect }) => {
    await using engine = await engineUnderTest()
    await using served = await idleServe(engine)
    await expect.poll(() => connections(engine.db), { timeout: 20_000, interval: 500 }).toBe(1)
    const before = served.transactions()
    await pause(15_000)
    expect(served.transactions() - before).toBeLessThan(15)
    expect(await connections(engine.db)).toBe(1)
  },
)

test.concurrent('starts a queued run by its notification, not by the next poll', { timeout: 60_000 }, async ({ expect }) => {
  await using engine = await engineUnderTest()
  await using served = await idleServe(engine)
  await pause(1_000)
  await served.request()
  await expect.poll(() => waiting(engine.db), { timeout: 10_000 }).toEqual([])
})

test.concurrent(
  'starts a queued run whose notification was lost, with the next poll',
  { tags: ['long'], timeout: 60_000 },
  async ({ expect }) => {
    await using engine = await engineUnderTest()
    await using served = await idleServe(engine)
    await pause(3_000)
    await served.requestSilently()
    expect(await unfinished(engine.db)).toHaveLength(1)
    await expect.poll(() => unfinished(engine.db), { timeout: 40_000, interval: 200 }).toEqual([])
  },
)

test.concurrent(
  'decides ticks at their times, not with the poll of every 15 seconds',
  { tags: ['long'], timeout: 60_000 },
  async ({ expect }) => {
    await using engine = await engineUnderTest()
    await using _ = await idleServe(engine, { cron: '*/4 * * * * *' })
    // That poll would find several due ticks, and all but the last would count as missed.
    const decidedInTurn = () =>
      engine.db.query(
        `select from tick a join tick b on b.scheduled_for = a.scheduled_for + interval '4 seconds'
          where 'missed' not in (a.outcome, b.outcome)`,
      )
    await expect.poll(async () => (await decidedInTurn()).length, { timeout: 50_000 }).toBeGreaterThan(1)
  },
)

test.concurrent(
  'opens its connection again, and finds the work of the time without it',
  { tags: ['long'], timeout: 60_000 },
  async ({ expect }) => {
    await using engine = await engineUnderTest()
    await using served = await idleServe(engine)
    await pause(3_000)
    await engine.db.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = current_database()',
      [applicationName],
    )
    await served.requestSilently()
    await expect.poll(() => waiting(engine.db), { timeout: 9_000 }).toEqual([])
    await expect.poll(() => unfinished(engine.db), { timeout: 20_000 }).toEqual([])
    // It listens again.
    await pause(1_000)
    await served.request()
    await expect.poll(() => waiting(engine.db), { timeout: 10_000 }).toEqual([])
  },
)

test
  .skipIf(pgbouncerMissing)
  .concurrent(
    'starts a queued run by its notification behind pgbouncer in session mode (skipped without it: apt-get install pgbouncer)',
    { timeout: 60_000 },
    async ({ expect }) => {
      await using engine = await engineUnderTest()
      await using proxy = await pooler(engine.databaseUrl, 'session')
      await using served = await idleServe(engine, { databaseUrl: proxy.url })
      await pause(1_000)
      await served.request()
      await expect.poll(() => waiting(engine.db), { timeout: 10_000 }).toEqual([])
    },
  )
