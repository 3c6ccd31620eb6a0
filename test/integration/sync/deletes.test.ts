/** Deletes that are not confirmed immediately: an approval survives a crash, and a product that was deleted elsewhere converges. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { audienceDigest, catalogDigest, email } from '../../support/digests.ts'
import { pausePipeline } from '../../../src/db/pauses.ts'
import type { PlanReport, RunReport } from '../../../src/model/report.ts'
import { catalogYaml, engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { interruptedRun } from '../../support/interrupted.ts'
import { item, products, rss, expectedProduct } from '../acceptance/products.ts'

const peopleYaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

/** A catalog or an audience with the records `from` to `to`, and their expected digest at the service. */
const kinds = {
  shop: {
    yaml: catalogYaml('feed.xml'),
    write: (engine: EngineUnderTest, some: readonly number[]) =>
      engine.write('feed.xml', rss(some.flatMap((n) => products(1, n)).map((row) => item(row)))),
    expectedProduct: (some: readonly number[]) => catalogDigest(some.flatMap((n) => products(1, n)).map(expectedProduct)),
    held: async (engine: EngineUnderTest) => (await engine.sandbox.control.catalog()).digest,
  },
  people: {
    yaml: peopleYaml,
    write: (engine: EngineUnderTest, some: readonly number[]) =>
      engine.write('people.csv', `id,mail\n${some.map((n) => `k${n},m${n}@example.com\n`).join('')}`),
    expectedProduct: (some: readonly number[]) => audienceDigest(some.map((n) => email(`m${n}@example.com`))),
    held: async (engine: EngineUnderTest) => (await engine.sandbox.control.audience()).digest,
  },
} as const

test.for([
  ['shop', 'planned'],
  ['shop', 'die'],
  ['people', 'planned'],
  ['people', 'stop'],
] as const)('%s: approved deletes that a crash (%s) cut short need no second approval', async ([name, how]) => {
  await using engine = await engineUnderTest()
  const { yaml, write, expectedProduct: expected, held } = kinds[name]
  engine.pipeline(name, yaml)
  write(engine, numbers(0, 60))
  await engine.run(name)
  write(engine, numbers(20, 60))
  expect(await engine.run(name)).toMatchObject({ status: 'withheld', counts: { withheld: 20 } })
  await interruptedRun(engine, name, how, { approveDeletes: 20 })
  const next = await engine.run(name)
  expect(next).toMatchObject({ status: 'succeeded', guards: [], counts: { withheld: 0 } })
  expect(imbalance(next.counts)).toEqual([])
  expect(await held(engine)).toBe(expected(numbers(20, 60)))
})

test.for(['shop', 'people'] as const)('%s: deletes beyond the approved ones need an approval of their own number', async (name) => {
  await using engine = await engineUnderTest()
  const { yaml, write, expectedProduct: expected, held } = kinds[name]
  engine.pipeline(name, yaml)
  write(engine, numbers(0, 60))
  await engine.run(name)
  write(engine, numbers(20, 60))
  await interruptedRun(engine, name, 'planned', { approveDeletes: 20 })
  write(engine, numbers(35, 60))
  const more = await engine.run(name)
  expect(more).toMatchObject({ status: 'withheld', counts: { deletes: 20, confirmed: 20, withheld: 15 } })
  expect(more.guards[0]).toMatchObject({ code: 'GUARD_DELETES', hint: `sluice run ${name} --approve-deletes 15`, withheld: 15 })
  expect(await held(engine)).toBe(expected(numbers(20, 60)))
  expect(await engine.run(name, { approveDeletes: 15 })).toMatchObject({ status: 'succeeded', counts: { deletes: 15 } })
  expect(await held(engine)).toBe(expected(numbers(35, 60)))
})

test('a planned delete of a product is not sent once its row is back, even if the row is rejected', async () => {
  await using engine = await engineUnderTest()
  const { yaml, write, expectedProduct: expected, held } = kinds.shop
  engine.pipeline('shop', yaml)
  write(engine, numbers(0, 5))
  await engine.run('shop')
  write(engine, numbers(1, 5))
  await interruptedRun(engine, 'shop', 'planned')
  const [first, ...others] = numbers(0, 5).flatMap((n) => products(1, n))
  engine.write('feed.xml', rss([item({ ...first, price: 'much' } as NonNullable<typeof first>), ...others.map((row) => item(row))]))
  const back = await engine.run('shop')
  expect(back).toMatchObject({ status: 'succeeded', counts: { deletes: 0, rejected: 1, stale: 1 } })
  expect(await held(engine)).toBe(expected(numbers(0, 5)))
  write(engine, numbers(0, 5))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { stale: 0, requests: 0 } })
})

