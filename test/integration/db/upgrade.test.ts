/**
 * A database of an earlier main is taken over in place. `test/fixtures/upgrade/` holds the rows that the commit of its name left behind:
 * eight people and four products synced, a plan of two new prices that waits for `apply`, and a run that died when its requests had
 * been applied and their answers were not stored: one person left, one has another address, one is new.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync, cpSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { expect, test } from 'vitest'
import { migrateDatabase } from '../../../src/db/migrate.ts'
import { migrationsFolder } from '../../../src/db/migrations.ts'
import { destinationOf } from '../../../src/destinations/index.ts'
import { audienceDigest, email } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'

const earlier = { commit: '0d33fe3', migrations: 4 }
const fixture = new URL(`../../fixtures/upgrade/${earlier.commit}.json`, import.meta.url)

/** Restores the database of the earlier version. */
async function restore(engine: EngineUnderTest): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-upgrade-'))
  try {
    mkdirSync(join(folder, 'meta'))
    cpSync(migrationsFolder, folder, { recursive: true })
    const journal = join(folder, 'meta', '_journal.json')
    const known = JSON.parse(readFileSync(journal, 'utf8')) as { entries: unknown[] }
    writeFileSync(journal, JSON.stringify({ ...known, entries: known.entries.slice(0, earlier.migrations) }))
    const { rows: schemas } = await engine.db.pool.query<{ name: string }>(
      `select nspname as name from pg_namespace where nspname in ('sluice', 'drizzle')`,
    )
    for (const { name } of schemas) await engine.db.execute(`drop schema ${name} cascade`)
    await migrate(drizzle(engine.db.pool), { migrationsFolder: folder })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const tables = JSON.parse(readFileSync(fixture, 'utf8')) as Record<string, readonly object[]>
  await engine.db.transaction(async (tx) => {
    await tx.execute('set local session_replication_role = replica')
    for (const [table, rows] of Object.entries(tables)) {
      await tx.execute(
        `insert into sluice.${table} overriding system value select * from jsonb_populate_recordset(null::sluice.${table}, $1::jsonb)`,
        [JSON.stringify(rows)],
      )
      if (rows.some((row) => 'id' in row && typeof row.id === 'number'))
        await tx.execute(`select setval(pg_get_serial_sequence('sluice.${table}', 'id'), (select max(id) from sluice.${table}))`)
    }
    await tx.execute('update sluice.destination set service = $1', [engine.deps.service.origin])
  })
}

/** Restores the state of the service: sends every request of the earlier version, in order. */
async function replay(engine: EngineUnderTest): Promise<void> {
  const sent = await engine.db.query<{ body: Buffer; operation: 'upsert' | 'delete'; kind: string; account_id: string; target_id: string }>(
    `select b.body, b.operation, d.kind, d.account_id, d.target_id
     from attempt a join batch b on b.id = a.batch_id join destination d on d.id = b.destination_id order by a.id`,
  )
  for (const { body, operation, kind, account_id, target_id } of sent) {
    const target = { accountId: account_id === '' ? null : account_id, targetId: target_id, version: '12' }
    const { method, path } = destinationOf(kind as 'audience' | 'catalog').request(target, operation)
    expect((await engine.sandbox.call(method, path, { json: JSON.parse(body.toString()) })).status).toBeLessThan(300)
  }
}

const address = (n: number) => (n === 2 ? 'new2@example.com' : `a${n}@example.com`)
const people = [1, 2, 3, 4, 5, 6, 7, 9]

test('a database of an earlier version with synced state, an open plan and unanswered requests is migrated and synced', async () => {
  await using engine = await engineUnderTest()
  await restore(engine)
  await migrateDatabase(engine.databaseUrl)
  await replay(engine)
  const mark = await engine.mark()
  engine.pipeline('shop', catalogYaml('feed.csv'))
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }\nmap: { key: id, email: [e1, e2] }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth, expires_in: 600 months }\nguards: { max_delete_count: 100 }\n`,
  )
  const rows = people.map((n) => `p${n},${address(n)},${n === 3 || n === 4 ? 'shared@example.com' : ''}\n`)
  engine.write('people.csv', `id,e1,e2\n${rows.join('')}`)

  // The waiting plan is applied as it was reviewed.
  const [plan] = await engine.db.query<{ id: string; digest: string }>(`select id, digest from plan where status = 'ready'`)
  expect(await engine.apply(plan?.id ?? '')).toMatchObject({ status: 'succeeded', counts: { updates: 2, confirmed: 2, requests: 1 } })

  // Unanswered requests are sent first, byte for byte, and then the other changes of the same read.
  const unanswered = await engine.db.query<{ sha: string }>(
    `select encode(body_sha256, 'hex') as sha from batch where status = 'ambiguous' order by id`,
  )
  const before = await engine.mark()
  const run = await engine.run('people')
  expect(run.error).toBeUndefined()
  const sent = (await engine.writes(before)).map((line) => line.body_sha256)
  expect(sent.slice(0, unanswered.length).toSorted()).toEqual(unanswered.map(({ sha }) => sha).toSorted())
  expect((await engine.sandbox.control.audience()).digest).toBe(
    audienceDigest([...people.map((n) => email(address(n))), email('shared@example.com')]),
  )
  expect((await engine.sandbox.control.violations()).filter(({ seq }: { seq: number }) => seq > mark)).toEqual([])

  const after = await engine.mark()
  expect((await engine.run('people')).counts).toMatchObject({ requests: 0, creates: 0, updates: 0, deletes: 0 })
  expect(await engine.writes(after)).toEqual([])
  expect(await engine.db.query('select d.all_changed as all, (select count(*)::int from changed_key) as noted from destination d')).toEqual(
    [
      { all: false, noted: 0 },
      { all: false, noted: 0 },
    ],
  )
})
