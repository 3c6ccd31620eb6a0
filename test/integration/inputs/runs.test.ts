/** Outcomes that need a whole run: withheld runs, repeated and contradicting rows, suppression, deletes under the guard. */
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { Pipeline } from '../../../src/model/pipeline.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { loadRejects } from '../../../src/sync/reports/history.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { encodeAs } from '../../support/encodeAs.ts'
import { audienceDigest, email } from '../../support/digests.ts'
import { csvOf, goodProduct, itemOf, manyProducts, rssOf, type Fields } from '../../support/through.ts'
import { catalogYaml, engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'

const people = (count: number, change: (index: number) => Fields = () => ({})) =>
  Array.from({ length: count }, (_, i): Fields => ({ id: `C-${i}`, email: `p${i}@example.com`, ...change(i) }))
const audienceYaml = (file: string, more = '') =>
  `source: { url: "{folder}/${file}" }\nmap: { key: id, email: email }\n${more}destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n`
const listYaml = (file: string) =>
  `source: { url: "{folder}/${file}" }\nmap: { email: email, remove: { column: status, values: ["resubscribed"] } }\ndestination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\n`

async function shop(engine: EngineUnderTest, rows: readonly Fields[] | string, more = '') {
  engine.pipeline('shop', catalogYaml('feed.csv') + more)
  engine.write('feed.csv', typeof rows === 'string' ? rows : csvOf(rows))
  const report = await engine.run('shop')
  expect(imbalance(report.counts)).toEqual([])
  return report
}

async function crm(engine: EngineUnderTest, rows: readonly Fields[], more = '') {
  engine.pipeline('crm', audienceYaml('crm.csv', more))
  engine.write('crm.csv', csvOf(rows))
  const report = await engine.run('crm')
  expect(imbalance(report.counts)).toEqual([])
  return report
}

const guardsOf = (report: { readonly guards: readonly { readonly code: string }[] }) => report.guards.map(({ code }) => code)

test('case 1: an empty file fails the run and deletes nothing', async () => {
  await using engine = await engineUnderTest()
  await shop(engine, manyProducts(30))
  const report = await shop(engine, '')
  expect([report.status, report.error?.code, (await engine.sandbox.control.catalog()).products]).toEqual(['failed', 'FILE_EMPTY', 30])
})

test('cases 2 and 207: a header alone deletes nothing', async () => {
  await using engine = await engineUnderTest()
  await shop(engine, manyProducts(30))
  const report = await shop(engine, `${Object.keys(goodProduct).join(',')}\n`)
  expect([report.status, guardsOf(report), (await engine.sandbox.control.catalog()).products]).toEqual(['withheld', ['GUARD_MIN_ROWS'], 30])
})

test('case 173: a valid feed without items deletes nothing', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rssOf(manyProducts(5).map((product) => itemOf(product))))
  await engine.run('shop')
  engine.write('feed.xml', rssOf([]))
  const report = await engine.run('shop')
  expect([report.status, guardsOf(report), (await engine.sandbox.control.catalog()).products]).toEqual(['withheld', ['GUARD_MIN_ROWS'], 5])
})

test('case 19: a product whose row has a misplaced quote stays as it was', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.csv'))
  const rows = manyProducts(6)
  engine.write('feed.csv', csvOf(rows))
  await engine.run('shop')
  engine.write(
    'feed.csv',
    csvOf(rows.map((row, i) => (i > 1 ? row : { ...row, title: i === 1 ? '5# nail' : '#5# nail' }))).replaceAll('#', '"'),
  )
  expect(await engine.run('shop')).toMatchObject({ counts: { read: 6, rejected: 2, stale: 2, deletes: 0 } })
})

test('case 19: a setting that changes what a row becomes reads the same bytes again', async () => {
  await using engine = await engineUnderTest()
  const yaml = (csv: string) => `source: { url: "{folder}/feed.csv"${csv} }\ndestination: { kind: catalog, catalog_id: "4001" }\n`
  engine.write('feed.csv', csvOf([goodProduct, { ...goodProduct, id: '2', title: '5# nail' }]).replace('5#', '5"'))
  engine.pipeline('shop', yaml(''))
  expect(await engine.run('shop')).toMatchObject({ counts: { read: 2, rejected: 1, confirmed: 1 }, rejectCodes: [{ code: 'ROW_QUOTE' }] })
  engine.pipeline('shop', yaml(', csv: { relaxed_quotes: true }'))
  expect(await engine.run('shop')).toMatchObject({
    counts: { read: 2, rejected: 0, confirmed: 1 },
    warnings: [{ code: 'QUOTE_KEPT', field: 'title', count: 1 }],
  })
})