test('a missing product keeps its record until its delete is confirmed, and no longer', async () => {
  await using engine = await engineUnderTest()
  const { yaml, write } = kinds.shop
  const missing = () => engine.db.query(`select status from record where status <> 'live'`)
  engine.pipeline('shop', yaml)
  write(engine, numbers(0, 5))
  await engine.run('shop')
  write(engine, numbers(1, 5))
  await interruptedRun(engine, 'shop', 'planned')
  expect(await missing()).toEqual([{ status: 'missing' }])
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { deletes: 1 } })
  expect(await missing()).toEqual([])
})

test('an approval does not cover later deletes: a record that came back and is missing again needs a new one', async () => {
  await using engine = await engineUnderTest()
  const { yaml, write } = kinds.shop
  engine.pipeline('shop', yaml)
  write(engine, numbers(0, 60))
  await engine.run('shop')
  write(engine, numbers(20, 60))
  await interruptedRun(engine, 'shop', 'planned', { approveDeletes: 20 })
  write(engine, numbers(0, 60))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { deletes: 0, withheld: 0 } })
  write(engine, numbers(20, 60))
  expect(await engine.run('shop')).toMatchObject({ status: 'withheld', counts: { withheld: 20 } })
})

test('an earlier approval does not override min_rows', async () => {
  await using engine = await engineUnderTest()
  const { write, expectedProduct: expected, held } = kinds.shop
  engine.pipeline('shop', `${catalogYaml('feed.xml')}guards: { min_rows: 30 }\n`)
  write(engine, numbers(0, 60))
  await engine.run('shop')
  write(engine, numbers(20, 60))
  await interruptedRun(engine, 'shop', 'planned', { approveDeletes: 20 })
  write(engine, numbers(50, 60))
  expect(await engine.run('shop')).toMatchObject({
    status: 'withheld',
    guards: [{ code: 'GUARD_MIN_ROWS' }],
    counts: { deletes: 0, withheld: 50 },
  })
  expect(await held(engine)).toBe(expected(numbers(0, 60)))
})

test.for(['shop', 'people'] as const)(
  '%s: deletes after a fall of the rows by half stay withheld in every run until they are approved',
  async (name) => {
    await using engine = await engineUnderTest()
    const { yaml, write, expectedProduct: expected, held } = kinds[name]
    engine.pipeline(name, `${yaml}guards: { max_delete_count: 1000 }\n`)
    write(engine, numbers(0, 60))
    await engine.run(name)
    write(engine, numbers(0, 20))
    await engine.plan(name)
    for (let i = 0; i < 3; i++)
      expect(await engine.run(name)).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_ROWS_FELL' }], counts: { withheld: 40 } })
    // One more row does not approve them either.
    write(engine, numbers(0, 21))
    expect(await engine.run(name)).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_ROWS_FELL' }], counts: { withheld: 39 } })
    expect(await held(engine)).toBe(expected(numbers(0, 60)))
    expect(await engine.run(name, { approveDeletes: 39 })).toMatchObject({ status: 'succeeded', counts: { deletes: 39 } })
    expect(await engine.run(name)).toMatchObject({ status: 'succeeded', counts: { requests: 0 } })
    write(engine, numbers(0, 15))
    expect(await engine.run(name)).toMatchObject({ status: 'succeeded', counts: { deletes: 6 } })
  },
)

