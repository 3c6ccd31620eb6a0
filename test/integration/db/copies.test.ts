/** A database that was restored from a dump elsewhere, or copied for another environment with the same credentials. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase, type Database } from '../../../src/db/database.ts'
import { adoptDatabase, bindToThisDatabase, countSyncedElsewhere, ensureDestination } from '../../../src/db/destinations.ts'
import { startEmbedded, stopEmbedded } from '../../../src/db/embedded/server.ts'
import { migrateDatabase } from '../../../src/db/migrate.ts'
import { isSharedPlan } from '../../../src/db/runs/queued.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { applyPlan } from '../../../src/sync/run/applyPlan.ts'
import type { EngineDeps } from '../../../src/sync/engine.ts'
import { forget } from '../../../src/sync/erasure/forget.ts'
import { erasedKeysOf } from '../../../src/sync/erasure/person.ts'
import { planPipeline, runPipeline } from '../../../src/sync/run/run.ts'
import { copy } from '../../support/backup.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'
import { testDatabase } from '../../support/postgres.ts'
import { sluiceHere } from '../cli/support.ts'
import { item, products, rss } from '../acceptance/products.ts'

test('K9: a copy of the database sends nothing until it is adopted, and the original continues', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const feed = (rows: number) => engine.write('feed.xml', rss(products(rows).map((row) => item(row))))
  feed(3)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  const dump = await copy(engine)
  feed(5)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { creates: 2 } })

  await using elsewhere = await testDatabase()
  await dump.restore(elsewhere.db)
  const copied = { ...engine.deps, db: elsewhere.db }
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  feed(2)
  const mark = await engine.mark()
  const stopped = { status: 'failed', error: { code: 'DATABASE_COPIED', hint: expect.stringContaining('sluice db adopt') as unknown } }
  expect(await runPipeline(copied, pipeline, { trigger: 'manual' })).toMatchObject(stopped)
  const { planId } = await planPipeline(copied, pipeline)
  expect(await applyPlan(copied, planId)).toMatchObject(stopped)
  await elsewhere.db.execute(`update plan set status = 'applying' where id = $1`, [planId])
  expect(await isSharedPlan(elsewhere.db, planId, engine.deps.service)).toBe(false)
  await elsewhere.db.execute(`update plan set status = 'ready' where id = $1`, [planId])
  expect(await engine.writes(mark)).toEqual([])

  // The original is not affected.
  feed(6)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { creates: 1 } })
  expect(await adoptDatabase(engine.db, 'anna')).toBe(0)

  const doctor = () => sluiceHere(['doctor'], { cwd: engine.folder, env: { ...engine.env, DATABASE_URL: elsewhere.url } })
  expect((await doctor()).stdout).toMatch(
    /failed +database +this database is a copy, or was restored from a dump: 1 destination last synced from another/,
  )
  const status = () => sluiceHere(['status'], { cwd: engine.folder, env: { ...engine.env, DATABASE_URL: elsewhere.url } })
  expect((await status()).stdout).toMatch(/DATABASE_COPIED +this database is a copy/)
  const adopt = () => sluiceHere(['db', 'adopt'], { cwd: engine.folder, env: { ...engine.env, DATABASE_URL: elsewhere.url } })
  expect(await adopt()).toMatchObject({ code: 0, stdout: expect.stringContaining('1 destination adopted') as unknown })
  expect(await adopt()).toMatchObject({ code: 0, stdout: 'nothing to do: no destination was last synced from another database\n' })
  for (const examine of [doctor, status]) expect((await examine()).stdout).not.toContain('this database is a copy')
  expect(await isSharedPlan(elsewhere.db, planId, engine.deps.service)).toBe(false)
  expect(await runPipeline(copied, pipeline, { trigger: 'manual', full: true })).toMatchObject({ status: 'succeeded' })
})

test('a copy of the database erases no one, because the original would send the person again', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`,
  )
  engine.write('people.csv', 'id,mail\nk1,ann@example.com\nk2,bob@example.com\n')
  await engine.run('people')
  const dump = await copy(engine)
  await using elsewhere = await testDatabase()
  await dump.restore(elsewhere.db)
  const mark = await engine.mark()
  const command = await sluiceHere(['forget', '--email', 'ann@example.com', '--json'], {
    cwd: engine.folder,
    env: { ...engine.env, DATABASE_URL: elsewhere.url },
  })
  expect(JSON.parse(command.stdout)).toMatchObject({ error: { code: 'DATABASE_COPIED' } })
  expect(await engine.writes(mark)).toEqual([])
  expect(await elsewhere.db.query('select from sluice.erasure')).toEqual([])
  // A staging copy with credentials of its own sends nothing to the audiences of the others.
  const copied = { ...engine.deps, db: elsewhere.db }
  const erase = async (deps: EngineDeps, address: string) =>
    forget(deps, await erasedKeysOf(deps, { emails: [address], phones: [], keys: [] }, undefined), { actor: 'test', wait: true })
  await erase({ ...copied, service: { ...copied.service, credentials: 'staging' } }, 'bob@example.com')
  expect(await engine.writes(mark)).toEqual([])
  await adoptDatabase(elsewhere.db, 'anna')
  expect(await erase(copied, 'ann@example.com')).toMatchObject({ deletes: { planned: 2, confirmed: 2 } })
})

test(
  'a copy whose objects have the same ids, as in two new clusters, is recognized by its cluster',
  { tags: ['long'], timeout: 120_000 },
  async () => {
    await using first = await newCluster()
    await using second = await newCluster()
    const addDestination = `insert into destination (service, kind, account_id, target_id) values ('https://ads.example.com', 'catalog', '', '4001')`
    await first.db.execute(addDestination)
    expect(await bindToThisDatabase(first.db, 1)).toBe(true)
    await (await copy({ db: first.db })).restore(second.db)
    const identityOf = async ({ db }: { readonly db: Database }) =>
      (await db.query<{ identity: string }>('select database_identity as identity from destination'))[0]?.identity ?? ''
    const [ids = ''] = (await identityOf(first)).split('@')

    expect(await bindToThisDatabase(second.db, 1)).toBe(false)
    expect(await countSyncedElsewhere(second.db)).toBe(1)
    expect(await adoptDatabase(second.db, 'anna')).toBe(1)
    expect((await identityOf(second)).split('@')[0]).toBe(ids)
    expect(await bindToThisDatabase(second.db, 1)).toBe(true)
    expect(await bindToThisDatabase(first.db, 1)).toBe(true)

    // An earlier version stored no cluster. `pg_upgrade` keeps the object ids, in a new cluster of a newer version.
    const before = await identityOf(second)
    for (const stored of [ids, `${ids}@7000000000000000000/17`]) {
      await second.db.execute('update destination set database_identity = $1', [stored])
      expect(await countSyncedElsewhere(second.db)).toBe(0)
      expect(await bindToThisDatabase(second.db, 1)).toBe(true)
      expect(await identityOf(second)).toBe(before)
    }
  },
)

test.for([
  ['permission is missing', '42501'],
  ['it is not supported', '0A000'],
  ['the function is missing', undefined],
] as const)('a database whose cluster cannot be read (%s) is recognized by its object ids', async ([, code]) => {
  await using database = await testDatabase()
  const { db } = database
  const { id } = await ensureDestination(db, { service: 'https://ads.example.com', kind: 'catalog', accountId: '', targetId: '4001' })
  expect(await bindToThisDatabase(db, id)).toBe(true)
  await db.execute(`update pg_proc set proname = 'hidden' where proname = 'pg_control_system'`)
  if (code !== undefined)
    await db.execute(
      `create function sluice.pg_control_system() returns table (system_identifier bigint) language plpgsql
       as $$ begin raise exception 'no' using errcode = '${code}'; end $$`,
    )
  expect(await bindToThisDatabase(db, id)).toBe(true)
  expect(await countSyncedElsewhere(db)).toBe(0)
  await db.execute(`update destination set database_identity = '1.2.3.4@7000000000000000000/17'`)
  expect(await bindToThisDatabase(db, id)).toBe(false)
})

/** Starts a server with files of its own, and migrates its database. */
async function newCluster(): Promise<AsyncDisposable & { readonly db: Database }> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-cluster-'))
  chmodSync(folder, 0o755)
  const { url } = await startEmbedded(folder, { keep: true })
  await migrateDatabase(url)
  const db = openDatabase(url)
  return {
    db,
    async [Symbol.asyncDispose]() {
      await db.close()
      await stopEmbedded(folder)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