test('cases 44 and 146: rows that a setting repairs are known by their bytes in the next run, and keep their products without the setting', async () => {
  await using engine = await engineUnderTest()
  const yaml = (xml: string) => `source: { url: "{folder}/feed.xml"${xml} }\ndestination: { kind: catalog, catalog_id: "4001" }\n`
  const feed = (title: string) =>
    rssOf([
      itemOf(goodProduct).replace('/p/1', '/p/1?a=1&b=2').replace('Red shoe', 'Red&nbsp;shoe'),
      itemOf({ ...goodProduct, id: '2', title }),
    ])
  engine.pipeline('shop', yaml(', xml: { html_entities: true, mend_ampersands: true }'))
  engine.write('feed.xml', feed('Blue shoe'))
  expect(await engine.run('shop')).toMatchObject({
    status: 'succeeded',
    counts: { read: 2, confirmed: 2 },
    warnings: [{ code: 'AMPERSAND_MENDED' }, { code: 'ENTITY_HTML' }],
  })
  engine.write('feed.xml', feed('Green shoe'))
  expect(await engine.run('shop')).toMatchObject({
    status: 'succeeded',
    counts: { read: 2, updates: 1, deletes: 0, confirmed: 1 },
    // The first run and its report are unchanged.
    warnings: [{ code: 'AMPERSAND_MENDED' }, { code: 'ENTITY_HTML' }],
  })
  engine.pipeline('shop', yaml(''))
  const report = await engine.run('shop')
  expect([report.status, report.error?.code, (await engine.sandbox.control.catalog()).products]).toEqual(['failed', 'FILE_MALFORMED', 2])
})

test('case 57: an id twice with the same content is one record', async () => {
  await using engine = await engineUnderTest()
  const report = await shop(engine, [goodProduct, goodProduct])
  expect(report).toMatchObject({ status: 'succeeded', counts: { read: 2, duplicates: 1, valid: 1, confirmed: 1 } })
})

test('case 58: an id twice with other content rejects every instance', async () => {
  await using engine = await engineUnderTest()
  const report = await shop(engine, [...manyProducts(3), goodProduct, { ...goodProduct, price: '1.00 USD' }])
  expect(report).toMatchObject({ counts: { read: 5, rejected: 2, valid: 3 }, rejectCodes: [{ code: 'DUPLICATE_CONFLICT', count: 2 }] })
})

test.for([
  [['a.csv', 'b.csv'], 'line 2 of a.csv, line 2 of b.csv'],
  [['x/a.csv', 'y/a.csv'], 'line 2 of a.csv (source 1), line 2 of a.csv (source 2)'],
] as const)('case 58: an id in several sources is rejected with their names: %j', async ([files, places]) => {
  await using engine = await engineUnderTest()
  for (const [i, file] of files.entries()) {
    mkdirSync(dirname(join(engine.folder, file)), { recursive: true })
    engine.write(file, csvOf([{ ...goodProduct, title: `Shoe ${i}` }]))
  }
  const sources = files.map((file) => `{ url: "{folder}/${file}" }`).join(', ')
  engine.pipeline('shop', `source: [${sources}]\nguards: { max_reject_percent: 100 }\ndestination: { kind: catalog, catalog_id: "4001" }\n`)
  const { runId } = await engine.run('shop')
  const messages = (await Array.fromAsync(loadRejects(engine.db, runId))).map(({ message }) => message)
  const message = `the same id is in ${places} with different content`
  expect(messages).toEqual([message, message])
})

test('case 58: with `duplicates: last` the last row is used each day, and the others count as duplicates', async () => {
  await using engine = await engineUnderTest()
  const last = 'duplicates: last\n'
  const row = (id: string, title: string) => ({ ...goodProduct, id, title })
  const titles = async () =>
    (
      await engine.db.query<{ title: string }>(
        `select body::json ->> 'title' as title from sluice.record where status = 'live' order by key`,
      )
    ).map(({ title }) => title)
  const one = await shop(engine, [row('A', 'first'), row('B', 'only'), row('A', 'second'), { ...row('A', 'broken'), price: 'dear' }], last)
  expect([one.counts, await titles()]).toMatchObject([{ read: 4, rejected: 1, duplicates: 1, valid: 2, creates: 2 }, ['second', 'only']])
  // The same rows in another order give other warnings.
  const two = await shop(engine, [row('A', 'second'), row('B', 'only'), row('A', 'first')], last)
  expect([two.counts, await titles()]).toMatchObject([{ read: 3, duplicates: 1, valid: 2, updates: 1, deletes: 0 }, ['first', 'only']])
  const three = await shop(engine, [row('B', 'only'), row('A', 'second')], last)
  expect([three.counts, await titles()]).toMatchObject([{ read: 2, duplicates: 0, valid: 2, updates: 1, deletes: 0 }, ['second', 'only']])
  const four = await shop(engine, [row('A', 'first'), row('B', 'only'), row('A', 'second'), row('C', 'new'), row('D', 'new')], '')
  expect([four.counts, four.rejectCodes]).toMatchObject([
    { read: 5, rejected: 2, duplicates: 0, valid: 3, creates: 2, deletes: 0, stale: 1 },
    [{ code: 'DUPLICATE_CONFLICT', count: 2 }],
  ])
})

