/** What is kept, and for how long (guarantees 8.5), with the days passing by a jump of everything that is stored. */
import { expect, test } from 'vitest'
import { applyRetention } from '../../../src/store/retention.ts'
import { loadRun } from '../../../src/sync/index.ts'
import { email } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { item, products, rss } from '../acceptance/products.ts'

const peopleYaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`
const csv = (...names: string[]) =>
  `id,mail\n${names.map((name) => `${name},${name.includes('!') ? name : `${name}@example.com`}\n`).join('')}`

/** Everything stored is that much older. */
async function pass(engine: EngineUnderTest, days: number): Promise<void> {
  const columns = await engine.db.query<{ t: string; c: string }>(
    `select table_name as t, column_name as c from information_schema.columns where table_schema = 'sluice' and data_type = 'timestamp with time zone'`,
  )
  for (const { t, c } of columns) await engine.db.execute(`update sluice.${t} set ${c} = ${c} - $1 * interval '1 day'`, [days])
}

/** Columns of the whole database that hold the digest of this address, in bytes or in writing. */
async function placesOf(engine: EngineUnderTest, name: string): Promise<string[]> {
  const [, hex] = email(`${name}@example.com`)
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

test('of somebody who left nothing is left after a month and a week, and of who stayed everything that is needed', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv('ann', 'ben', 'cat', 'not an address!'))
  await engine.run('people')
  engine.write('people.csv', csv('ann', 'cat', 'not an address!'))
  const left = await engine.run('people')
  // Planned, and never applied; never sent, and gone again.
  engine.write('people.csv', csv('ann', 'cat', 'dan'))
  await engine.plan('people')
  engine.write('people.csv', csv('ann', 'cat'))
  await engine.run('people')
  expect(await placesOf(engine, 'ben')).toEqual(['batch.body', 'entry.keys'])
  expect(await placesOf(engine, 'dan')).toEqual(['batch.body', 'entry.keys', 'remote.key'])
  const rejects = () => engine.db.query<{ cells: unknown[] }>('select cells from sluice.reject where run_id = $1', [left.runId.slice(2)])

  await pass(engine, 6)
  await applyRetention(engine.db)
  expect(await placesOf(engine, 'ben')).toEqual(['batch.body', 'entry.keys'])
  expect((await rejects())[0]?.cells).not.toEqual([])
  await pass(engine, 2)
  await applyRetention(engine.db)
  expect(await placesOf(engine, 'ben')).toEqual(['entry.keys'])
  expect(await rejects()).toEqual([{ cells: [] }])
  await pass(engine, 30)
  await applyRetention(engine.db)
  expect([await placesOf(engine, 'ben'), await placesOf(engine, 'dan')]).toEqual([[], []])
  expect(await rejects()).toEqual([])
  expect(await engine.run('people')).toMatchObject({ counts: { unchanged: 2, requests: 0 } })
  // A reading that stands says what is wrong for as long as it stands.
  engine.write('people.csv', csv('ann', 'cat', 'still no address!'))
  const stands = await engine.run('people')
  await pass(engine, 40)
  await applyRetention(engine.db)
  expect(await engine.db.query('select cells, code from sluice.reject where run_id = $1', [stands.runId.slice(2)])).toMatchObject([
    { cells: [], code: 'EMAIL_INVALID' },
  ])
  expect(await placesOf(engine, 'ann')).toEqual(['record.identifiers', 'remote.key'])
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { unchanged: 2, requests: 0 } })
})

test('a plan whose operations are over their time is still known as applied, and its run keeps its books', async () => {
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

test('what is open keeps all that it needs, however old: a paused plan goes on', async () => {
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

test('a plan of which one request is open keeps its operations, and so its books, however old', async () => {
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

test('a run looks after what is over its time, once a day, also where no worker is ever up', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv('ann'))
  await engine.run('people')
  const bodies = () => engine.db.query('select from sluice.batch where body is not null')
  await pass(engine, 8)
  await engine.run('people')
  expect(await bodies()).toEqual([])
  await engine.run('people', { full: true })
  await engine.db.execute(`update sluice.batch set settled_at = settled_at - interval '8 days'`)
  await engine.run('people')
  expect(await bodies()).toHaveLength(1)
})
