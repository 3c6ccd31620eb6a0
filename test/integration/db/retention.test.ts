/** Retention (docs/retention.md). Days pass by moving every stored time back. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { openDatabase, type Database } from '../../../src/db/database.ts'
import { ensureDestination } from '../../../src/db/destinations.ts'
import { migrateDatabase } from '../../../src/db/migrate.ts'
import { applyRetention } from '../../../src/db/retention.ts'
import { dropRuns } from '../../../src/db/runRetention.ts'
import { registerWorker } from '../../../src/db/workers.ts'
import { explainKey } from '../../../src/sync/reports/explain.ts'
import { loadRun } from '../../../src/sync/reports/history.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { email } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { goodProduct, item, products, rss } from '../acceptance/products.ts'
import { everyKey } from '../../support/everyKey.ts'

const peopleYaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`
const csv = (...names: string[]) =>
  `id,mail\n${names.map((name) => `${name},${name.includes('!') ? name : `${name}@example.com`}\n`).join('')}`

/** Makes everything stored that much older. */
async function pass(engine: EngineUnderTest, days: number): Promise<void> {
  const columns = await engine.db.query<{ t: string; c: string }>(
    `select table_name as t, column_name as c from information_schema.columns where table_schema = 'sluice' and data_type = 'timestamp with time zone'`,
  )
  for (const { t, c } of columns) await engine.db.execute(`update sluice.${t} set ${c} = ${c} - $1 * interval '1 day'`, [days])
}

/** Columns of the whole database that contain the digest of this address, as bytes or as text, or its first 8 bytes. */
async function placesOf(engine: EngineUnderTest, name: string): Promise<string[]> {
  const hex = email(`${name}@example.com`)[1].slice(0, 8)
  const columns = await engine.db.query<{ t: string; c: string; kind: string }>(
    `select table_name as t, column_name as c, udt_name as kind from information_schema.columns where table_schema = 'sluice'`,
  )
  expect(columns.length).toBeGreaterThan(100)
  const found: string[] = []
  for (const { t, c, kind } of columns) {
    const holds =
      kind === 'bytea'
        ? `position(decode($1, 'hex') in ${c}) > 0 or position(convert_to($1, 'UTF8') in ${c}) > 0`
        : kind === '_bytea'
          ? `exists (select from unnest(${c}) as k (key) where position(decode($1, 'hex') in k.key) > 0)`
          : `${c}::text like '%' || $1 || '%'`
    if ((await engine.db.query(`select from sluice.${t} where ${holds} limit 1`, [hex])).length > 0) found.push(`${t}.${c}`)
  }
  return found.toSorted()
}

test('no data of a deleted person is left after a month and a week, and all needed data of the others', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv('ann', 'ben', 'cat', 'not an address!'))
  await engine.run('people')
  engine.write('people.csv', csv('ann', 'cat', 'not an address!'))
  const left = await engine.run('people')
  // One that was planned and never applied, and one that was never sent and removed again.
  engine.write('people.csv', csv('ann', 'cat', 'dan'))
  await engine.plan('people')
  engine.write('people.csv', csv('ann', 'cat'))
  await engine.run('people')
  expect(await placesOf(engine, 'ben')).toEqual(['batch_entries.keys', 'implied_key.digests'])
  expect(await placesOf(engine, 'dan')).toEqual(['batch_entries.keys', 'remote.key'])
  const rejects = () => engine.db.query<{ cells: unknown[] }>('select cells from sluice.reject where run_id = $1', [left.runId.slice(2)])

  await pass(engine, 6)
  await applyRetention(engine.db)
  expect(await placesOf(engine, 'ben')).toEqual(['batch_entries.keys', 'implied_key.digests'])
  expect((await rejects())[0]?.cells).not.toEqual([])
  await pass(engine, 2)
  await applyRetention(engine.db)
  expect(await placesOf(engine, 'ben')).toEqual(['batch_entries.keys', 'implied_key.digests'])
  expect(await rejects()).toEqual([{ cells: [] }])
  await pass(engine, 30)
  await applyRetention(engine.db)
  expect([await placesOf(engine, 'ben'), await placesOf(engine, 'dan')]).toEqual([[], []])
  expect(await rejects()).toEqual([])
  expect(await engine.run('people')).toMatchObject({ counts: { unchanged: 2, requests: 0 } })
  // The rejects of the last complete read are kept as long as it is the last.
  engine.write('people.csv', csv('ann', 'cat', 'still no address!'))
  const stands = await engine.run('people')
  await pass(engine, 40)
  await applyRetention(engine.db)
  expect(await engine.db.query('select cells, code from sluice.reject where run_id = $1', [stands.runId.slice(2)])).toMatchObject([
    { cells: [], code: 'EMAIL_INVALID' },
  ])
  expect(await placesOf(engine, 'ann')).toEqual(['implied_key.digests', 'record.hash', 'record.joined_identifiers'])
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { unchanged: 2, requests: 0 } })
})

