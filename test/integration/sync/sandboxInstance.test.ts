/** A sandbox that was restarted without its state: the synced content is lost there, and runs warn about it. */
import { expect, test } from 'vitest'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'
import { item, products, rss } from '../acceptance/products.ts'

test('runs warn about a restarted sandbox until everything was sent again', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(3).map((row) => item(row))))
  const noted = async (full = false) =>
    (await engine.run('shop', { full })).warnings?.filter(({ code }) => code === 'SANDBOX_REPLACED') ?? []
  expect([...(await noted()), ...(await noted())]).toEqual([])
  const { digest } = await engine.sandbox.control.catalog()

  await engine.sandbox.control.reset()
  for (let run = 0; run < 2; run++)
    expect(await noted()).toEqual([
      expect.objectContaining({ message: expect.stringContaining('sluice run shop --full sends everything again') as string }),
    ])

  expect(await noted(true)).toEqual([])
  expect((await engine.sandbox.control.catalog()).digest).toBe(digest)
  expect(await noted()).toEqual([])
})

test('a planned full refresh ends the warning about a restarted sandbox only when it is applied', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(3).map((row) => item(row))))
  const noted = async () => (await engine.run('shop')).warnings?.some(({ code }) => code === 'SANDBOX_REPLACED') ?? false
  await engine.run('shop')
  const { digest } = await engine.sandbox.control.catalog()
  await engine.sandbox.control.reset()

  await engine.plan('shop', { full: true })
  expect(await noted()).toBe(true)

  const { planId } = await engine.plan('shop', { full: true })
  expect(await engine.apply(planId)).toMatchObject({ status: 'succeeded', counts: { confirmed: 3 } })
  expect((await engine.sandbox.control.catalog()).digest).toBe(digest)
  expect(await noted()).toBe(false)
})

test('a planned full refresh of a restarted sandbox creates the product sets again when it is applied', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml', ', product_sets: [{ name: Cheap, where: { price: { below: 1000 } } }]'))
  engine.write('feed.xml', rss(products(3).map((row) => item(row))))
  await engine.run('shop')
  await engine.sandbox.control.reset()

  const { planId, productSets } = await engine.plan('shop', { full: true })
  expect(productSets).toEqual([{ name: 'Cheap', action: 'create', outcome: 'planned' }])
  expect((await engine.apply(planId)).productSets).toEqual([{ name: 'Cheap', action: 'create', outcome: 'confirmed' }])
})

test('the apply of a plan from before a restart of the sandbox warns, and changes no product set of the new sandbox', async () => {
  await using engine = await engineUnderTest()
  const { control, call } = engine.sandbox
  const sets = '/12/product_catalogs/4001/product_sets'
  const cheap = (below: number) => catalogYaml('feed.xml', `, product_sets: [{ name: Cheap, where: { price: { below: ${below} } } }]`)
  engine.pipeline('shop', cheap(1000))
  engine.write('feed.xml', rss(products(3).map((row) => item(row))))
  await engine.run('shop')
  engine.pipeline('shop', cheap(500))
  const { planId, productSets } = await engine.plan('shop')
  expect(productSets).toEqual([{ name: 'Cheap', action: 'replace', outcome: 'planned' }])
  const listed = async (): Promise<readonly { readonly id: string }[]> => (await call('GET', sets)).body.data
  const before = await listed()

  await control.reset()
  // One of the sets of the new sandbox has the id of the earlier set.
  const filters = [{ attribute: 'price', operator: 'GREATER_THAN', value: '1' }]
  for (let n = 1; n <= 5; n++) await call('POST', sets, { json: { name: `Other ${n}`, type: 'FILTERED', filters } })
  const others = await listed()
  expect(others.map(({ id }) => id)).toEqual(expect.arrayContaining(before.map(({ id }) => id)))

  const applied = await engine.apply(planId)
  expect(await listed()).toEqual(others)
  expect(applied.warnings?.map(({ code }) => code)).toEqual(['SANDBOX_REPLACED'])
})