test.for(['failed', 'not_found'])('C2, C3 and C4: a product that another writer deleted converges (unknown key: %s)', async (unknown) => {
  await using engine = await engineUnderTest()
  const { control, call } = engine.sandbox
  await control.switches({ delete_unknown_key: unknown })
  engine.pipeline('shop', catalogYaml('feed.xml'))
  kinds.shop.write(engine, numbers(0, 12))
  await engine.run('shop')
  const gone = (await control.products()).filter(({ id }) => id === 'SKU-0' || id === 'SKU-1').map(({ product_key: key }) => key)
  await call('DELETE', '/12/product_catalogs/4001/products', { json: { product_keys: gone } })
  kinds.shop.write(engine, numbers(3, 12))
  expect(await engine.run('shop')).toMatchObject({ status: 'partial', counts: { deletes: 3, confirmed: 1, refused: 2 } })
  // The products are put once more, and the answers have the current keys. Their deletes are still outstanding, and the run reports that.
  const repeated = await engine.run('shop')
  expect(repeated).toMatchObject({ status: 'partial', counts: { unchanged: 9, updates: 2, deferred: 2, confirmed: 2, refused: 0 } })
  expect(imbalance(repeated.counts)).toEqual([])
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { deletes: 2, confirmed: 2, deferred: 0 } })
  expect((await control.catalog()).digest).toBe(catalogDigest(products(9, 3).map(expectedProduct)))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { unchanged: 9, requests: 0 } })
  expect(await engine.db.query(`select from sluice.record where status <> 'live'`)).toEqual([])
})

test('a refused delete is sent again after the put that follows it was refused too', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('shop', catalogYaml('feed.xml'))
  kinds.shop.write(engine, numbers(0, 12))
  await engine.run('shop')
  const key = (await control.products()).find(({ id }) => id === 'SKU-0')?.product_key
  const failed = { product_key: null, failed_product_key: key, message: 'try later' }
  await control.fault({ path: '/products', nth: 1 }, { kind: 'status', status: 200, body: { data: { delete_products: [failed] } } })
  kinds.shop.write(engine, numbers(1, 12))
  expect(await engine.run('shop')).toMatchObject({ status: 'partial', counts: { deletes: 1, refused: 1 } })
  await control.clearFaults()
  await control.fault({ path: '/12/product_catalogs/' }, { kind: 'product_error', ids: ['SKU-0'], message: 'no' }, 'always')
  expect(await engine.run('shop')).toMatchObject({ status: 'partial', counts: { updates: 1, deletes: 0, refused: 1 } })
  const last = await engine.run('shop')
  expect(last).toMatchObject({ status: 'succeeded', counts: { updates: 0, deletes: 1, confirmed: 1 } })
  expect(imbalance(last.counts)).toEqual([])
  expect((await control.catalog()).digest).toBe(catalogDigest(products(11, 1).map(expectedProduct)))
})

test('an approved delete of a product without a known product_key needs no second approval after the put that gets the key', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('shop', `${catalogYaml('feed.xml')}guards: { max_delete_count: 0, max_delete_percent: 0 }\n`)
  await control.fault({ path: '/products', nth: 1 }, { kind: 'null_key' })
  kinds.shop.write(engine, numbers(0, 12))
  await engine.run('shop')
  kinds.shop.write(engine, numbers(1, 12))
  expect(await engine.run('shop')).toMatchObject({ status: 'withheld', counts: { withheld: 1 } })
  const approved = await engine.run('shop', { approveDeletes: 1 })
  expect(approved).toMatchObject({ status: 'partial', guards: [], counts: { updates: 1, deletes: 0, deferred: 1 } })
  // A product that is missing since then is not approved.
  kinds.shop.write(engine, numbers(2, 12))
  const next = await engine.run('shop')
  expect(next).toMatchObject({ status: 'withheld', counts: { deletes: 1, confirmed: 1, withheld: 1 } })
  expect(imbalance(next.counts)).toEqual([])
  expect((await control.catalog()).digest).toBe(catalogDigest(products(11, 1).map(expectedProduct)))
})

test('a put of a product that is still desired does not approve its later delete', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', `${catalogYaml('feed.xml')}guards: { max_delete_count: 0, max_delete_percent: 0 }\n`)
  kinds.shop.write(engine, numbers(0, 12))
  await engine.run('shop')
  await engine.run('shop', { full: true })
  kinds.shop.write(engine, numbers(1, 12))
  expect(await engine.run('shop')).toMatchObject({ status: 'withheld', counts: { withheld: 1 } })
  // A full refresh also sends the product of the withheld delete.
  expect(await engine.run('shop', { full: true })).toMatchObject({ status: 'withheld', counts: { updates: 12, withheld: 1 } })
  expect(await engine.run('shop')).toMatchObject({ status: 'withheld', counts: { deletes: 0, withheld: 1 } })
})

