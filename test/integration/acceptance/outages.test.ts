/** Outages of the database or the service. Nothing is lost or sent twice with other bytes, and work continues on its own. */
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { startWorker } from '../../../src/jobs/index.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { ensureDestination } from '../../../src/db/destinations.ts'
import { requestRun } from '../../../src/db/runs/request.ts'
import { destinationKey } from '../../../src/sync/destinationKey.ts'
import { loadRun } from '../../../src/sync/reports/history.ts'
import { audienceDigest, catalogDigest } from '../../support/digests.ts'
import { engineUnderTest } from '../../support/agreement.ts'
import { catalogYaml, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { crm, customers, customersYaml, identifiersOf } from './customers.ts'
import { goodProduct, item, products, rss, expectedProduct } from './products.ts'

/** A connection beside those of the engine. */
async function beside(engine: EngineUnderTest): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: engine.databaseUrl })
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

const backends = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`

/** All connections of the engine are new ones afterwards. */
async function reconnect(engine: EngineUnderTest, other: pg.Client): Promise<void> {
  await other.query(backends)
  await expect.poll(() => engine.db.query('select 1').then(Boolean, () => false)).toBe(true)
}

/** Calls it once, while the `nth` request of the engine is in flight, so that the answer finds its effect. */
function atRequest(engine: EngineUnderTest, nth: number, what: () => Promise<unknown>): void {
  const { transport } = engine.deps
  let seen = 0
  const exchange: typeof transport.exchange = async (request) => {
    const answer = await transport.exchange(request)
    if (++seen === nth) await what()
    return answer
  }
  Object.assign(engine.deps, { transport: { ...transport, exchange } })
}

function audience(engine: EngineUnderTest, count: number): string {
  engine.pipeline('customers', customersYaml)
  const rows = customers(count, 61)
  engine.write('crm.csv', crm(rows))
  return audienceDigest(identifiersOf(rows))
}

describe('the database', () => {
  test.for([1, 2, 3])(
    'K5: with every connection cut at request %i the run fails or continues, and the next one completes it',
    { tags: ['long'] },
    async (nth) => {
      await using engine = await engineUnderTest()
      await using other = await beside(engine)
      engine.pipeline('shop', catalogYaml('feed.xml'))
      const rows = products(110)
      engine.write('feed.xml', rss(rows.map((row) => item(row))))
      atRequest(engine, nth, () => other.query(backends))
      const cut = await engine.run('shop').catch((error: unknown) => String(error))
      if (typeof cut !== 'string') expect(['succeeded', 'partial', 'failed']).toContain(cut.status)
      await engine.db.execute(`update sluice.run set lease_until = clock_timestamp() - interval '1 second' where status = 'running'`)
      await engine.db.execute(`update sluice.batch set lease_until = clock_timestamp() - interval '1 second' where status = 'in_flight'`)
      const next = await engine.run('shop')
      expect(next).toMatchObject({ status: 'succeeded' })
      expect(imbalance(next.counts)).toEqual([])
      expect((await engine.sandbox.control.catalog()).digest).toBe(catalogDigest(rows.map(expectedProduct)))
      expect((await engine.run('shop')).counts).toMatchObject({ requests: 0 })
      expect(await engine.sandbox.control.violations()).toEqual([])
    },
  )

  test('K5: nothing is sent while the database rejects writes, and everything afterwards', async () => {
    await using engine = await engineUnderTest()
    await using other = await beside(engine)
    const expected = audience(engine, 60)
    const { rows } = await other.query<{ name: string }>('select current_database() as name')
    await other.query(`alter database ${rows[0]?.name} set default_transaction_read_only = on`)
    await reconnect(engine, other)
    await expect(engine.run('customers')).rejects.toMatchObject({ code: '25006' })
    expect(await engine.writes()).toEqual([])
    await other.query('set default_transaction_read_only = off')
    await other.query(`alter database ${rows[0]?.name} reset default_transaction_read_only`)
    await reconnect(engine, other)
    expect(await engine.run('customers')).toMatchObject({ status: 'succeeded' })
    expect((await engine.sandbox.control.audience()).digest).toBe(expected)
  })

  test('K5: a run waits for a row that another session has locked', async () => {
    await using engine = await engineUnderTest()
    await using other = await beside(engine)
    const expected = audience(engine, 60)
    await engine.plan('customers')
    await other.query('begin')
    await other.query('select from sluice.destination for update')
    const run = engine.run('customers', { full: true })
    await sleep(600)
    expect(await engine.writes()).toEqual([])
    await other.query('commit')
    expect(await run).toMatchObject({ status: 'succeeded' })
    expect((await engine.sandbox.control.audience()).digest).toBe(expected)
    expect(await engine.sandbox.control.violations()).toEqual([])
  })

  test('K6: a worker finds a run although its wake-up was lost', async () => {
    await using engine = await engineUnderTest()
    const expected = audience(engine, 20)
    const folder = join(engine.folder, 'pipelines')
    const worker = await startWorker({
      ...engine.deps,
      loadPipeline: (name) => loadPipeline(folder, name),
      loadPipelines: () => loadPipelines(folder),
      folder,
    })
    try {
      const identity = destinationKey(engine.deps, await loadPipeline(folder, 'customers'))
      const { id } = await ensureDestination(engine.db, identity)
      // As if NOTIFY was sent over a dead connection: the row exists, and no worker was notified.
      const runId = await requestRun(engine.db, { pipeline: 'customers', destinationId: id, trigger: 'schedule', scheduledFor: new Date() })
      await expect.poll(async () => (await loadRun(engine.db, `r_${runId}`)).status, { timeout: 20_000 }).toBe('succeeded')
    } finally {
      await worker.stop()
    }
    expect((await engine.sandbox.control.audience()).digest).toBe(expected)
  })
})

test('K10: after an outage unresolved requests are sent first with the same bytes, and outdated content is never sent', async () => {
  await using engine = await engineUnderTest({ settings: { maxAttempts: 2 } })
  const { control } = engine.sandbox
  await control.switches({ values_recur: 'never' })
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const feed = (price: number) => {
    const rows = products(30).map((row, i) => (i < 10 ? goodProduct(i, price) : row))
    engine.write('feed.xml', rss(rows.map((row) => item(row))))
    return catalogDigest(rows.map(expectedProduct))
  }
  feed(1_100)
  await engine.run('shop')
  await control.fault({ path: '/12/' }, { kind: 'status', status: 503 }, 'always')
  const before = await engine.mark()
  for (const price of [2_200, 3_300, 4_400, 5_500]) {
    feed(price)
    expect((await engine.run('shop')).counts).toMatchObject({ confirmed: 0, refused: 0 })
  }
  const unsettled = new Set((await engine.writes(before)).map(({ body_sha256 }) => body_sha256))
  expect(unsettled.size).toBe(1)
  await control.clearFaults()
  const after = await engine.mark()
  const expected = feed(6_600)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  const sent = await engine.writes(after)
  expect(sent.map(({ body_sha256 }) => unsettled.has(body_sha256))).toEqual([true, false])
  expect((await control.catalog()).digest).toBe(expected)
  expect(await control.violations()).toEqual([])
})