test('the deleted keys of a catalog are not read, because there may be millions', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  for (const count of [3, 2]) {
    engine.write('feed.xml', rss(products(count).map((row) => item(row))))
    await engine.run('shop')
  }
  await pass(engine, 400)
  const read: object[] = []
  const { transaction } = engine.db
  const db: Database = {
    ...engine.db,
    transaction: (work) =>
      transaction((tx) =>
        work({
          ...tx,
          async query<R extends object>(text: string, values?: readonly unknown[]) {
            const rows = await tx.query<R>(text, values)
            read.push(...rows)
            return rows
          },
        }),
      ),
  }
  expect(await applyRetention(db)).toMatchObject({ operations: 4 })
  expect(read.filter((row) => 'deleted' in row)).toEqual([{ destination_id: 1, n: 4, deleted: null }])
})

test('a plan with expired operations is still applied, and its run keeps its counts', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(30).map((row) => item(row))))
  const { planId } = await engine.plan('shop')
  const { runId, counts } = await engine.apply(planId)
  expect(counts).toMatchObject({ creates: 30, confirmed: 30 })
  await pass(engine, 370)
  await applyRetention(engine.db)
  expect(await engine.db.query('select from sluice.entry')).toEqual([])
  expect(await engine.apply(planId)).toMatchObject({ status: 'succeeded', counts: { requests: 0 } })
  expect((await loadRun(engine.db, runId)).counts).toEqual(counts)
})

test('a paused plan keeps its data, however old, and continues', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv('ann', 'ben'))
  const fault = { kind: 'status', status: 403, body: { errors: [{ code: 'ACTION_NOT_ALLOWED', message: 'no' }] } }
  await engine.sandbox.control.fault({ path: '/12/accounts' }, fault)
  expect((await engine.run('people')).counts).toMatchObject({ pending: 2 })
  await pass(engine, 60)
  await applyRetention(engine.db)
  await engine.sandbox.control.clearFaults()
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', settled: { confirmed: 2 } })
})

test('a plan with an open request keeps its operations and counts, however old', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(120).map((row) => item(row))))
  const fault = { kind: 'status', status: 403, body: { errors: [{ code: 'ACTION_NOT_ALLOWED', message: 'no' }] } }
  await engine.sandbox.control.fault({ path: '/12/product_catalogs', nth: 3 }, fault)
  const paused = await engine.run('shop')
  expect(paused.counts.confirmed).toBeGreaterThan(0)
  expect(paused.counts.pending).toBeGreaterThan(0)
  await pass(engine, 400)
  await applyRetention(engine.db)
  expect((await engine.run('shop')).status).toBe('succeeded')
  const { counts } = await loadRun(engine.db, paused.runId)
  expect(counts).toMatchObject({ creates: 120 })
  expect(imbalance(counts)).toEqual([])
})

test('a run deletes expired data once a day, also without any worker', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv('ann'))
  await engine.run('people')
  const bodies = () =>
    engine.db.query(
      'select from sluice.batch b left join sluice.batch_entries e on e.batch_id = b.id where b.body is not null or e.template is not null',
    )
  await pass(engine, 8)
  await engine.run('people')
  expect(await bodies()).toEqual([])
  await engine.run('people', { full: true })
  await engine.db.execute(`update sluice.batch set settled_at = settled_at - interval '8 days'`)
  await engine.run('people')
  expect(await bodies()).toHaveLength(1)
})

/** Confirmed keys whose confirming answer is not stored (docs/guarantees.md#confirmed-only). */
const unproven = (engine: EngineUnderTest) =>
  engine.db.query(
    `select m.key from ${everyKey} m where m.synced_hash is not null and not exists (
       select from sluice.batch b join sluice.attempt a on a.batch_id = b.id
       where b.id = m.batch_id and a.outcome in ('confirmed', 'partial') and a.answer_sha256 is not null)`,
  )
/** `changed` of them, first in the order of sending, have another price. */
function feed(count: number, changed: number, price: number): string {
  const rows = products(count).toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : 1))
  return rss(rows.map((row, i) => item(i < changed ? goodProduct(Number(String(row.id).slice(4)), price) : row)))
}

