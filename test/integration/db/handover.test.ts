/** A role that may only read and write rows: the script for its DBA, and runs after it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { getRollbackPlans } from 'pg-boss'
import { describe, expect, test } from 'vitest'
import { handoverScript } from '../../../src/db/handover.ts'
import { examineSchema, migrateDatabase, migrationStatus } from '../../../src/db/migrate.ts'
import { openStore } from '../../../src/db/open.ts'
import { queueScript, queueVersion, startWorker } from '../../../src/jobs/index.ts'
import { openQueues } from '../../../src/jobs/queues.ts'
import { silentLogger } from '../../../src/log.ts'
import type { Finding } from '../../../src/model/report.ts'
import { examineRights } from '../../../src/cli/commands/doctor/rights.ts'
import { quoteName } from '../../../src/schemaName.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { registerWorker } from '../../../src/db/workers.ts'
import { applyRetention } from '../../../src/db/retention.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'
import { testDatabase, withOptions } from '../../support/postgres.ts'
import { roleWith } from '../../support/role.ts'
import { item, products, rss } from '../acceptance/products.ts'

async function handedOver(url: string, schema: string, role: string): Promise<string> {
  const { hasSchema, queueVersion: stored, statements } = await examineSchema(url, schema)
  const database = new URL(url).pathname.slice(1)
  return handoverScript({ schema, database, role, hasSchema, statements, queue: queueScript(schema, stored) })
}

describe('a role without the right to create schemas', () => {
  test('gets the grant and the command for a DBA as hints, and works once the DBA ran it', { timeout: 60_000 }, async () => {
    await using engine = await engineUnderTest()
    await using role = await roleWith(engine.databaseUrl, '')
    await expect(migrateDatabase(role.url, 'shop_eu')).rejects.toMatchObject({
      code: 'DATABASE_UNUSABLE',
      hint: expect.stringMatching(/^grant create on database .* to .*; or let its owner run: sluice db migrate --sql$/) as unknown,
    })
    const script = await handedOver(engine.databaseUrl, 'shop_eu', role.name)
    await engine.db.pool.query(script)
    // A second time it finds nothing to do.
    await engine.db.pool.query(await handedOver(engine.databaseUrl, 'shop_eu', role.name))

    await using store = await storeOf(role.url, 'shop_eu')
    engine.pipeline('shop', catalogYaml('feed.xml'))
    writeFileSync(join(engine.folder, 'feed.xml'), rss(products(20).map((row) => item(row))))
    const folder = join(engine.folder, 'pipelines')
    const deps = { ...engine.deps, db: store.db, workerId: await registerWorker(store.db, { role: 'test' }) }
    const jobs = { ...deps, folder, loadPipeline: (name: string) => loadPipeline(folder, name), loadPipelines: () => loadPipelines(folder) }
    const worker = await startWorker(jobs)
    try {
      expect(await runPipeline(deps, await loadPipeline(folder, 'shop'), { trigger: 'manual' })).toMatchObject({ status: 'succeeded' })
    } finally {
      await worker.stop()
    }
    await applyRetention(store.db)
    expect((await engine.sandbox.control.catalog()).products).toBe(20)
    expect(await store.db.query(`select from pg_tables where schemaname = 'shop_eu' and tableowner = $1`, [role.name])).toEqual([])
  })

  test('gets a script whose statements keep their meaning with the settings of the server', async () => {
    await using owner = await testDatabase()
    await using role = await roleWith(owner.url, '')
    const client = new pg.Client({
      connectionString: withOptions(owner.url, '-c standard_conforming_strings=off'),
    })
    await client.connect()
    try {
      const script = await handedOver(owner.url, 'shop_eu', role.name)
      // Like psql, sends the first statements alone: a setting applies from the next statement on.
      const [, settings = '', rest = ''] = /^(.*?)(^begin;.*)$/ms.exec(script) ?? []
      await client.query(settings)
      await client.query(rest)
    } finally {
      await client.end()
    }
    await (await storeOf(role.url, 'shop_eu'))[Symbol.asyncDispose]()
  })

  test('gets the upgrade of an older queue in the script for its DBA', { timeout: 60_000 }, async () => {
    await using engine = await engineUnderTest()
    await using role = await roleWith(engine.databaseUrl, '')
    await engine.db.pool.query(await handedOver(engine.databaseUrl, 'sluice', role.name))
    await engine.db.pool.query(getRollbackPlans('sluice', queueVersion))
    await using store = await storeOf(role.url, 'sluice')
    const open = () => openQueues(store.db, { supervise: false, log: silentLogger })
    await expect(open()).rejects.toMatchObject({ hint: expect.stringContaining('sluice db migrate --sql') as unknown })
    const findings: Finding[] = []
    const examineQueue = () => examineRights({ ...store, isEmbedded: false }, (finding) => findings.push(finding))
    await examineQueue()
    expect(findings.at(-1)).toMatchObject({
      check: 'queue',
      state: 'failed',
      hint: expect.stringContaining('sluice db migrate --sql') as unknown,
    })
    // psql runs each statement alone, as an index that is built concurrently needs.
    for (const part of (await handedOver(engine.databaseUrl, 'sluice', role.name)).split(/^(CREATE INDEX CONCURRENTLY .*;)$/m))
      await engine.db.pool.query(part)
    await (await open()).close()
    await examineQueue()
    expect(findings.at(-1)).toMatchObject({ check: 'queue', state: 'ok', message: 'tables and notifications' })
    expect(await handedOver(engine.databaseUrl, 'sluice', role.name)).not.toContain('pg-boss')
  })

  test('may have a name with quotes', async () => {
    await using database = await testDatabase()
    await using role = await roleWith(database.url, '')
    const name = `o'brien "${role.name}"`
    await database.db.execute(`alter role ${role.name} rename to ${quoteName(name)}`)
    try {
      await database.db.pool.query(await handedOver(database.url, 'shop_eu', name))
    } finally {
      await database.db.execute(`alter role ${quoteName(name)} rename to ${role.name}`)
    }
  })

  test('creates the tables in a schema that it owns', async () => {
    await using database = await testDatabase()
    await using role = await roleWith(database.url, '')
    await database.db.execute(`create schema given authorization ${role.name}`)
    const { applied, known } = await migrateDatabase(role.url, 'given')
    expect(applied).toBe(known)
  })

  test('gets the missing right on tables of another role as a hint', async () => {
    await using database = await testDatabase()
    await using role = await roleWith(database.url, '')
    await expect(migrateDatabase(role.url)).rejects.toMatchObject({
      code: 'DATABASE_UNUSABLE',
      hint: expect.stringContaining('grant ') as unknown,
    })
    await database.db.execute(`grant usage on schema sluice to ${role.name}`)
    await expect(migrateDatabase(role.url)).rejects.toMatchObject({
      hint: expect.stringContaining('grant select, insert, update, delete on all tables in schema "sluice"') as unknown,
    })
    await database.db.pool.query(await handedOver(database.url, 'sluice', role.name))
    const { applied, known } = await migrationStatus(role.url)
    expect(applied).toBe(known)
  })
})

async function storeOf(databaseUrl: string, schema: string) {
  const store = await openStore({ databaseUrl, dataDir: '/nonexistent', schema })
  return { ...store, [Symbol.asyncDispose]: store.close }
}
