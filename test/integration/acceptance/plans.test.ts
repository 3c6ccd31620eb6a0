/** Plans, backfills and reruns: a plan sends nothing, `apply` sends exactly the plan, a backfill deletes nothing. */
import { expect, test } from 'vitest'
import { audienceDigest, catalogDigest } from '../../support/digests.ts'
import { engineUnderTest } from '../../support/agreement.ts'
import { catalogYaml } from '../../support/engine.ts'
import { crm, customers, customersYaml, identifiersOf } from './customers.ts'
import { goodProduct, item, products, rss, expectedProduct } from './products.ts'

const feed = (rows: Parameters<typeof item>[0][]) => rss(rows.map((row) => item(row)))

test('a plan sends nothing; apply sends exactly its frozen bodies, and nothing when it is repeated', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const rows = products(120)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', feed(rows))
  const plan = await engine.plan('shop')
  expect(plan).toMatchObject({ trigger: 'plan', status: 'succeeded', requests: 5, counts: { creates: 120, confirmed: 0, requests: 5 } })
  expect(await control.ledger()).toEqual([])

  // The source is not read again: the plan was reviewed, not the file.
  engine.write('feed.xml', feed(products(3)))
  const planned = await engine.db.query<{ sha: string }>(`select encode(body_sha256, 'hex') as sha from sluice.batch where plan_id = $1`, [
    plan.planId,
  ])
  expect(await engine.apply(plan.planId)).toMatchObject({
    trigger: 'apply',
    status: 'succeeded',
    counts: { creates: 120, confirmed: 120, requests: 5 },
  })
  expect((await engine.writes()).map(({ body_sha256 }) => body_sha256).toSorted()).toEqual(planned.map(({ sha }) => sha).toSorted())
  expect((await control.catalog()).digest).toBe(catalogDigest(rows.map(expectedProduct)))

  const after = await engine.mark()
  expect(await engine.apply(plan.planId)).toMatchObject({
    trigger: 'apply',
    status: 'succeeded',
    counts: { requests: 0 },
    warnings: [{ code: 'PLAN_APPLIED', message: `plan ${plan.planId} was applied before by run r_2, so nothing was sent` }],
  })
  expect(await engine.writes(after)).toEqual([])
  expect(await control.violations()).toEqual([])
})

test('apply rejects a plan after a run changed the synced state, and sends nothing', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', feed(products(10)))
  const plan = await engine.plan('shop')
  engine.write('feed.xml', feed(products(10).map((row, i) => (i === 0 ? goodProduct(0, 4_444) : row))))
  await engine.run('shop')
  const after = await engine.mark()
  expect(await engine.apply(plan.planId)).toMatchObject({ status: 'failed', error: { code: 'PLAN_STALE' } })
  expect(await engine.writes(after)).toEqual([])
  expect((await engine.run('shop')).counts).toMatchObject({ unchanged: 10, requests: 0 })
})

test('a backfill adds and changes products, and deletes none', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const rows = products(30)
  engine.write('feed.xml', feed(rows))
  await engine.run('shop')
  const more = [goodProduct(4, 8_888), ...products(2, 600)]
  engine.write('more.xml', feed(more))
  const after = await engine.mark()
  const report = await engine.backfill('shop', 'more.xml')
  expect(report).toMatchObject({ trigger: 'backfill', status: 'succeeded', counts: { read: 3, deletes: 0, withheld: 0 } })
  const sent = await engine.writes(after)
  expect(sent.some(({ method }) => method === 'DELETE')).toBe(false)
  expect(sent.reduce((sum, { items }) => sum + items, 0)).toBe(3)
  expect((await control.catalog()).digest).toBe(catalogDigest([...rows.filter(({ id }) => id !== 'SKU-4'), ...more].map(expectedProduct)))
  // The source of the pipeline is compared again, under the same guard.
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  expect((await control.catalog()).digest).toBe(catalogDigest(rows.map(expectedProduct)))
})

test('rerun --failed sends only what the run left unconfirmed; rerun reads the whole source', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const rows = products(75)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', feed(rows))
  await control.fault({ path: '/12/product_catalogs' }, { kind: 'product_error', ids: ['SKU-3', 'SKU-44', 'SKU-70'] }, 'always')
  const first = await engine.run('shop')
  expect(first).toMatchObject({ status: 'partial', counts: { refused: 3, confirmed: 72 } })
  await control.clearFaults()
  const after = await engine.mark()
  const again = await engine.rerun(first.runId, { failedOnly: true })
  expect(again).toMatchObject({ trigger: 'rerun', status: 'succeeded', counts: { read: 0, creates: 3, confirmed: 3, requests: 1 } })
  expect((await engine.writes(after)).map(({ items }) => items)).toEqual([3])
  expect((await control.catalog()).digest).toBe(catalogDigest(rows.map(expectedProduct)))
  expect(await engine.rerun(first.runId)).toMatchObject({
    trigger: 'rerun',
    status: 'succeeded',
    counts: { read: 75, unchanged: 75, requests: 0 },
  })
})

test('rerun rejects a plan that was not applied, and an audit', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', feed(products(3)))
  const plan = await engine.plan('shop')
  const { runId: audit } = await engine.audit('shop')
  for (const runId of [plan.runId, audit])
    for (const failedOnly of [false, true])
      await expect(engine.rerun(runId, { failedOnly })).rejects.toMatchObject({
        code: 'RUN_SENT_NOTHING',
        hint: expect.stringContaining(`sluice ${runId === audit ? 'audit' : 'plan'} shop`),
      })
  expect(await engine.writes()).toEqual([])
  // An applied plan has operations that a rerun may send again.
  await engine.sandbox.control.fault({ path: '/12/product_catalogs' }, { kind: 'product_error', ids: ['SKU-1'] })
  expect((await engine.apply(plan.planId)).counts).toMatchObject({ confirmed: 2, refused: 1 })
  expect((await engine.rerun(plan.runId, { failedOnly: true })).counts).toMatchObject({ creates: 1, confirmed: 1 })
})

test('--full sends every record again, and the service has the same content afterwards', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const rows = products(30)
  const people = customers(30, 43)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.pipeline('customers', customersYaml)
  engine.write('feed.xml', feed(rows))
  engine.write('crm.csv', crm(people))
  for (const name of ['shop', 'customers']) {
    await engine.run(name)
    expect(await engine.run(name, { full: true })).toMatchObject({
      status: 'succeeded',
      counts: { updates: 30, creates: 0, deletes: 0, confirmed: 30 },
    })
    expect((await engine.run(name)).counts.requests).toBe(0)
  }
  expect((await control.catalog()).digest).toBe(catalogDigest(rows.map(expectedProduct)))
  expect((await control.audience()).digest).toBe(audienceDigest(identifiersOf(people)))
  expect(await control.violations()).toEqual([])
})