test('runs are deleted after 400 days, except answers that confirmed present content', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  // Three requests; the first is superseded twice.
  engine.write('feed.xml', feed(60, 0, 0))
  const first = await engine.run('shop')
  engine.write('feed.xml', feed(60, 25, 7_777))
  const second = await engine.run('shop')
  engine.write('feed.xml', feed(60, 25, 8_888))
  const third = await engine.run('shop')
  await pass(engine, 399)
  await applyRetention(engine.db)
  expect((await loadRun(engine.db, second.runId)).counts).toMatchObject({ updates: 25 })
  await pass(engine, 2)
  // The setting applies.
  expect((await applyRetention(engine.db, { keepRunsDays: 500 }))['runs']).toBe(0)
  expect((await applyRetention(engine.db))['runs']).toBe(1)
  const left = async (table: string) => Number((await engine.db.query<{ n: string }>(`select count(*) as n from sluice.${table}`))[0]?.n)
  expect([await left('batch'), await left('attempt'), await left('plan')]).toEqual([3, 3, 2])
  expect(await unproven(engine)).toEqual([])
  await expect(loadRun(engine.db, second.runId)).rejects.toMatchObject({
    code: 'UNKNOWN_RUN',
    message: `run ${second.runId} has expired: runs are kept for 400 days`,
  })
  await expect(loadRun(engine.db, 'r_999')).rejects.toMatchObject({ message: 'there is no run "r_999"' })
  for (const { runId, counts } of [first, third]) expect((await loadRun(engine.db, runId)).counts).toEqual(counts)
  expect(await engine.db.query(`select actor, detail from sluice.audit where what = 'runs.dropped'`)).toEqual([
    { actor: 'retention', detail: { days: 400, runs: 1, last: Number(second.runId.slice(2)) } },
  ])
  // The last complete read is still the one to compare with.
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { unchanged: 60, requests: 0 } })
  engine.write('feed.xml', feed(20, 20, 8_888))
  expect(await engine.run('shop')).toMatchObject({ status: 'withheld', counts: { withheld: 40 } })
})

test('the last run of a pipeline is kept in each environment', async () => {
  await using engine = await engineUnderTest()
  for (const service of ['https://one.example.com', 'https://two.example.com']) {
    const { id } = await ensureDestination(engine.db, { service, kind: 'audience', accountId: '18ce54d4x5t', targetId: '1nmth' })
    await engine.db.execute(
      `insert into run (pipeline, destination_id, trigger, status, finished_at)
       select 'people', $1, 'manual', 'failed', statement_timestamp() - interval '500 days' from generate_series(1, 2)`,
      [id],
    )
  }
  expect(await dropRuns(engine.db, 400)).toBe(2)
  expect(await engine.db.query('select id from run order by id')).toEqual([{ id: '2' }, { id: '4' }])
})

test('retention of one schema does not read another schema', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  await migrateDatabase(engine.databaseUrl, 'tenant_b')
  const db = openDatabase(engine.databaseUrl, { schema: 'tenant_b' })
  try {
    const tenant = { ...engine.deps, db, workerId: await registerWorker(db, { role: 'test' }) }
    for (const price of [0, 7_777, 8_888]) {
      engine.write('feed.xml', feed(30, 30, price))
      await engine.run('shop')
      expect(await runPipeline(tenant, pipeline, { trigger: 'manual' })).toMatchObject({ status: 'succeeded' })
    }
    const rows = async (schema: string) =>
      Promise.all(['attempt', 'entry', 'batch', 'run'].map(async (table) => (await db.query(`select from ${schema}.${table}`)).length))
    const before = await rows('sluice')
    expect(await rows('tenant_b')).toEqual(before)
    for (const column of ['created_at', 'started_at', 'finished_at'])
      await db.execute(`update run set ${column} = ${column} - interval '401 days'`)
    await db.execute(`update plan set created_at = created_at - interval '401 days', applied_at = applied_at - interval '401 days'`)
    await db.execute(`update batch set settled_at = settled_at - interval '401 days'`)
    expect((await applyRetention(db))['runs']).toBe(2)
    expect(await rows('sluice')).toEqual(before)
    expect(await db.query('select from attempt where batch_id not in (select id from batch)')).toEqual([])
  } finally {
    await db.close()
  }
})

