/** `stale` counts synced records whose row is now invalid, in every run over a source that has such rows. */
import { expect, test } from 'vitest'
import { catalogYaml, engineUnderTest, imbalance } from '../../support/engine.ts'
import { item, products, rss } from '../acceptance/products.ts'

test('a run over an unchanged source counts stale records as the run that read it', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(12).map((row) => item(row))))
  await engine.run('shop')
  engine.write('feed.xml', rss(products(12).map((row, i) => item(i < 2 ? { ...row, price: 'much' } : row))))
  for (const options of [{}, {}, { full: true }, {}]) {
    const { counts } = await engine.run('shop', options)
    expect(counts).toMatchObject({ read: 12, rejected: 2, stale: 2, deletes: 0 })
    expect(imbalance(counts)).toEqual([])
  }
  engine.write('feed.xml', rss(products(12).map((row) => item(row))))
  for (const run of [1, 2]) expect([run, (await engine.run('shop')).counts]).toMatchObject([run, { rejected: 0, stale: 0 }])
})
