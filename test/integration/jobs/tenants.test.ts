/** Several tenants in one database, each in a schema, and several pipelines of one tenant that are due in the same second. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { destinationOwners, updateAlerts } from '../../../src/db/alerts.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { ensureDestination } from '../../../src/db/destinations.ts'
import { storeErasure } from '../../../src/db/erasures.ts'
import { migrateDatabase } from '../../../src/db/migrate.ts'
import { requestRun } from '../../../src/db/runs/request.ts'
import { queueRun } from '../../../src/jobs/index.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { destinationKey } from '../../../src/sync/destinationKey.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'
import { rss } from '../acceptance/products.ts'
import { testDatabase } from '../../support/postgres.ts'
import { startWorkerOf } from '../../support/server.ts'

test('the schemas of many tenants are created in parallel', { timeout: 60_000 }, async () => {
  await using database = await testDatabase()
  const names = Array.from({ length: 8 }, (_, i) => `tenant_${i}`)
  // Two processes a tenant.
  const all = await Promise.all([...names, ...names].map((schema) => migrateDatabase(database.url, schema)))
  expect(all.every(({ applied, known }) => applied === known)).toBe(true)
})

test('a notification reaches its own tenant only', async () => {
  await using database = await testDatabase()
  await migrateDatabase(database.url, 'tenant_b')
  const other = openDatabase(database.url, { schema: 'tenant_b' })
  try {
    const heard: string[] = []
    database.db.listen((topic) => heard.push(`a ${topic}`))
    other.listen((topic) => heard.push(`b ${topic}`))
    await Promise.all([database.db.query('select'), other.query('select')])
    const { id } = await ensureDestination(other, { service: 'http://b.example', kind: 'catalog', accountId: '', targetId: '1' })
    await requestRun(other, { pipeline: 'p', destinationId: id, trigger: 'manual' })
    await expect.poll(() => heard).toContain('b run')
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(heard).not.toContain('a run')
  } finally {
    await other.close()
  }
})

test('a tenant does not wait for a transaction of another tenant', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  await migrateDatabase(engine.databaseUrl, 'tenant_b')
  const other = openDatabase(engine.databaseUrl, { schema: 'tenant_b' })
  const service = engine.deps.service.origin
  const erase = (db: typeof other) => storeErasure(db, { service, actor: 'test', identifiers: [], records: [] })
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  const queue = (db: typeof other) => queueRun({ db, service: engine.deps.service }, pipeline, { actor: 'test' })
  const alert = async (db: typeof other) =>
    updateAlerts(db, engine.deps.service, { pipelines: ['shop'], found: [], finder: 'test', owners: await destinationOwners(db) })
  try {
    for (const work of [erase, queue, alert]) {
      await engine.db.transaction(async (tx) => {
        // The lock of the first tenant is taken within a transaction that does not end.
        await work({ ...engine.db, ...tx, transaction: (inner) => inner(tx) })
        await other.query(`set statement_timeout = '2s'`)
        await work(other)
      })
    }
  } finally {
    await other.close()
  }
})

test('more due pipelines than the pool has connections all finish', { tags: ['long'], timeout: 100_000 }, async () => {
  await using engine = await engineUnderTest()
  const names = Array.from({ length: 30 }, (_, i) => `shop-${i}`)
  engine.write('feed.xml', rss([]))
  for (const [i, name] of names.entries()) {
    engine.pipeline(name, catalogYaml('feed.xml').replace('4001', String(5_000 + i)))
    const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), name)
    const { id } = await ensureDestination(engine.db, destinationKey(engine.deps, pipeline))
    await requestRun(engine.db, {
      pipeline: name,
      destinationId: id,
      trigger: 'manual',
      version: pipeline.version,
      options: { anyWorker: true },
    })
  }
  const worker = await startWorkerOf(engine)
  try {
    const unfinished = () => engine.db.query(`select from run where status in ('queued', 'running')`)
    await expect.poll(unfinished, { timeout: 80_000, interval: 500 }).toEqual([])
  } finally {
    await worker.stop()
  }
})