test('explain names the line of a product whose run has expired', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', feed(3, 0, 0))
  const first = await engine.run('shop')
  await engine.run('shop', { full: true })
  await engine.run('shop')
  await pass(engine, 500)
  await engine.run('shop')
  await applyRetention(engine.db)
  await expect(loadRun(engine.db, first.runId)).rejects.toMatchObject({ code: 'UNKNOWN_RUN' })
  const story = await explainKey(engine.deps, await loadPipeline(join(engine.folder, 'pipelines'), 'shop'), 'SKU-1')
  expect(story.headline).toContain('Live')
  expect(story.events.find(({ what }) => what === 'read')?.message).toContain(
    'of the source, when it last changed, by a run that has expired',
  )
  expect(await unproven(engine)).toEqual([])
})

test('a run with withheld deletes or open operations is kept, however old', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', feed(60, 0, 0))
  const good = await engine.run('shop')
  engine.write('feed.xml', feed(20, 0, 0))
  const held = await engine.run('shop')
  expect(held.status).toBe('withheld')
  await engine.run('shop', { full: true })
  engine.write('feed.xml', feed(21, 1, 9_999))
  const fault = { kind: 'status', status: 403, body: { errors: [{ code: 'ACTION_NOT_ALLOWED', message: 'no' }] } }
  await engine.sandbox.control.fault({ path: '/12/product_catalogs' }, fault, 'always')
  const open = await engine.run('shop')
  expect(open.counts.pending).toBeGreaterThan(0)
  await engine.sandbox.control.clearFaults()
  await pass(engine, 1_000)
  await applyRetention(engine.db)
  for (const { runId } of [good, open]) expect((await loadRun(engine.db, runId)).runId).toBe(runId)
  expect(await unproven(engine)).toEqual([])
  // 21 rows are still compared with 60 valid rows.
  expect(await engine.run('shop')).toMatchObject({
    status: 'withheld',
    guards: [{ code: 'GUARD_DELETES' }, { code: 'GUARD_ROWS_FELL', message: 'valid rows fell from 60 to 21, by more than half' }],
  })
})

test('requests of a load are kept while one of them implies a key, because they mark whose records those are', async () => {
  await using engine = await engineUnderTest({ settings: { usersInFirstPart: 5, concurrency: 1, horizonMs: 20 } })
  engine.pipeline('people', `${peopleYaml}guards: { max_delete_count: 1000 }\n`)
  const names = Array.from({ length: 60 }, (_, i) => `p${i}`)
  engine.write('people.csv', csv(...names))
  // The first requests are confirmed; the others are not sent, and the next plan stores their keys.
  await engine.sandbox.control.fault({ path: '/users', nth: 2 }, { kind: 'status', status: 403 })
  const { confirmed } = (await engine.run('people')).counts
  expect([confirmed > 0, confirmed < 60]).toEqual([true, true])
  await engine.sandbox.control.clearFaults()
  await engine.run('people')
  expect((await engine.sandbox.control.audience()).members).toBe(60)
  // Their plan is not the last one.
  engine.write('people.csv', csv(...names, 'new'))
  await engine.run('people')
  await pass(engine, 60)
  // Memberships have not ended meanwhile.
  await engine.db.execute(`update batch set expires_at = expires_at + interval '60 days'`)
  await engine.db.execute(`update remote set expires_at = expires_at + interval '60 days'`)
  await applyRetention(engine.db, { keepRunsDays: 30 })
  engine.write('people.csv', csv(...names.slice(0, 50), 'new'))
  const report = await engine.run('people')
  expect([report.status, report.error, report.counts.deletes]).toEqual(['succeeded', undefined, 10])
  expect((await engine.sandbox.control.audience()).members).toBe(51)
})