test('case 58: with `duplicates: last` the last row of a feed on one line, and of several sources, is used', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'shop',
    `source: [{ url: "{folder}/a.xml" }, { url: "{folder}/b.csv" }]\ndestination: { kind: catalog, catalog_id: "4001" }\nduplicates: last\n`,
  )
  const titled = (id: string, title: string) => ({ ...goodProduct, id, title })
  const items = Array.from({ length: 12 }, (_, i) => itemOf(titled(`P${i % 3}`, `title ${i}`)))
  engine.write('a.xml', rssOf(items).replaceAll('\n', ''))
  engine.write('b.csv', csvOf([titled('P1', 'from the second source')]))
  const plan = await engine.plan('shop')
  expect(plan.counts).toMatchObject({ read: 13, duplicates: 10, valid: 3, creates: 3 })
  await engine.apply(plan.planId)
  const bodies = await engine.db.query<{ title: string }>(`select body::json ->> 'title' as title from sluice.record order by key`)
  expect(bodies.map(({ title }) => title)).toEqual(['title 9', 'from the second source', 'title 11'])
})

test('case 58: of the records of one line the last one is used, despite an opt-out of an earlier one', async () => {
  await using engine = await engineUnderTest()
  const last = 'consent: { column: ok, values: ["yes"] }\n'
  const yaml = `source: { url: "{folder}/people.json" }
map: { key: id, email: email, phone_number: phone }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`
  const rows = [
    { id: '1', email: 'former@example.com', phone: '+12025550143', ok: 'yes' },
    { id: '1', email: 'present@example.com', ok: 'yes' },
    { id: '2', phone: '+12025550143', ok: 'no' },
    { id: '3', email: 'other@example.com', ok: 'yes' },
  ]
  engine.write('people.json', JSON.stringify(rows))
  engine.pipeline('people', `${yaml}${last}duplicates: last\n`)
  expect((await engine.run('people')).counts).toMatchObject({ read: 4, duplicates: 1, suppressed: 1, valid: 2 })
  const sent = [email('present@example.com'), email('other@example.com')]
  expect((await engine.sandbox.control.audience()).digest).toBe(audienceDigest(sent))
  engine.pipeline('people', `${yaml}${last}`)
  const { runId } = await engine.run('people')
  const messages = await engine.db.query('select distinct message from reject where run_id = $1', [runId.slice(2)])
  expect(messages).toEqual([{ message: 'the same key is in 2 records of line 1 with different content' }])
})

test('case 58: of the records of one line the last one is used, also in a long feed', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest()
  // Records of unequal length leave gaps in the pages of the staging table, which Postgres fills with later records.
  const records = Array.from({ length: 3_000 }, (_, i) => ({
    ...goodProduct,
    id: i % 2 === 0 ? `long-${i}` : `P-${(i * 7) % 501}`,
    title: `title ${i}`,
    description: 'x'.repeat(i % 2 === 0 ? 200 + ((i * 379) % 1_300) : 1 + ((i * 17) % 190)),
  }))
  const lastTitles = new Map(records.map(({ id, title }) => [id, title]))
  engine.write('feed.json', JSON.stringify(records))
  engine.pipeline('shop', `${catalogYaml('feed.json')}duplicates: last\n`)
  await engine.run('shop')
  const sent = await engine.db.query<{ id: string; title: string }>(
    `select body::json ->> 'id' as id, body::json ->> 'title' as title from sluice.record`,
  )
  expect(sent).toHaveLength(lastTitles.size)
  expect(sent.filter(({ id, title }) => lastTitles.get(id) !== title)).toEqual([])
})

test('case 129: a row that opts out is used although another one is last', async () => {
  await using engine = await engineUnderTest()
  const rows = [
    { id: 'C-1', email: 'a@example.org', ok: 'no' },
    { id: 'C-1', email: 'a@example.org', ok: 'yes' },
  ]
  const report = await crm(engine, rows, 'consent: { column: ok, values: ["yes"] }\nduplicates: last\n')
  expect(report.counts).toMatchObject({ read: 2, suppressed: 2, valid: 0, creates: 0 })
})

test('case 168: one id twice among many rejects both rows, and the others are sent', async () => {
  await using engine = await engineUnderTest()
  const report = await shop(
    engine,
    manyProducts(1255, (i) => (i === 700 ? { id: 'P-3', title: 'Other' } : {})),
  )
  expect(report).toMatchObject({ status: 'succeeded', counts: { read: 1255, rejected: 2, valid: 1253, confirmed: 1253 } })
})