test.for(['shop', 'people'] as const)('%s: a missing record that was never sent is not sent while deletes are withheld', async (name) => {
  await using engine = await engineUnderTest()
  const { yaml, write, expectedProduct: expected, held } = kinds[name]
  engine.pipeline(name, yaml)
  write(engine, numbers(0, 40))
  await engine.run(name)
  // No request of the new records is sent.
  write(engine, numbers(0, 60))
  await interruptedRun(engine, name, 'planned', {})
  const before = await engine.plan(name)
  expect(before.counts).toMatchObject({ creates: 20 })
  write(engine, numbers(0, 20))
  for (let times = 0; times < 2; times++) {
    const after = await engine.mark()
    expect(await engine.run(name)).toMatchObject({ status: 'withheld', counts: { creates: 0, withheld: 20 } })
    expect(await engine.writes(after)).toEqual([])
  }
  expect(await engine.apply(before.planId)).toMatchObject({ error: { code: 'PLAN_STALE' } })
  // The records may return.
  write(engine, numbers(0, 60))
  expect(await engine.run(name)).toMatchObject({ status: 'succeeded', counts: { creates: 20, deletes: 0 } })
  expect(await held(engine)).toBe(expected(numbers(0, 60)))
})

test.for(['shop', 'people'] as const)('%s: a missing record that may have been sent is kept while deletes are withheld', async (name) => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const { yaml, write, expectedProduct: expected, held } = kinds[name]
  engine.pipeline(name, yaml)
  write(engine, numbers(0, 40))
  await engine.run(name)
  write(engine, numbers(0, 60))
  await control.fault({ path: '/12/' }, { kind: 'commit_then_reset' }, 'always')
  expect((await engine.run(name)).counts).toMatchObject({ creates: 20, ambiguous: 20 })
  await control.clearFaults()
  write(engine, numbers(0, 20))
  expect(await engine.run(name)).toMatchObject({ status: 'withheld' })
  expect(await engine.run(name, { approveDeletes: 40 })).toMatchObject({ status: 'succeeded', counts: { deletes: 40 } })
  expect(await held(engine)).toBe(expected(numbers(0, 20)))
})

test('a run after that of another pipeline on the same destination has a note, which guards.hold turns into a stop', async () => {
  await using engine = await engineUnderTest()
  const { yaml, write } = kinds.people
  // Two folders of pipelines: a folder may have only one pipeline of a destination.
  const run = async (name: string, more = '') => {
    rmSync(join(engine.folder, 'pipelines'), { recursive: true })
    mkdirSync(join(engine.folder, 'pipelines'))
    engine.pipeline(name, `${yaml.replace('people.csv', `${name}.csv`)}${more}`)
    const { runId, guards, warnings = [] } = await engine.run(name)
    const notes = warnings.filter(({ code }) => code === 'OTHER_PIPELINE').map(({ message }) => message)
    return { runId, notes, guards: guards.map(({ code }) => code) }
  }
  engine.write('visitors.csv', 'id,mail\nv1,v1@example.com\nv2,v2@example.com\n')
  write(engine, numbers(0, 3))
  expect(await run('people')).toMatchObject({ notes: [] })
  write(engine, numbers(0, 4))
  const { runId, notes } = await run('people')
  expect(notes).toEqual([])
  expect((await run('visitors')).notes).toEqual([
    `the pipeline people wrote to the same destination before (${runId}): unless it was renamed, each deletes what the other sends`,
  ])
  expect(await run('people', 'guards: { hold: [OTHER_PIPELINE] }\n')).toMatchObject({ guards: ['GUARD_OTHER_PIPELINE'] })
})

test('a pipeline that wrote to another destination before has a note, and is withheld if it was paused there', async () => {
  await using engine = await engineUnderTest()
  const made = await engine.sandbox.call('POST', '/12/accounts/18ce54d4x5t/custom_audiences', { query: { name: 'visitors' } })
  const { yaml, write } = kinds.people
  write(engine, numbers(0, 3))
  engine.pipeline('people', yaml)
  const { runId, warnings = [] } = await engine.run('people')
  const codes = ['DESTINATION_CHANGED', 'PAUSE_ELSEWHERE']
  expect(warnings.filter(({ code }) => codes.includes(code))).toEqual([])
  await pausePipeline(engine.db, { destinationId: 1, pipeline: 'people', actor: 'ops' })

  const moved = yaml.replace('1nmth', made.body.data.id)
  engine.pipeline('people', moved)
  const notes = async (run: Promise<RunReport | PlanReport>) => {
    const report = await run
    return [report.status, ...(report.warnings ?? []).filter(({ code }) => codes.includes(code)).map(({ message }) => message)]
  }
  const changed = `people wrote to the audience 1nmth before (${runId}): unless another pipeline writes to it, its people stay there, and no run updates or removes them`
  const paused = 'people was paused by ops when it wrote to the audience 1nmth, and is not paused for its present destination'
  for (const run of [() => engine.plan('people'), () => engine.run('people'), () => engine.run('people')])
    expect(await notes(run())).toEqual(['withheld', changed, paused])
  expect((await engine.sandbox.control.audience(made.body.data.id)).members).toBe(0)
  engine.pipeline('people', `${moved}guards: { accept: [PAUSE_ELSEWHERE] }\n`)
  expect(await notes(engine.plan('people'))).toEqual(['succeeded', changed, paused])
  expect(await notes(engine.run('people'))).toEqual(['succeeded', changed, paused])
  // Later runs are no news.
  expect(await notes(engine.run('people'))).toEqual(['succeeded'])
})

