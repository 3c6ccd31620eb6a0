/** Plans, backfills and reruns keep their word: nothing by a plan, exactly the plan by apply, no delete by a backfill. */
import { expect, test } from 'vitest'
import { audienceDigest, catalogDigest } from '../../support/digests.ts'
import { engineUnderTest } from '../../support/agreement.ts'
import { catalogYaml } from '../../support/engine.ts'
import { crm, customers, customersYaml, identifiersOf } from './customers.ts'
import { goodProduct, item, products, rss, wanted } from './products.ts'

const feed = (rows: Parameters<typeof item>[0][]) => rss(rows.map((row) => item(row)))

test('a plan sends nothing, apply sends exactly its frozen bodies, and a second time nothing', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const rows = products(120)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', feed(rows))
  const plan = await engine.plan('shop')
  expect(plan).toMatchObject({ trigger: 'plan', status: 'succeeded', requests: 5, counts: { creates: 120, confirmed: 0, requests: 0 } })
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
  expect((await control.catalog()).digest).toBe(catalogDigest(rows.map(wanted)))

  const after = await engine.mark()
  expect(await engine.apply(plan.planId)).toMatchObject({ trigger: 'apply', status: 'succeeded', counts: { requests: 0 } })
  expect(await engine.writes(after)).toEqual([])
  expect(await control.violations()).toEqual([])
})

test('a plan whose ground moved is refused, and nothing of it is sent', async () => {
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

test.for([
  ['products', 'shop'],
  ['users', 'customers'],
] as const)('%s: a backfill adds and changes, and what it does not name stays', async ([, name]) => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.pipeline('customers', customersYaml)
  const rows = products(30)
  const people = customers(30, 41)
  engine.write('feed.xml', feed(rows))
  engine.write('crm.csv', crm(people))
  await engine.run(name)
  const more = [goodProduct(4, 8_888), ...products(2, 600)]
  const others = customers(3, 42, 700)
  engine.write('more.xml', feed(more))
  engine.write('more.csv', crm(others))
  const after = await engine.mark()
  const report = await engine.backfill(name, name === 'shop' ? 'more.xml' : 'more.csv')
  expect(report).toMatchObject({ trigger: 'backfill', status: 'succeeded', counts: { read: 3, deletes: 0, withheld: 0 } })
  const sent = await engine.writes(after)
  expect(sent.some(({ method }) => method === 'DELETE')).toBe(false)
  expect(sent.reduce((sum, { items }) => sum + items, 0)).toBe(3)
  if (name === 'shop')
    expect((await control.catalog()).digest).toBe(catalogDigest([...rows.filter(({ id }) => id !== 'SKU-4'), ...more].map(wanted)))
  else expect((await control.audience()).digest).toBe(audienceDigest(identifiersOf([...people, ...others])))
  // The pipeline's own source is the standard again, and the guard stands as before.
  expect(await engine.run(name)).toMatchObject({ status: 'succeeded' })
  if (name === 'shop') expect((await control.catalog()).digest).toBe(catalogDigest(rows.map(wanted)))
})

test('a backfill of fewer rows than the pipeline must have withholds nothing: it never deletes by absence', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('customers', `${customersYaml}guards: { min_rows: 20 }\n`)
  engine.write('crm.csv', crm(customers(30, 41)))
  await engine.run('customers')
  engine.write('more.csv', crm(customers(3, 42, 700)))
  expect(await engine.backfill('customers', 'more.csv')).toMatchObject({
    status: 'succeeded',
    guards: [],
    counts: { valid: 3, creates: 3, withheld: 0 },
  })
})

test('users packed into one operation are counted one by one', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('customers', customersYaml.replace('1nmth }', '1nmth, users_per_operation: 100 }'))
  engine.write('crm.csv', crm(customers(30, 41)))
  expect(await engine.run('customers')).toMatchObject({
    status: 'succeeded',
    counts: { valid: 30, unchanged: 0, creates: 30, confirmed: 30, requests: 1 },
  })
  expect(await engine.run('customers')).toMatchObject({
    status: 'succeeded',
    counts: { valid: 30, unchanged: 30, creates: 0, requests: 0 },
  })
})

test('rerun --failed sends only what the run left open; a rerun reads the whole source', async () => {
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
  expect((await control.catalog()).digest).toBe(catalogDigest(rows.map(wanted)))
  expect(await engine.rerun(first.runId)).toMatchObject({
    trigger: 'rerun',
    status: 'succeeded',
    counts: { read: 75, unchanged: 75, requests: 0 },
  })
})

test('--full sends everything again and changes nothing', async () => {
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
  expect((await control.catalog()).digest).toBe(catalogDigest(rows.map(wanted)))
  expect((await control.audience()).digest).toBe(audienceDigest(identifiersOf(people)))
  expect(await control.violations()).toEqual([])
})