test('case 59: ids that differ by case are both sent, never in one request', async () => {
  await using engine = await engineUnderTest()
  const report = await shop(engine, [
    { ...goodProduct, id: 'SKU1' },
    { ...goodProduct, id: 'sku1' },
  ])
  expect(report).toMatchObject({ status: 'succeeded', counts: { valid: 2, confirmed: 2, requests: 2 } })
  expect(await engine.sandbox.control.violations()).toEqual([])
})

test('case 84: links to other hosts withhold the run if guards.hold says so', async () => {
  await using engine = await engineUnderTest()
  const rules = 'options: { link_hosts: [shop.example.com] }\n'
  const rows = [goodProduct, { ...goodProduct, id: '2', link: 'https://other.example.com/' }]
  expect(await shop(engine, rows, `${rules}guards: { hold: [LINK_HOST_OTHER] }\n`)).toMatchObject({
    status: 'withheld',
    counts: { confirmed: 0 },
  })
  expect((await shop(engine, rows, rules)).status).toBe('succeeded')
})

test('case 91: more than a tenth of the products going out of stock withholds the run until it is accepted', async () => {
  await using engine = await engineUnderTest()
  await shop(engine, manyProducts(100))
  const gone = (count: number) => manyProducts(100, (i) => (i < count ? { availability: 'out of stock' } : {}))
  expect(await shop(engine, gone(11))).toMatchObject({
    status: 'withheld',
    guards: [{ code: 'GUARD_OUT_OF_STOCK_ROSE' }],
    counts: { confirmed: 0 },
  })
  expect(await shop(engine, gone(10))).toMatchObject({ status: 'succeeded', counts: { updates: 10, confirmed: 10 } })
  expect(await shop(engine, gone(40), 'guards: { accept: [OUT_OF_STOCK_ROSE] }\n')).toMatchObject({
    status: 'succeeded',
    counts: { updates: 30, confirmed: 30 },
  })
})

test('case 186: a run in which the whole shop goes out of stock is withheld', async () => {
  await using engine = await engineUnderTest()
  await shop(engine, manyProducts(120))
  expect(
    guardsOf(
      await shop(
        engine,
        manyProducts(120, () => ({ availability: 'out of stock' })),
      ),
    ),
  ).toEqual(['GUARD_OUT_OF_STOCK_ROSE'])
})

test('changed prices and missing columns are reported, and withhold the run only if guards.hold says so', async () => {
  await using engine = await engineUnderTest()
  await shop(
    engine,
    manyProducts(120, () => ({ color: 'red' })),
  )
  const next = manyProducts(120, (i) => (i < 2 ? { price: '99.00 USD' } : {}))
  const held = await shop(engine, next, 'guards: { hold: [PRICE_MOVED] }\n')
  expect(held).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_PRICE_MOVED' }] })
  const report = await shop(engine, next)
  expect(report.status).toBe('succeeded')
  expect(report.warnings?.find(({ code }) => code === 'PRICE_MOVED')?.message).toContain('12.99 to 99.00')
  expect(report.warnings?.map(({ code, field }) => `${code} ${field}`)).toContain('COLUMN_VANISHED color')
})

test.for([
  ['become zero', '0.00 USD'],
  ['lose their decimal point', '1299 USD'],
  ['change only their currency', '12.99 EUR'],
])('a run in which many prices %s is withheld', { tags: ['long'] }, async ([, price]) => {
  await using engine = await engineUnderTest()
  await shop(engine, manyProducts(120))
  const changed = (count: number) => manyProducts(120, (i) => (i < count ? { price } : {}))
  const after = await engine.mark()
  const held = await shop(engine, changed(13))
  expect(guardsOf(held)).toEqual(['GUARD_PRICES_DOUBTFUL'])
  expect(held.guards[0]?.message).toMatch(/^13 of 120 prices became zero, .*: \S+: 12\.99 USD to /)
  expect(await engine.writes(after)).toEqual([])
  expect(await shop(engine, changed(12))).toMatchObject({ status: 'succeeded', counts: { updates: 12 } })
  expect(await shop(engine, changed(60), 'guards: { accept: [PRICES_DOUBTFUL] }\n')).toMatchObject({
    status: 'succeeded',
    counts: { updates: 48 },
  })
})

test('products that return count among those of which the percentage of doubtful prices is taken', async () => {
  await using engine = await engineUnderTest()
  const returning = (price: string) => manyProducts(120, (i) => (i < 60 ? { price } : {}))
  const kept = async (rows: readonly Fields[]) => {
    engine.pipeline('shop', catalogYaml('feed.csv', ', missing: keep'))
    engine.write('feed.csv', csvOf(rows))
    return engine.run('shop')
  }
  await kept(manyProducts(120))
  await kept(manyProducts(120).slice(60))
  const held = await kept(returning('0.00 USD'))
  expect(guardsOf(held)).toEqual(['GUARD_PRICES_DOUBTFUL'])
  expect(held.guards[0]?.message).toMatch(/^60 of 120 prices became zero/)
  expect(await kept(returning('12.99 USD'))).toMatchObject({ status: 'succeeded', guards: [] })
})

