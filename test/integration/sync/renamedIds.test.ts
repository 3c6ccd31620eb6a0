/** Ids of products change only in case. At a service that compares ids without case, old and new id are one product. */
import { expect, test } from 'vitest'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'

const count = 60
const write = (engine: EngineUnderTest, idOf: (i: number) => string) =>
  engine.write(
    'feed.csv',
    `id,title,description,availability,condition,price,link,image_link,brand\n${Array.from(
      { length: count },
      (_, i) =>
        `${idOf(i)},Title ${i},Text,in stock,new,10.00 USD,https://shop.example/${i},https://shop.example/${i}.jpg,Brand ${i % 5}\n`,
    ).join('')}`,
  )

test.for(['exact', 'case_blind'])('a product whose id changes only in case stays in the catalog (%s)', async (comparison) => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  await control.switches({ id_comparison: comparison })
  engine.pipeline('shop', `${catalogYaml('feed.csv')}guards: { max_delete_count: 100 }\n`)
  write(engine, (i) => `SKU-${i}`)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { confirmed: count } })
  // If Sluice did not wait for the delete, the delete would arrive after the put of the new id.
  await control.fault({ method: 'DELETE' }, { kind: 'delay', ms: 200 }, 'always')
  write(engine, (i) => (i < 30 ? `sku-${i}` : `SKU-${i}`))
  await engine.run('shop')
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { requests: 0 } })
  expect((await control.catalog('4001')).products).toBe(count)
  expect(await control.violations()).toEqual([])
})

test.for([30, undefined])(
  'a product whose renaming was sent without its withheld delete stays in the catalog (approved: %s)',
  async (approveDeletes) => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    await control.switches({ id_comparison: 'case_blind' })
    engine.pipeline('shop', catalogYaml('feed.csv'))
    write(engine, (i) => `SKU-${i}`)
    await engine.run('shop')
    write(engine, (i) => (i < 30 ? `sku-${i}` : `SKU-${i}`))
    expect(await engine.run('shop')).toMatchObject({ status: 'withheld', counts: { creates: 30, confirmed: 30, withheld: 30 } })
    // The service has one product under both ids, so there is nothing to delete and nothing to approve.
    const next = await engine.run('shop', approveDeletes === undefined ? {} : { approveDeletes })
    expect(next).toMatchObject({ status: 'succeeded', counts: { deletes: 0, requests: 0 } })
    expect((await control.catalog('4001')).products).toBe(count)
    expect(await engine.db.query(`select key from remote where ref_count = 0`)).toEqual([])
    expect(await control.violations()).toEqual([])
  },
)

test('a product of two rows whose ids differ only in case is put again after the row that was confirmed last is deleted', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  await control.switches({ id_comparison: 'case_blind' })
  engine.pipeline('shop', catalogYaml('feed.csv'))
  write(engine, (i) => (i < 5 ? `sku-${i}` : i < 10 ? `SKU-${i - 5}` : `SKU-${i}`))
  await engine.run('shop')
  expect((await control.catalog('4001')).products).toBe(count - 5)
  await engine.db.execute(`update remote set synced_at = synced_at + interval '1 s' where key < 'sku'`)
  write(engine, (i) => (i < 5 ? `sku-${i}` : `SKU-${i < 10 ? 10 : i}`))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { deletes: 0, updates: 5, confirmed: 5 } })
  await engine.db.execute(`update remote set synced_at = synced_at + interval '2 s' where key >= 'sku'`)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { requests: 0 } })
  expect(await engine.db.query(`select key from remote where ref_count = 0`)).toEqual([])
  const titles = new Map((await control.products('4001')).map(({ id, title }) => [id.toLowerCase(), title]))
  expect([0, 1, 2, 3, 4].map((i) => titles.get(`sku-${i}`))).toEqual([0, 1, 2, 3, 4].map((i) => `Title ${i}`))
})

test.for([
  ['exact', 4],
  ['case_blind', 2],
] as const)('two removed products whose ids differ only in case are each deleted once (%s)', async ([comparison, deletes]) => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  await control.switches({ id_comparison: comparison })
  engine.pipeline('shop', catalogYaml('feed.csv'))
  write(engine, (i) => (i < 2 ? `SKU-${i}` : i < 4 ? `sku-${i - 2}` : `X-${i}`))
  await engine.run('shop')
  write(engine, (i) => `X-${Math.max(i, 4)}`)
  engine.pipeline('shop', `${catalogYaml('feed.csv')}duplicates: last\n`)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { deletes, confirmed: deletes } })
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { requests: 0 } })
  expect((await control.catalog('4001')).products).toBe(count - 4)
  expect(await engine.db.query(`select key from remote where ref_count = 0`)).toEqual([])
})

test.for(['exact', 'case_blind'])(
  'a product whose id changed only in case is not set out of stock under its former id (%s)',
  async (comparison) => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    await control.switches({ id_comparison: comparison })
    engine.pipeline('shop', catalogYaml('feed.csv', ', missing: out-of-stock'))
    write(engine, (i) => `SKU-${i}`)
    await engine.run('shop')
    // If Sluice did not order the requests, the former id would be put last.
    await control.fault({ contains_key: 'out of stock' }, { kind: 'delay', ms: 300 }, 'always')
    write(engine, (i) => (i < 5 ? `sku-${i}` : `SKU-${i}`))
    await engine.run('shop')
    await engine.run('shop')
    expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { requests: 0 } })
    const products = await control.products('4001')
    const available = products.filter(({ availability }) => availability === 'in stock').map(({ id }) => id)
    expect(available).toHaveLength(count)
    expect(products).toHaveLength(comparison === 'exact' ? count + 5 : count)
  },
)

test('a renamed product waits for an unresolved delete of its old id', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  await control.switches({ id_comparison: 'case_blind' })
  engine.pipeline('shop', `${catalogYaml('feed.csv')}guards: { max_delete_count: 100 }\n`)
  write(engine, (i) => `SKU-${i}`)
  await engine.run('shop')
  await control.fault({ method: 'DELETE' }, { kind: 'status', status: 500 }, 'always')
  write(engine, (i) => (i < 30 ? `sku-${i}` : `SKU-${i}`))
  await engine.run('shop')
  expect(await engine.run('shop')).toMatchObject({ counts: { creates: 0, deferred: 60 } })
  await control.clearFaults()
  await engine.run('shop')
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { requests: 0 } })
  expect((await control.catalog('4001')).products).toBe(count)
})
