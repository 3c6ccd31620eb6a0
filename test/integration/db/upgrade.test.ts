/**
 * Upgrades a database of an earlier commit in place. `test/fixtures/upgrade/` has the rows of the commits that its files name:
 * - eight people and four products, synced
 * - a plan of two new prices, which waits for `apply`
 * - a run that died after its requests were applied and before their answers were stored. One person is missing, one has another address,
 *   one is new.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync, cpSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { expect, test } from 'vitest'
import { destinationOwners, updateAlerts } from '../../../src/db/alerts.ts'
import { migrateDatabase } from '../../../src/db/migrate.ts'
import { migrationsFolder } from '../../../src/db/migrations.ts'
import { destinationOf } from '../../../src/destinations/index.ts'
import { audienceDigest, email } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { withOptions } from '../../support/postgres.ts'

const earlier = { commit: '0d33fe3', migrations: 4 }
const fixture = new URL(`../../fixtures/upgrade/${earlier.commit}.json`, import.meta.url)

/** Replaces the schema by the one of the first `count` migrations. */
async function migrateOnly(engine: EngineUnderTest, count: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-upgrade-'))
  try {
    mkdirSync(join(folder, 'meta'))
    cpSync(migrationsFolder, folder, { recursive: true })
    const journal = join(folder, 'meta', '_journal.json')
    const known = JSON.parse(readFileSync(journal, 'utf8')) as { entries: unknown[] }
    writeFileSync(journal, JSON.stringify({ ...known, entries: known.entries.slice(0, count) }))
    const { rows: schemas } = await engine.db.pool.query<{ name: string }>(
      `select nspname as name from pg_namespace where nspname in ('sluice', 'drizzle')`,
    )
    for (const { name } of schemas) await engine.db.execute(`drop schema ${name} cascade`)
    await migrate(drizzle(engine.db.pool), { migrationsFolder: folder })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Restores the database of the earlier version. */
async function restore(engine: EngineUnderTest): Promise<void> {
  await migrateOnly(engine, earlier.migrations)
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

test('open batches of an earlier version that the service may have applied are ambiguous after the migration', async () => {
  await using engine = await engineUnderTest()
  const { db } = engine
  await migrateOnly(engine, 26)
  await db.execute(`insert into destination (service, kind, target_id) values ('s', 'audience', 't')`)
  await db.execute(`insert into run (pipeline, destination_id, trigger, status) values ('p', 1, 'manual', 'queued')`)
  await db.execute(
    `insert into plan (id, run_id, pipeline, destination_id, status, state_version, digest, counts, guards)
     values ('p_1', 1, 'p', 1, 'applying', 0, '', '{}', '[]')`,
  )
  // Each row: id, parent, status, and the attempts as outcome, reason and answer.
  const batches = [
    [1, null, 'split', 'ambiguous', 'count_mismatch', '{}'],
    [2, 1, 'pending', null, null, null], // its worker died before the attempt
    [3, 1, 'in_flight', null, null, null],
    [4, 2, 'parked', 'retry', 'rate-limited', '{}'],
    [5, null, 'settled', 'partial', 'key-missing', '{"ambiguous": 1}'],
    [6, 5, 'parked', null, null, null],
    [7, null, 'pending', 'pause', 'count_mismatch', '{}'],
    [8, null, 'ambiguous', 'ambiguous', 'connection-lost', '{}'],
    [9, null, 'settled', 'partial', null, '{"ambiguous": 0}'],
    [10, 9, 'pending', null, null, null],
    [11, null, 'parked', 'retry', 'rate-limited', '{}'],
    [12, null, 'pending', 'pause', '403', '{}'],
    [13, null, 'in_flight', null, null, null],
  ] as const
  for (const [id, parent, status, outcome, reason, answer] of batches) {
    await db.execute(
      `insert into batch (id, plan_id, destination_id, seq, operation, body_sha256, entry_count, user_count, parent_id, status, lease_until, settled_at)
       values ($1::int, 'p_1', 1, $1::int, 'upsert', '', 1, 1, $2, $3::text, case when $3::text = 'in_flight' then now() end, case when $3::text in ('settled', 'split') then now() end)`,
      [id, parent, status],
    )
    if (outcome !== null)
      await db.execute(
        `insert into attempt (batch_id, run_id, epoch, worker_id, body_sha256, outcome, reason, answer, finished_at) values ($1, 1, 1, 'w', '', $2, $3, $4, now())`,
        [id, outcome, reason, answer],
      )
  }
  await migrateDatabase(engine.databaseUrl)
  const states = await db.query<{ id: string; status: string; maybe_applied: boolean }>(
    `select id, status, maybe_applied from batch where status not in ('settled', 'split') order by id`,
  )
  expect(states.map((row) => `${row.id} ${row.status} ${row.maybe_applied}`)).toEqual([
    '2 ambiguous true',
    '3 in_flight true',
    '4 parked true',
    '6 parked true',
    '7 ambiguous true',
    '8 ambiguous true',
    '10 pending false',
    '11 parked false',
    '12 pending false',
    '13 in_flight false',
  ])
})

test('the rate budget of an earlier version is taken over by each set of credentials', async () => {
  await using engine = await engineUnderTest()
  const { db } = engine
  await migrateOnly(engine, 27)
  await db.execute(
    `insert into destination (service, kind, target_id, credentials) values ('s', 'audience', 't', 'user 1 of application a'), ('s', 'audience', 'u', 'user 2 of application a'), ('z', 'audience', 't', null)`,
  )
  await db.execute(
    `insert into budget (class, granted, request_limit, window_ms) values ('s user_lists', 1, 1500, 61000), ('z user_lists', 0, 1500, 61000)`,
  )
  await db.execute(`insert into budget_slot values ('s user_lists', 0, now())`)
  await migrateDatabase(engine.databaseUrl)
  const budgets = ['s user 1 of application a user_lists', 's user 2 of application a user_lists'].map((name) => ({
    class: name,
    granted: '1',
  }))
  expect(await db.query('select class, granted from budget order by class')).toEqual(budgets)
  expect(await db.query('select class from budget_slot order by class')).toEqual(budgets.map(({ class: name }) => ({ class: name })))
})

test('a firing alert of an earlier version gets the environment of its run, and stays the same alert', async () => {
  await using engine = await engineUnderTest()
  await migrateOnly(engine, 30)
  const one = { service: 'https://one.example', credentials: 'user 1 of application 0123456789ab' }
  const two = { service: 'https://two.example', credentials: 'user 2 of application 0123456789ab' }
  for (const { service, credentials } of [one, two])
    await engine.db.execute(`insert into destination (service, credentials, kind, target_id) values ($1, $2, 'catalog', '4001')`, [
      service,
      credentials,
    ])
  await engine.db.execute(
    `insert into run (pipeline, destination_id, trigger, status, finished_at)
     select 'shop', id, 'manual', 'failed', now() from destination order by id`,
  )
  for (const [pipeline, event, runId] of [
    ['shop', 'failed', 'r_1'],
    ['shop', 'withheld', 'r_77'],
    ['shop', 'stale', undefined],
    ['invalid', 'failed', undefined],
  ])
    await engine.db.execute('insert into alert (pipeline, event, detail) values ($1, $2, $3)', [
      pipeline,
      event,
      JSON.stringify({ code: 'FAILED', message: 'the run failed', hint: '', runId, counts: {} }),
    ])
  // A migration reads the run id by a pattern with a backslash.
  await migrateDatabase(withOptions(engine.databaseUrl, '-c standard_conforming_strings=off'))
  expect(await engine.db.query('select service, credentials from alert order by id')).toEqual([
    one,
    two,
    two,
    { service: '', credentials: '' },
  ])
  // None is sent again, and the one without an environment ends too.
  const fence = { origin: one.service, credentials: one.credentials }
  const failed = (pipeline: string) => ({ pipeline, event: 'failed', detail: {}, receivers: ['ops'] })
  const check = { pipelines: ['shop', 'invalid'], finder: 'test', owners: await destinationOwners(engine.db) }
  expect(await updateAlerts(engine.db, fence, { ...check, found: [failed('shop'), failed('invalid')] })).toBe(0)
  expect(await updateAlerts(engine.db, fence, { ...check, found: [] })).toBe(2)
  expect(await engine.db.query('select event from alert where recovered_at is null order by id')).toEqual([
    { event: 'withheld' },
    { event: 'stale' },
  ])
})