test('a withheld run also has the notes that withhold nothing', async () => {
  await using engine = await engineUnderTest()
  await shop(engine, manyProducts(120))
  const held = await shop(
    engine,
    manyProducts(120, () => ({ price: '0.00 USD' })),
  )
  expect(guardsOf(held)).toEqual(['GUARD_PRICES_DOUBTFUL'])
  expect(held.warnings?.map(({ code }) => code)).toEqual(expect.arrayContaining(['MOST_CHANGED', 'PRICE_MOVED']))
})

test('a run in which all prices change by other factors is not withheld', async () => {
  await using engine = await engineUnderTest()
  await shop(engine, manyProducts(120))
  const twice = manyProducts(120, () => ({ price: '25.98 EUR' }))
  expect((await shop(engine, twice)).status).toBe('succeeded')
})

test.for([
  [
    'lead to another host',
    (i: number) => `https://staging.example/${i}`,
    /^61 of 120 links moved to another host: \S+: shop\.example\S* to staging\.example/,
  ],
  ['become one and the same', () => 'https://shop.example.com/', /^61 of 120 links became one and the same/],
] as const)('a run in which most links %s is withheld', async ([, link, message]) => {
  await using engine = await engineUnderTest()
  await shop(engine, manyProducts(120))
  const changed = (count: number) => manyProducts(120, (i) => (i < count ? { link: link(i) } : {}))
  const after = await engine.mark()
  const held = await shop(engine, changed(61))
  expect(guardsOf(held)).toEqual(['GUARD_LINKS_DOUBTFUL'])
  expect(held.guards[0]?.message).toMatch(message)
  expect(await engine.writes(after)).toEqual([])
  expect(await shop(engine, changed(60))).toMatchObject({ status: 'succeeded', counts: { updates: 60 } })
  expect(await shop(engine, changed(120), 'guards: { accept: [LINKS_DOUBTFUL] }\n')).toMatchObject({
    status: 'succeeded',
    counts: { updates: 60 },
  })
})

test('links that change their path, or move to a host that other products had, withhold nothing', async () => {
  await using engine = await engineUnderTest()
  const host = (i: number, other: boolean) => (other === i < 20 ? 'shop.example.com' : 'other.example.com')
  const products = (other: boolean, path: string) => manyProducts(120, (i) => ({ link: `https://${host(i, other)}/${path}/${i}` }))
  await shop(engine, products(false, 'a'))
  expect((await shop(engine, products(false, 'b'))).status).toBe('succeeded')
  expect((await shop(engine, products(true, 'b'))).status).toBe('succeeded')
})

test('a fill rate that fell is reported', async () => {
  await using engine = await engineUnderTest()
  const phones = (given: number) => people(300, (i) => ({ phone: i < given ? `+1202555${String(1000 + i)}` : '' }))
  engine.pipeline('crm', audienceYaml('crm.csv').replace('email: email }', 'email: email, phone_number: phone }'))
  engine.write('crm.csv', csvOf(phones(280)))
  await engine.run('crm')
  engine.write('crm.csv', csvOf(phones(100)))
  expect((await engine.run('crm')).warnings?.map(({ code, field }) => `${code} ${field}`)).toContain('FILL_RATE_FELL phone_number')
})

test('case 110: more than 1 % of role addresses withhold the run', async () => {
  await using engine = await engineUnderTest()
  expect(
    await crm(
      engine,
      people(100, (i) => (i < 2 ? { email: `info@shop${i}.example.com` } : {})),
    ),
  ).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_EMAIL_ROLE_SHARE' }], counts: { confirmed: 0 } })
})

test('case 112: emails in the phone column fail the run', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('crm', audienceYaml('crm.csv').replace('email: email', 'phone_number: email'))
  engine.write('crm.csv', csvOf(people(100)))
  expect((await engine.run('crm')).error?.code).toBe('FILE_MAPPING')
})

test('cases 119 and 221: one digest on a third of the rows withholds the run', async () => {
  await using engine = await engineUnderTest()
  expect(
    guardsOf(
      await crm(
        engine,
        people(120, (i) => (i < 60 ? { email: 'a'.repeat(64) } : {})),
      ),
    ),
  ).toEqual(['GUARD_IDENTIFIER_SHARE'])
})

