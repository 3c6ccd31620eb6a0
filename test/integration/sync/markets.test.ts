/** One feed for several catalogs, each with a price file: a faulty price file neither empties a catalog nor sends wrong prices. */
import { expect, test } from 'vitest'
import { engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { csvOf, manyProducts } from '../../support/through.ts'

const feed = (ids: readonly string[]): string =>
  `id,title,description,availability,condition,price,link,image_link,brand\n${ids
    .map(
      (id) =>
        `${id},Shirt ${id},All about ${id},in stock,new,99.00 EUR,https://shop.example.com/${id},https://shop.example.com/${id}.jpg,Acme\n`,
    )
    .join('')}`
const prices = (...rows: readonly string[]): string => `sku,price,availability\n${rows.map((row) => `${row}\n`).join('')}`

const ids = ['A1', 'A2', 'A3', 'A4', 'A5', 'A6', 'A7', 'A8', 'A9', 'B1']
const all = (price: string): string[] => ids.map((id) => `${id},${price},in stock`)

const markets = `source: { url: "{folder}/feed.csv" }
guards: { max_delete_count: 1, max_delete_percent: 1 }
markets:
  de: { destination: { kind: catalog, catalog_id: "4001" }, join: { url: "{folder}/de.csv", on: { source: id, file: sku } } }
  ch: { destination: { kind: catalog, catalog_id: "4002" }, join: { url: "{folder}/ch.csv", on: { source: id, file: sku }, columns: [price] } }
`

async function shop(): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  engine.pipeline('shop', markets)
  engine.write('feed.csv', feed(ids))
  engine.write('de.csv', prices(...all('10.00 EUR')))
  engine.write('ch.csv', prices(...all('12.00 CHF')))
  return engine
}

async function held(engine: EngineUnderTest, catalog: string): Promise<Readonly<Record<string, string>>> {
  const products = await engine.sandbox.control.products(catalog)
  return Object.fromEntries(products.map(({ id, price }) => [id, price]))
}

test('each market is a pipeline with its own prices; a changed price is one update in that market', async () => {
  await using engine = await shop()
  const report = await engine.run('shop-de')
  expect(report).toMatchObject({ status: 'succeeded', counts: { creates: 10 } })
  expect(imbalance(report.counts)).toEqual([])
  expect(Object.values(await held(engine, '4001'))).toEqual(ids.map(() => '10.00 EUR'))
  expect(await engine.run('shop-de')).toMatchObject({ counts: { unchanged: 10, requests: 0 } })
  engine.write('ch.csv', prices(...all('13.50 CHF')))
  expect(await engine.run('shop-de')).toMatchObject({ counts: { requests: 0 } })
  engine.write('de.csv', prices(...all('10.00 EUR').with(3, 'A4,13.50 EUR,in stock')))
  expect(await engine.run('shop-de')).toMatchObject({ status: 'succeeded', counts: { updates: 1, unchanged: 9 } })
  expect((await held(engine, '4001'))['A4']).toBe('13.50 EUR')
})

test('rows with no price, two prices or an invalid one are rejected by code, and keep their synced content', async () => {
  await using engine = await shop()
  await engine.run('shop-de')
  const before = await held(engine, '4001')
  // No row of A1; two prices of A2, twice the same of A3; A4 without a price; a row without id.
  engine.write(
    'de.csv',
    prices(
      'A2,1.00 EUR,in stock',
      'A2,2.00 EUR,in stock',
      'A3,10.00 EUR,in stock',
      'A3,10.00 EUR,in stock',
      'A4,,in stock',
      ',7.00 EUR,in stock',
      ...all('10.00 EUR').slice(4),
    ),
  )
  const report = await engine.run('shop-de')
  expect(report).toMatchObject({
    status: 'succeeded',
    counts: { read: 10, rejected: 3, stale: 3, valid: 7, deletes: 0, updates: 0, withheld: 0 },
  })
  expect(report.rejectCodes).toEqual([
    { code: 'FIELD_MISSING', count: 1 },
    { code: 'JOIN_ROW_CONFLICT', count: 1 },
    { code: 'JOIN_ROW_MISSING', count: 1 },
  ])
  expect(await held(engine, '4001')).toEqual(before)
  expect(imbalance(report.counts)).toEqual([])
})

test.each([
  ['a header and no rows', () => prices(), 'GUARD_REJECTS'],
  ['half of its rows and a cut one', () => prices(...all('10.00 EUR')).slice(0, 90), 'GUARD_REJECTS'],
])('a price file of %s stops the run: nothing is sent, nothing is deleted', async (_, broken, code) => {
  await using engine = await shop()
  await engine.run('shop-de')
  const mark = await engine.mark()
  engine.write('de.csv', broken())
  expect(await engine.run('shop-de')).toMatchObject({ status: 'withheld', guards: [{ code }] })
  expect(await engine.writes(mark)).toEqual([])
})

test.each([
  ['an empty file', '', 'FILE_EMPTY'],
  ['a file without the id', 'price\n1.00 EUR\n', 'FILE_COLUMN_MISSING'],
])('%s instead of the prices fails the run', async (_, content, code) => {
  await using engine = await shop()
  await engine.run('shop-de')
  const mark = await engine.mark()
  engine.write('de.csv', content)
  expect(await engine.run('shop-de')).toMatchObject({ status: 'failed', error: { code } })
  expect(await engine.writes(mark)).toEqual([])
})

test('a missing product is not deleted unless the end of the price file is proven too', async () => {
  await using engine = await shop()
  engine.pipeline(
    'shop',
    markets
      .replace('file: sku } } }', 'file: sku }, complete: { trailer: "#rows={n}" } } }')
      .replace('max_delete_count: 1,', 'max_delete_count: 100,'),
  )
  engine.write('de.csv', `${prices(...all('10.00 EUR'))}#rows=10\n`)
  expect(await engine.run('shop-de')).toMatchObject({ status: 'succeeded', counts: { creates: 10 } })
  engine.write('feed.csv', feed(ids.slice(1)))
  engine.write('de.csv', prices(...all('10.00 EUR')))
  expect(await engine.run('shop-de')).toMatchObject({
    status: 'withheld',
    counts: { deletes: 0, withheld: 1 },
    guards: [{ code: 'GUARD_INCOMPLETE' }],
  })
  expect(Object.keys(await held(engine, '4001'))).toHaveLength(10)
  engine.write('de.csv', `${prices(...all('10.00 EUR'))}#rows=10\n`)
  expect(await engine.run('shop-de')).toMatchObject({ counts: { deletes: 1 } })
})

