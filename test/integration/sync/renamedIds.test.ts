/** Products whose ids change only in case: at a service that compares ids without case, old and new id are one product. */
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
  // Without the order, a delete would arrive after the product was put under its new id.
  await control.fault({ method: 'DELETE' }, { kind: 'delay', ms: 200 }, 'always')
  write(engine, (i) => (i < 30 ? `sku-${i}` : `SKU-${i}`))
  await engine.run('shop')
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { requests: 0 } })
  expect((await control.catalog('4001')).products).toBe(count)
  expect(await control.violations()).toEqual([])
})

test('a product whose id changed only in case stays in the catalog if its delete was withheld first', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  await control.switches({ id_comparison: 'case_blind' })
  engine.pipeline('shop', catalogYaml('feed.csv'))
  write(engine, (i) => `SKU-${i}`)
  await engine.run('shop')
  write(engine, (i) => (i < 20 ? `sku-${i}` : `SKU-${i}`))
  expect(await engine.run('shop')).toMatchObject({ status: 'withheld', counts: { withheld: 20, creates: 20 } })
  // The service has each of these products once, so there is nothing to delete.
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { deletes: 0, withheld: 0, requests: 0 } })
  expect(await engine.run('shop', { approveDeletes: 20 })).toMatchObject({ status: 'succeeded', counts: { requests: 0 } })
  expect((await control.catalog('4001')).products).toBe(count)
})
