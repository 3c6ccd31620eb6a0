/** A stored plan becomes stale if a later read has other desired content: `apply` would send records that are missing by now. */
import { expect, test } from 'vitest'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { item, products, rss } from '../acceptance/products.ts'

const kinds = {
  optouts: {
    yaml: `source: { url: "{folder}/optouts.csv" }
map: { email: email, remove: { column: status, values: ["back"] } }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`,
    write: (engine: EngineUnderTest, here: boolean) =>
      engine.write('optouts.csv', `email,status\nann@example.com,${here ? 'out' : 'back'}\nzoe@example.com,out\n`),
  },
  people: {
    yaml: `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`,
    write: (engine: EngineUnderTest, here: boolean) =>
      engine.write('people.csv', `id,mail\n${here ? 'k1,ann@example.com\n' : ''}k2,bob@example.com\n`),
  },
  shop: {
    yaml: catalogYaml('feed.xml'),
    write: (engine: EngineUnderTest, here: boolean) => engine.write('feed.xml', rss(products(here ? 3 : 2).map((row) => item(row)))),
  },
  kept: {
    yaml: catalogYaml('feed.xml', ', missing: out-of-stock'),
    write: (engine: EngineUnderTest, here: boolean) => engine.write('feed.xml', rss(products(here ? 3 : 2).map((row) => item(row)))),
  },
} as const

async function setUp(name: keyof typeof kinds): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  engine.pipeline(name, kinds[name].yaml)
  kinds[name].write(engine, true)
  return engine
}

test.for(Object.keys(kinds) as (keyof typeof kinds)[])('%s: an addition that a later file removes is not sent', async (name) => {
  await using engine = await setUp(name)
  const { planId } = await engine.plan(name)
  kinds[name].write(engine, false)
  await engine.plan(name)
  expect(await engine.apply(planId)).toMatchObject({
    status: 'failed',
    error: {
      code: 'PLAN_STALE',
      message: `plan ${planId} is stale: a later read of the source changed the desired content. Nothing was sent.`,
    },
  })
  expect(await engine.writes()).toEqual([])
  expect(await engine.run(name)).toMatchObject({ status: 'succeeded' })
})

test('a run with nothing to send counts as a later read too', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('optouts', kinds.optouts.yaml)
  engine.write('optouts.csv', 'email,status\nann@example.com,out\n')
  const { planId } = await engine.plan('optouts')
  engine.write('optouts.csv', 'email,status\nann@example.com,back\n')
  expect((await engine.run('optouts')).counts).toMatchObject({ requests: 0 })
  expect(await engine.apply(planId)).toMatchObject({ error: { code: 'PLAN_STALE' } })
  expect(await engine.writes()).toEqual([])
})

test.for(Object.keys(kinds) as (keyof typeof kinds)[])(
  '%s: a later file with the same desired content keeps the plan valid',
  async (name) => {
    await using engine = await setUp(name)
    const { planId } = await engine.plan(name)
    kinds[name].write(engine, true)
    await engine.plan(name)
    expect(await engine.apply(planId)).toMatchObject({ status: 'succeeded', trigger: 'apply' })
  },
)

test('a later file whose deletes are withheld keeps the plan valid', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(60).map((row) => item(row))))
  await engine.run('shop')
  engine.write('feed.xml', rss(products(70).map((row) => item(row))))
  const { planId } = await engine.plan('shop')
  engine.write('feed.xml', rss(products(40, 30).map((row) => item(row))))
  expect(await engine.plan('shop')).toMatchObject({ status: 'withheld', counts: { withheld: 30 } })
  expect(await engine.apply(planId)).toMatchObject({ status: 'succeeded', counts: { creates: 10 } })
})

test('a product that is back in a rejected row is not deleted by an earlier plan', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const rows = products(3)
  engine.write('feed.xml', rss(rows.map((row) => item(row))))
  await engine.run('shop')
  const after = await engine.mark()
  engine.write('feed.xml', rss(rows.slice(0, 2).map((row) => item(row))))
  const { planId, counts } = await engine.plan('shop')
  expect(counts).toMatchObject({ deletes: 1 })
  const [first, second, third] = rows.map((row) => item(row))
  engine.write('feed.xml', rss([first ?? '', second ?? '', (third ?? '').replace(/<g:price>[^<]*/, '<g:price>none')]))
  expect(await engine.plan('shop')).toMatchObject({ counts: { rejected: 1, stale: 1, deletes: 0 } })
  expect(await engine.apply(planId)).toMatchObject({ error: { code: 'PLAN_STALE' } })
  expect(await engine.writes(after)).toEqual([])
})