test('`only` of a market applies before its prices are joined: other products are filtered, not rejected', async () => {
  await using engine = await shop()
  engine.write('feed.csv', feed(ids).replaceAll('Shirt A', 'Shirt'))
  engine.pipeline('shop', markets.replace('de: {', 'de: { only: { id: [A1, A2] },'))
  engine.write('de.csv', prices('A1,10.00 EUR,in stock'))
  expect(await engine.run('shop-de')).toMatchObject({ counts: { read: 10, filtered: 8, rejected: 1, valid: 1 } })
})

test('`only` on a column of the price file leaves out no product that the file lacks, but each that all its rows leave out', async () => {
  await using engine = await shop()
  engine.pipeline(
    'shop',
    markets.replace('de: {', 'de: { only: { market: [de] }, guards: { max_delete_count: 10, max_delete_percent: 100 },'),
  )
  const file = (...rows: readonly string[]) => engine.write('de.csv', `sku,price,market\n${rows.map((row) => `${row}\n`).join('')}`)
  const priced = ids.map((id) => `${id},10.00 EUR,de`)
  file(...priced)
  expect(await engine.run('shop-de')).toMatchObject({ status: 'succeeded', counts: { creates: 10 } })
  // A1 has no row. A2 is moved to another market. A3 has two rows of that market, A4 has rows of two markets.
  file('A2,10.00 EUR,at', 'A3,1.00 EUR,at', 'A3,2.00 EUR,at', 'A4,1.00 EUR,at', 'A4,2.00 EUR,de', ...priced.slice(4))
  expect(await engine.run('shop-de')).toMatchObject({
    counts: { read: 10, filtered: 2, rejected: 2, valid: 6, deletes: 2 },
    rejectCodes: [
      { code: 'JOIN_ROW_CONFLICT', count: 1 },
      { code: 'JOIN_ROW_MISSING', count: 1 },
    ],
  })
  expect(Object.keys(await held(engine, '4001'))).toEqual(ids.filter((id) => id !== 'A2' && id !== 'A3'))
})

test('a market whose rows are nearly all rejected stops the run, although most rows of the feed belong to other markets', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'market',
    `source: { url: "{folder}/feed.csv" }\nonly: { market: [li] }\ndestination: { kind: catalog, catalog_id: "4001" }\n`,
  )
  const feed = (price: string) => csvOf(manyProducts(40, (i) => ({ market: i < 4 ? 'li' : 'ch', ...(i < 3 ? { price } : {}) })))
  engine.write('feed.csv', feed('10.00 EUR'))
  expect(await engine.run('market')).toMatchObject({ status: 'succeeded', counts: { valid: 4, filtered: 36 } })
  engine.write('feed.csv', feed('free'))
  const { status, guards } = await engine.run('market')
  expect([status, guards[0]?.code, guards[0]?.message]).toEqual([
    'withheld',
    'GUARD_REJECTS',
    expect.stringContaining('3 of 4 rows that the filters keep were rejected (75.0 %)'),
  ])
})

test('products without a row in the price file count for `max_reject_percent`, also with `only` on a column of this file', async () => {
  await using engine = await shop()
  engine.pipeline('shop', markets.replace('de: {', 'de: { only: { market: [de] },'))
  const file = (n: number) =>
    engine.write(
      'de.csv',
      `sku,price,market\n${ids
        .slice(0, n)
        .map((id) => `${id},10.00 EUR,de\n`)
        .join('')}`,
    )
  file(10)
  await engine.run('shop-de')
  file(4)
  expect(await engine.run('shop-de')).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_REJECTS' }] })
})

test('the last row of a price file without a proven end is not used, even if it is valid', async () => {
  await using engine = await shop()
  engine.pipeline('shop', markets.replaceAll('guards: {', 'options: { default_currency: EUR }\nguards: {'))
  const file = (last: string) => `sku,price\n${ids.map((id, i) => `${id},${i === 9 ? last : '100.00'}`).join('\n')}`
  engine.write('de.csv', `${file('100.00')}\n`)
  await engine.run('shop-de')
  engine.write('de.csv', file('10'))
  expect(await engine.run('shop-de')).toMatchObject({
    counts: { rejected: 1, stale: 1, updates: 0 },
    rejectCodes: [{ code: 'JOIN_ROW_MISSING' }],
  })
  expect((await held(engine, '4001'))['B1']).toBe('100.00 EUR')
})