test('case 129: of rows that add and remove a person, the removal is used', async () => {
  await using engine = await engineUnderTest()
  const rows = [...people(3), { id: 'C-1', email: 'p1@example.com', ok: 'no' }].map((row): Fields => ({ ok: 'yes', ...row }))
  expect(await crm(engine, rows, 'consent: { column: ok, values: ["yes"] }\n')).toMatchObject({
    status: 'succeeded',
    counts: { read: 4, suppressed: 2, valid: 2, confirmed: 2 },
  })
})

test('case 130: a suppressed person is not sent, and counted', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('optouts', listYaml('list.csv'))
  engine.write('list.csv', 'email,status\np1@example.com,\n')
  await engine.run('optouts')
  expect(await crm(engine, people(3))).toMatchObject({ counts: { read: 3, suppressed: 1, valid: 2, confirmed: 2 } })
})

test('case 135: the removal of a person never listed changes nothing', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('optouts', listYaml('list.csv'))
  engine.write('list.csv', 'email,status\np1@example.com,resubscribed\n')
  expect(await engine.run('optouts')).toMatchObject({ status: 'succeeded', counts: { requests: 0 } })
})

test('case 131: an export without its consent column withholds the run', async () => {
  await using engine = await engineUnderTest()
  const yaml = (guards = '') =>
    `source: { url: "{folder}/contacts.csv" }\n${guards}destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n`
  engine.pipeline('crm', yaml())
  const rows = (more: (i: number) => Fields) =>
    csvOf(
      Array.from({ length: 3 }, (_, i): Fields => ({
        'Record ID': String(i),
        'First Name': '',
        'Last Name': '',
        Email: `p${i}@shop.example`,
        'Contact owner': 'Rep',
        ...more(i),
      })),
    )
  engine.write(
    'contacts.csv',
    rows((i) => ({ 'Unsubscribed from all email': i === 2 ? 'true' : 'false' })),
  )
  expect(await engine.run('crm')).toMatchObject({ status: 'succeeded', counts: { suppressed: 1, confirmed: 2 } })
  engine.write(
    'contacts.csv',
    rows(() => ({})),
  )
  expect(await engine.run('crm')).toMatchObject({
    status: 'withheld',
    guards: [{ code: 'GUARD_CONSENT_UNKNOWN' }],
    counts: { confirmed: 0 },
  })
  expect((await engine.sandbox.control.audience()).members).toBe(2)
  engine.pipeline('crm', yaml('guards: { accept: [CONSENT_UNKNOWN] }\n'))
  expect(await engine.run('crm')).toMatchObject({ status: 'succeeded', counts: { confirmed: 1 } })
})

test('case 14: NUL characters in keys and values of JSON do not fail the run', async () => {
  await using engine = await engineUnderTest()
  const records = [
    { id: '1', email: 'p1@example.com' },
    { id: '2', email: 'p2@example.com', 'a\0b': 1 },
    { id: '3', email: ['p3@example.com', '\0x'] },
    // Rows that contradict each other. Their cells are read a second time.
    { id: '4', email: 'p4@example.com', note: '\0x' },
    { id: '4', email: 'p5@example.com', note: '\0x' },
  ]
  engine.write('crm.jsonl', records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  engine.pipeline(
    'crm',
    `source: { url: "{folder}/crm.jsonl" }
map: { key: id, email: email }
guards: { max_reject_percent: 100 }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`,
  )
  const report = await engine.run('crm')
  expect(report).toMatchObject({ status: 'succeeded', counts: { valid: 2, rejected: 3, confirmed: 2 } })
  expect(report.warnings?.find(({ code }) => code === 'IDENTIFIER_DROPPED')?.message).toContain('␀')
})

test('case 13: a value that a warning cuts within a surrogate pair does not fail the run', async () => {
  await using engine = await engineUnderTest()
  const report = await shop(
    engine,
    manyProducts(2, () => ({ gender: `${'x'.repeat(59)}😀 and more` })),
  )
  expect(report).toMatchObject({ status: 'succeeded', counts: { confirmed: 2 } })
  expect(report.warnings?.find(({ code }) => code === 'VALUE_DROPPED')?.message).toContain('xx…')
})

test('case 13: a name of a column that an error cuts within a surrogate pair is shown, and the run ends', async () => {
  await using engine = await engineUnderTest()
  const report = await shop(engine, `id,${'a'.repeat(59)}😀bcd\n1,x\n`)
  expect(report).toMatchObject({ status: 'failed', error: { code: 'FILE_COLUMN_MISSING' } })
  expect(report.error?.message).toContain(`"${'a'.repeat(59)}…"`)
})

test('case 13: a run ends with its error also if the error contains a NUL and half of a surrogate pair', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', `${catalogYaml('feed.csv')}map: { title: "Nowhere" }\n`)
  engine.write('feed.csv', csvOf(manyProducts(2)))
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  // Pipeline files with such texts are rejected, so the text is put in afterwards.
  const odd = JSON.parse(JSON.stringify(pipeline).replaceAll('Nowhere', String.raw`a\u0000\ud83d`)) as Pipeline
  const report = await runPipeline(engine.deps, odd, { trigger: 'manual' })
  expect(report).toMatchObject({ status: 'failed', error: { code: 'FILE_COLUMN_MISSING' } })
  expect(report.error?.message).toContain('"a␀\ufffd"')
})