test('the records of a deleted request are not implied by an earlier request of the load', async () => {
  await using engine = await engineUnderTest({ settings: { usersInFirstPart: 5, concurrency: 1, horizonMs: 20 } })
  engine.pipeline('people', `${peopleYaml}guards: { max_delete_count: 1000 }\n`)
  const names = Array.from({ length: 60 }, (_, i) => `p${i}`)
  const rows = names.map((name) => ({ id: name, mail: name }))
  const write = () => engine.write('people.csv', `id,mail\n${rows.map(({ id, mail }) => `${id},${mail}@example.com\n`).join('')}`)
  write()
  // Only the first request is confirmed. The keys of the others are stored, and confirmed by a later plan.
  await engine.sandbox.control.fault({ path: '/users', nth: 2 }, { kind: 'status', status: 403 })
  await engine.run('people')
  await engine.sandbox.control.clearFaults()
  await engine.run('people')
  const stored = new Set(
    (await engine.db.query<{ key: string }>(`select right(encode(key, 'hex'), 64) as key from sluice.remote`)).map(({ key }) => key),
  )
  const implied = names.filter((name) => !stored.has(email(`${name}@example.com`)[1]))
  expect([implied.length > 0, implied.length < 60]).toEqual([true, true])
  // The keys of the first request get rows too, which it still confirms.
  for (const name of implied) rows.push({ id: `second-${name}`, mail: name })
  write()
  await engine.run('people')
  rows.push({ id: 'new', mail: 'new' })
  write()
  await engine.run('people')
  const requests = () =>
    engine.db.query<{ keys_stored: boolean }>('select keys_stored from sluice.batch where load_id is not null order by first_key')
  const before = await requests()
  expect([before[0], before.at(-1)]).toEqual([{ keys_stored: false }, { keys_stored: true }])
  await pass(engine, 60)
  // Memberships have not ended meanwhile.
  await engine.db.execute(`update batch set expires_at = expires_at + interval '60 days'`)
  await engine.db.execute(`update remote set expires_at = expires_at + interval '60 days'`)
  await applyRetention(engine.db, { keepRunsDays: 30 })
  expect((await requests()).length).toBeLessThan(before.length)
  expect(await engine.db.query(`select from ${everyKey} m group by m.destination_id, m.key having count(*) > 1`)).toEqual([])
  for (const row of rows) if (!implied.includes(row.mail)) row.mail += '-changed'
  write()
  const report = await engine.run('people')
  expect([report.status, report.error, report.counts.deletes]).toEqual(['succeeded', undefined, 60 - implied.length + 1])
  expect((await engine.sandbox.control.audience()).members).toBe(61)
})

test.for([
  ['people', 40],
  ['shop', 400],
] as const)(
  '%s: operations of a full refresh that is not fully confirmed are kept until the next run has the rest, %d days later',
  async ([name, days]) => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    engine.pipeline('people', peopleYaml)
    engine.pipeline('shop', catalogYaml('feed.xml'))
    engine.write('people.csv', csv('ann', 'ben', 'cat'))
    engine.write('feed.xml', feed(3, 0, 0))
    await engine.run(name)
    const refusal = { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } }
    await control.fault({ path: '/12/' }, refusal, 'always')
    expect((await engine.run(name, { full: true })).counts).toMatchObject({ updates: 3, refused: 3 })
    await control.clearFaults()
    const later = async () => {
      await pass(engine, days)
      // Memberships have not ended meanwhile.
      await engine.db.execute(`update batch set expires_at = expires_at + $1 * interval '1 day'`, [days])
      await engine.db.execute(`update remote set expires_at = expires_at + $1 * interval '1 day'`, [days])
      await applyRetention(engine.db)
    }
    await later()
    const after = await engine.mark()
    expect((await engine.run(name)).status).toBe('succeeded')
    expect((await engine.writes(after)).reduce((sum, { items }) => sum + items, 0)).toBe(3)
    expect((await engine.run(name)).counts).toMatchObject({ requests: 0 })
    // Now they expire as those of any other plan.
    await later()
    expect(await engine.db.query('select from sluice.entry')).toEqual([])
    expect(await engine.db.query('select from sluice.batch_entries')).toEqual([])
  },
)

test.for([
  ['people', 40],
  ['shop', 400],
] as const)('%s: deletes that were approved and refused stay approved %d days later', { tags: ['long'] }, async ([name, days]) => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('people', peopleYaml)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const names = Array.from({ length: 30 }, (_, i) => `p${i}`)
  const write = (rows: number) => {
    engine.write('people.csv', csv(...names.slice(0, rows)))
    engine.write('feed.xml', feed(rows, 0, 0))
  }
  write(30)
  await engine.run(name)
  write(18)
  const refusal = { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } }
  await control.fault({ path: '/12/' }, refusal, 'always')
  expect((await engine.run(name, { approveDeletes: 12 })).counts).toMatchObject({ deletes: 12, refused: 12, withheld: 0 })
  await control.clearFaults()
  await pass(engine, days)
  // Memberships have not ended meanwhile.
  await engine.db.execute(`update batch set expires_at = expires_at + $1 * interval '1 day'`, [days])
  await engine.db.execute(`update remote set expires_at = expires_at + $1 * interval '1 day'`, [days])
  await applyRetention(engine.db)
  expect((await engine.run(name)).counts).toMatchObject({ withheld: 0 })
  await engine.run(name)
  expect(name === 'people' ? (await control.audience()).members : (await control.catalog()).products).toBe(18)
})
