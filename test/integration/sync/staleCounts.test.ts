/** `stale` counts synced records whose row is now invalid, in every run over a source that has such rows. `unchanged` leaves them out. */
import { expect, test } from 'vitest'
import { storeAllKeys } from '../../../src/db/remote/implied.ts'
import { catalogYaml, engineUnderTest, imbalance } from '../../support/engine.ts'
import { sha256 } from '../../support/digests.ts'
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

test('unchanged includes all valid rows without an operation if a stale product is sent again', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const rows = products(12)
  engine.write('feed.xml', rss(rows.map((row) => item(row))))
  await engine.sandbox.control.fault({ path: '/12/product_catalogs' }, { kind: 'product_error', ids: [rows[0]?.id] })
  expect(await engine.run('shop')).toMatchObject({ status: 'partial', counts: { confirmed: 11, refused: 1 } })
  engine.write('feed.xml', rss(rows.map((row, i) => item(i === 0 ? { ...row, price: 'much' } : row))))
  const { counts } = await engine.run('shop')
  expect(counts).toMatchObject({ valid: 11, stale: 1, creates: 1, updates: 0, unchanged: 11 })
  expect(imbalance(counts)).toEqual([])
})

test('unchanged includes all valid rows without an operation if the operation of a stale product is deferred', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const rows = products(12)
  engine.write('feed.xml', rss(rows.slice(1).map((row) => item(row))))
  await engine.run('shop')
  engine.write('feed.xml', rss(rows.map((row) => item(row))))
  await engine.sandbox.control.fault({ path: '/12/product_catalogs' }, { kind: 'commit_then_reset' }, 'always')
  expect(await engine.run('shop')).toMatchObject({ counts: { ambiguous: 1 } })
  engine.write('feed.xml', rss(rows.map((row, i) => item(i === 0 ? { ...row, price: 'much' } : row))))
  const { counts } = await engine.plan('shop')
  expect(counts).toMatchObject({ valid: 11, stale: 1, creates: 0, deferred: 1, unchanged: 11 })
})

test.for(['stale', 'missing'] as const)('unchanged includes all valid rows without an operation if a %s person is renewed', async (how) => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`,
  )
  const rows = Array.from({ length: 60 }, (_, i) => `k${i},m${i}@example.com`)
  engine.write('people.csv', ['id,mail', ...rows, ''].join('\n'))
  await engine.run('people')
  await engine.db.transaction((tx) => storeAllKeys(tx, 1))
  await engine.db.execute(`update remote set expires_at = clock_timestamp() + interval '1 day' where key = $1`, [
    Buffer.concat([Buffer.from([1]), Buffer.from(sha256('m0@example.com'), 'hex')]),
  ])
  await engine.db.execute(`update batch set expires_at = clock_timestamp() + interval '1 day'`)
  engine.write('people.csv', ['id,mail', ...(how === 'stale' ? ['k0,none', ...rows.slice(1)] : rows.slice(20)), ''].join('\n'))
  const { counts } = await engine.run('people')
  const expected =
    how === 'stale' ? { valid: 59, stale: 1, withheld: 0, unchanged: 59 } : { valid: 40, stale: 0, withheld: 20, unchanged: 40 }
  expect(counts).toMatchObject({ ...expected, renewals: 1, creates: 0, updates: 0 })
  expect(imbalance(counts)).toEqual([])
})