test('case 23: of several sources the one whose column is missing is named', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'two',
    'source: [{ url: "{folder}/a.csv" }, { url: "{folder}/b.csv" }]\ndestination: { kind: catalog, catalog_id: "4001" }\n',
  )
  engine.write('a.csv', csvOf(manyProducts(2)))
  engine.write('b.csv', csvOf(manyProducts(2, (i) => ({ id: `B-${i}` }))).replace('price', 'cost'))
  expect(await engine.run('two')).toMatchObject({
    status: 'failed',
    error: { code: 'FILE_COLUMN_MISSING', where: expect.stringContaining('b.csv') },
  })
})

test('case 182: products exported again without accents are updates', async () => {
  await using engine = await engineUnderTest()
  await shop(
    engine,
    manyProducts(20, (i) => ({ title: `Café №${i}` })),
  )
  expect(
    await shop(
      engine,
      manyProducts(20, (i) => ({ title: `Cafe №${i}` })),
    ),
  ).toMatchObject({ status: 'succeeded', counts: { updates: 20, confirmed: 20 } })
})

test('case 182: changes of more than half of the products are reported, and withhold the run only if guards.hold says so', async () => {
  await using engine = await engineUnderTest()
  await shop(engine, manyProducts(120))
  const changed = (count: number, word: string) => manyProducts(120, (i) => (i < count ? { title: `${word} ${i}` } : {}))
  expect((await shop(engine, changed(60, 'Schuh'))).warnings?.map(({ code }) => code)).not.toContain('MOST_CHANGED')
  const held = await shop(engine, changed(61, 'Stiefel'), 'guards: { hold: [MOST_CHANGED] }\n')
  expect(held).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_MOST_CHANGED' }], counts: { confirmed: 0 } })
  const result = await shop(engine, changed(61, 'Stiefel'))
  expect(result).toMatchObject({ status: 'succeeded', counts: { updates: 61 } })
  expect(result.warnings?.find(({ code }) => code === 'MOST_CHANGED')).toMatchObject({ count: 61 })
})

test('products whose rows were rejected in the last run and are valid again do not count as changed', async () => {
  await using engine = await engineUnderTest()
  await shop(engine, manyProducts(220))
  const rejected = await shop(
    engine,
    manyProducts(220, (i) => (i < 110 ? { price: 'none' } : {})),
    'guards: { max_reject_percent: 60 }\n',
  )
  expect(rejected.counts).toMatchObject({ rejected: 110 })
  const again = await shop(engine, manyProducts(220), 'guards: { hold: [MOST_CHANGED] }\n')
  expect(again).toMatchObject({ status: 'succeeded', guards: [] })
})

test('another id column withholds the run, so that the catalog does not have every product twice', async () => {
  await using engine = await engineUnderTest()
  const rows = (other: number) => manyProducts(120, (i) => (i < other ? { id: `other-${i}` } : {}))
  const live = async () => (await engine.sandbox.control.catalog()).products
  await shop(engine, rows(0))
  expect(await shop(engine, rows(61))).toMatchObject({
    status: 'withheld',
    guards: [
      {
        code: 'GUARD_IDS_CHANGED',
        message: '61 of 120 products of the last sync are missing, and 61 ids are new: nothing of this read was sent',
        hint: 'set map: { id: … } to the column of the earlier ids; if it is right, sluice run shop --approve-deletes 61',
      },
    ],
  })
  expect(await live()).toBe(120)
  // Half of them are new products beside others that left.
  expect(guardsOf(await shop(engine, rows(60)))).toEqual(['GUARD_DELETES'])
  expect(await live()).toBe(180)
  // An approval of the deletes shows that the operator has looked at the missing ids.
  engine.write('feed.csv', csvOf(rows(120)))
  expect(await engine.run('shop', { approveDeletes: 120 })).toMatchObject({ status: 'succeeded' })
  expect(await live()).toBe(120)
})

test('another id column withholds a run whose source has no proven end, also with an approval, which deletes nothing', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'shop',
    `source: { url: "{folder}/feed.csv", complete: { trailer: "#rows={n}" } }\ndestination: { kind: catalog, catalog_id: "4001" }\n`,
  )
  engine.write('feed.csv', `${csvOf(manyProducts(120))}#rows=120\n`)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  engine.write('feed.csv', csvOf(manyProducts(120, (i) => ({ id: `other-${i}` }))))
  for (const options of [{}, { approveDeletes: 120 }])
    expect(await engine.run('shop', options)).toMatchObject({
      status: 'withheld',
      guards: [
        {
          code: 'GUARD_IDS_CHANGED',
          hint: expect.stringContaining('set source.complete to a proof of its end and sluice run shop --approve-deletes 120') as string,
        },
      ],
    })
  expect((await engine.sandbox.control.catalog()).products).toBe(120)
})