test.for([0, 60])(
  'rows that fall by more than half in small steps are noted, and withheld with guards.hold (%i opted out)',
  async (optedOut) => {
    await using engine = await engineUnderTest()
    const rows = (count: number, ok: string) => Array.from({ length: count }, (_, i) => `${ok}${i},${ok}${i}@example.com,${ok}\n`).join('')
    const write = (count: number) => engine.write('people.csv', `id,mail,ok\n${rows(count, 'yes')}${rows(optedOut, 'no')}`)
    const pipeline = (more: string) =>
      engine.pipeline(
        'people',
        `source: { url: "{folder}/people.csv" }\nmap: { key: id, email: mail }\nconsent: { column: ok, values: ["yes"] }\n${more}destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n`,
      )
    const codes: (string | undefined)[] = []
    const run = async (count: number, approveDeletes?: number) => {
      write(count)
      const report = await engine.run('people', approveDeletes === undefined ? {} : { approveDeletes })
      codes.push(report.warnings?.find(({ code }) => code === 'ROWS_ERODED')?.message)
      return report
    }
    pipeline('')
    for (const count of [60, 50, 40, 30, 29]) expect(await run(count)).toMatchObject({ status: 'succeeded' })
    expect(codes).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      'valid rows fell from 60 to 29 within a day, in steps within the limits of the guards',
    ])
    pipeline('guards: { hold: [ROWS_ERODED] }\n')
    expect(await run(28)).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_ROWS_ERODED' }], counts: { deletes: 0 } })
    // An approval accepts the rows of its run.
    pipeline('')
    await run(15, 20)
    expect((await run(14)).warnings).toEqual([])
  },
)

test('a product is kept while more rows than before have no readable id: its row may be one of them', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.csv'))
  const write = (ids: readonly string[]) =>
    engine.write(
      'feed.csv',
      `id,title,description,availability,condition,price,link,image_link,brand
${ids.map((id) => `${id},Cup,A cup,in stock,new,9.50 EUR,https://shop.example.com/cup,https://shop.example.com/cup.png,Acme\n`).join('')}`,
    )
  const live = async () => (await engine.sandbox.control.products()).map(({ id }) => id).sort()
  // A row that never had an id withholds nothing.
  write(['A', 'B', 'C', 'D', ''])
  await engine.run('shop')
  write(['A', 'B', 'C', ''])
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', guards: [], counts: { deletes: 1 } })
  write(['A', 'B', '#N/A', ''])
  const lost = await engine.run('shop')
  expect(lost).toMatchObject({ status: 'withheld', counts: { deletes: 0, withheld: 1 } })
  expect(lost.guards).toMatchObject([
    {
      code: 'GUARD_IDS_LOST',
      message: '2 rows without a readable id, last time 1: the products that would be deleted may be theirs',
      hint: 'sluice run shop --approve-deletes 1',
    },
  ])
  // Nor does the same file delete the product later.
  expect(await engine.run('shop')).toMatchObject({ status: 'withheld', counts: { withheld: 1 } })
  expect(await live()).toEqual(['A', 'B', 'C'])
  write(['A', 'B', 'C', ''])
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', guards: [] })
  write(['A', 'B', '', ''])
  expect(await engine.run('shop', { approveDeletes: 1 })).toMatchObject({ status: 'succeeded', counts: { deletes: 1 } })
  expect(await live()).toEqual(['A', 'B'])
  // The approved read is the one that the next is compared with.
  write(['A', 'E', '', ''])
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', guards: [], counts: { creates: 1, deletes: 1 } })
})
