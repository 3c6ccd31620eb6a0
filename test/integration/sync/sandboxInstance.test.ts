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