test('a backfill of new products is not withheld for missing ids', async () => {
  await using engine = await engineUnderTest()
  await shop(engine, manyProducts(120))
  engine.write('late.csv', csvOf(manyProducts(120, (i) => ({ id: `late-${i}` }))))
  expect(await engine.backfill('shop', 'late.csv')).toMatchObject({ status: 'succeeded', counts: { creates: 120 } })
})

test('case 12: text in another encoding than the setting withholds the run', async () => {
  await using engine = await engineUnderTest()
  const titles = ['赤い靴', '青いカップ', '木製のテーブル', '夏用の帽子']
  engine.write('shop.csv', encodeAs(csvOf(manyProducts(20, (i) => ({ title: titles[i % 4] }))), 'shift_jis'))
  const run = (encoding: string) => {
    engine.pipeline(
      'shop',
      `source: { url: "{folder}/shop.csv", encoding: ${encoding} }\ndestination: { kind: catalog, catalog_id: "4001" }\n`,
    )
    return engine.run('shop')
  }
  expect(await run('windows-1252')).toMatchObject({
    status: 'withheld',
    guards: [{ code: 'GUARD_ENCODING_DOUBTFUL' }],
    counts: { confirmed: 0 },
  })
  expect(await run('shift_jis')).toMatchObject({ status: 'succeeded', counts: { confirmed: 20 } })
})

test('case 73: prices of zero withhold the run if guards.hold says so', async () => {
  await using engine = await engineUnderTest()
  const rows = manyProducts(5, (i) => (i === 3 ? { price: '0 EUR' } : {}))
  expect(await shop(engine, rows, 'guards: { hold: [PRICE_ZERO] }\n')).toMatchObject({
    status: 'withheld',
    guards: [{ code: 'GUARD_PRICE_ZERO', examples: ['line 5'] }],
    counts: { confirmed: 0 },
  })
  const sent = await shop(engine, rows)
  expect(sent).toMatchObject({ status: 'succeeded', counts: { rejected: 0, confirmed: 5 } })
  expect(sent.warnings).toContainEqual(expect.objectContaining({ code: 'PRICE_ZERO', count: 1 }))
})

test('case 183: two products fewer are two deletes under the guard', async () => {
  await using engine = await engineUnderTest()
  await shop(engine, manyProducts(218))
  expect(await shop(engine, manyProducts(216))).toMatchObject({ status: 'succeeded', counts: { deletes: 2, confirmed: 2 } })
})

test('case 190: a mapped column of colleagues withholds the run until it is accepted', async () => {
  await using engine = await engineUnderTest()
  const rows = people(2).map(({ id, email }): Fields => ({ id, 'Contact owner email': email }))
  const run = async (more = '') => {
    engine.pipeline('crm', audienceYaml('crm.csv', more).replace('email: email', 'email: "Contact owner email"'))
    engine.write('crm.csv', csvOf(rows))
    return engine.run('crm')
  }
  expect(guardsOf(await run())).toEqual(['GUARD_OWNER_COLUMN'])
  expect((await run('guards: { accept: [OWNER_COLUMN] }\n')).status).toBe('succeeded')
})

test('case 201: a column with opt-outs that no setting reads withholds the run', async () => {
  await using engine = await engineUnderTest()
  const rows = people(2, () => ({ Unsubscribed: 'true' }))
  expect(guardsOf(await crm(engine, rows))).toEqual(['GUARD_CONSENT_UNMAPPED'])
  expect((await crm(engine, rows, 'guards: { accept: [CONSENT_UNMAPPED] }\n')).status).toBe('succeeded')
})

test('case 209: five rows, two good, one invalid, one empty, one repeated in another case: the counts add up', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('crm', audienceYaml('crm.csv').replace('key: id', 'key: email'))
  engine.write(
    'crm.csv',
    csvOf([
      { id: '1', email: 'a@example.com' },
      { id: '2', email: 'b@example.com' },
      { id: '3', email: 'b@' },
      { id: '4', email: '' },
      { id: '5', email: 'A@Example.com' },
    ]),
  )
  expect((await engine.run('crm')).counts).toMatchObject({ read: 5, rejected: 2, duplicates: 1, valid: 2 })
})

test('case 158: a feed without prices stops the run before anything is sent', async () => {
  await using engine = await engineUnderTest()
  expect(
    await shop(
      engine,
      manyProducts(10, () => ({ price: '' })),
    ),
  ).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_REJECTS' }] })
})
