/** A feed with faults and the resulting catalog. Every fault has its line and field, and the counts add up. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { catalogDigest } from '../../support/digests.ts'
import { engineUnderTest } from '../../support/agreement.ts'
import { catalogYaml, imbalance } from '../../support/engine.ts'
import { sluiceHere } from '../cli/support.ts'
import { goodProduct, item, products, rss, expectedProduct } from './products.ts'

/** Change of a fault to the lines of an item, and the field that the reject names. */
const faults: readonly (readonly [field: string, spoil: (line: string) => string])[] = [
  ['price', (line) => line.replace(/[\d.]+ EUR/, '19,99')],
  ['price', (line) => (line.includes('g:price') ? '' : line)],
  ['title', (line) => (line.includes('g:title') ? '  <g:title> </g:title>' : line)],
  ['link', (line) => line.replace('<g:link>https:', '<g:link>http:')],
  ['image_link', (line) => line.replace(/\.jpg<\/g:image_link>/, '.svg</g:image_link>')],
  ['availability', (line) => (line.includes('g:availability') ? '  <g:availability>maybe</g:availability>' : line)],
]

test(
  '2,000 items, 60 of them invalid: rejects by line and field, the expected catalog, requests within the limits',
  { tags: ['long'], timeout: 120_000 },
  async () => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    const all = products(2_000)
    const expected: [line: number, field: string][] = []
    let line = 5
    const items = all.map((product, i) => {
      const fault = i % 33 === 7 && expected.length < 60 ? faults[expected.length % faults.length] : undefined
      const text = item(product, fault?.[1])
      if (fault) expected.push([line, fault[0]])
      line += text.split('\n').length
      return text
    })
    expect(expected).toHaveLength(60)
    const valid = all.filter((_, i) => !(i % 33 === 7 && i < 33 * 60))
    engine.pipeline('shop', catalogYaml('feed.xml'))
    engine.write('feed.xml', rss(items))

    const outcome = await sluiceHere(['run', 'shop', '--json'], { cwd: engine.folder, env: engine.env })
    expect([outcome.code, outcome.stderr.includes('    at ')]).toEqual([0, false])
    const report = JSON.parse(outcome.stdout)
    expect(report).toMatchObject({
      status: 'succeeded',
      counts: { read: 2_000, rejected: 60, duplicates: 0, suppressed: 0, valid: 1_940, creates: 1_940, confirmed: 1_940, requests: 78 },
    })
    expect(imbalance(report.counts)).toEqual([])

    const rejects: { line: number; field: string; hint: string }[] = JSON.parse(
      (await sluiceHere(['rejects', report.runId, '--json'], { cwd: engine.folder, env: engine.env })).stdout,
    )
    expect(rejects.map((reject) => [reject.line, reject.field])).toEqual(expected)
    expect(rejects.every(({ hint }) => hint.length > 5)).toBe(true)

    expect((await control.catalog()).digest).toBe(catalogDigest(valid.map(expectedProduct)))
    const puts = await engine.writes()
    expect(Math.max(...puts.map(({ items: n }) => n))).toBe(25)
    expect(puts.reduce((sum, { items: n }) => sum + n, 0)).toBe(1_940)
    expect(await control.violations()).toEqual([])
    // The sent bytes are the frozen ones, and no id is repeated in a request.
    const batches = await engine.db.query<{ body: Buffer }>('select body from sluice.batch')
    expect(batches.map(({ body }) => createHash('sha256').update(body).digest('hex')).toSorted()).toEqual(
      puts.map(({ body_sha256 }) => body_sha256).toSorted(),
    )
    for (const { body } of batches) {
      const ids: string[] = JSON.parse(body.toString()).products.map(({ id }: { id: string }) => id)
      expect(new Set(ids).size).toBe(ids.length)
    }
  },
)

test('unchanged items send nothing; creates, updates and deletes send only these', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const first = products(200)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(first.map((product) => item(product))))
  await engine.run('shop')
  const before = await engine.mark()
  // Other bytes, same products.
  engine.write('feed.xml', rss(first.map((product) => item({ ...product, price: product.sent }).replace('<item>', '<item><!-- again -->'))))
  expect((await engine.run('shop')).counts).toMatchObject({ unchanged: 200, requests: 0 })
  expect(await engine.writes(before)).toEqual([])

  const next = [...first.slice(5).map((product, i) => (i < 4 ? goodProduct(i + 5, 7_777) : product)), ...products(3, 900)]
  engine.write('feed.xml', rss(next.map((product) => item(product))))
  const report = await engine.run('shop')
  expect(report).toMatchObject({ status: 'succeeded', counts: { creates: 3, updates: 4, deletes: 5, confirmed: 12, requests: 2 } })
  expect((await control.catalog()).digest).toBe(catalogDigest(next.map(expectedProduct)))
  expect((await engine.writes(before)).map(({ method, items: n }) => [method, n]).toSorted()).toEqual([
    ['DELETE', 5],
    ['PUT', 7],
  ])
  expect(await control.violations()).toEqual([])
})

test('of an id with different contents no row is sent, and its synced product is not changed', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const first = products(60)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(first.map((product) => item(product))))
  await engine.run('shop')
  const twins = [item(goodProduct(3, 5_000)), item(goodProduct(3, 6_000)), item(goodProduct(70, 1)), item(goodProduct(70, 2))]
  const broken = item(goodProduct(4), faults[0]?.[1])
  engine.write(
    'feed.xml',
    rss([...first.filter(({ id }) => id !== 'SKU-3' && id !== 'SKU-4').map((product) => item(product)), ...twins, broken]),
  )
  const report = await engine.run('shop')
  expect(report).toMatchObject({
    status: 'succeeded',
    counts: { read: 63, rejected: 5, valid: 58, stale: 2, deletes: 0, creates: 0, updates: 0 },
  })
  expect(imbalance(report.counts)).toEqual([])
  expect((await control.catalog()).digest).toBe(catalogDigest(first.map(expectedProduct)))
})

test('ids that differ only in case are two products, never in one request', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const rows = [...products(60), ...[3, 4, 30, 59].map((n) => ({ ...goodProduct(n), id: `sku-${n}` })), { ...goodProduct(3), id: 'Sku-3' }]
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(rows.map((row) => item(row))))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { creates: 65, confirmed: 65 } })
  expect((await control.catalog()).digest).toBe(catalogDigest(rows.map(expectedProduct)))
  const batches = await engine.db.query<{ body: Buffer }>('select body from sluice.batch')
  for (const { body } of batches) {
    const ids: string[] = JSON.parse(body.toString()).products.map(({ id }: { id: string }) => id.toLowerCase())
    expect([ids.length <= 25, new Set(ids).size]).toEqual([true, ids.length])
  }
  engine.write('feed.xml', rss(rows.slice(0, 60).map((row) => item(row))))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { deletes: 5 } })
  expect((await control.catalog()).digest).toBe(catalogDigest(rows.slice(0, 60).map(expectedProduct)))
  expect(await control.violations()).toEqual([])
})

test('updates name the product_key, which a service may require of a product that it has', async () => {
  await using engine = await engineUnderTest()
  await engine.sandbox.control.switches({ product_key_on_write: 'required' })
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const all = products(30)
  engine.write('feed.xml', rss(all.map((product) => item(product))))
  expect((await engine.run('shop')).counts).toMatchObject({ creates: 30, confirmed: 30 })
  const changed = all.map((product, i) => (i < 20 ? goodProduct(i, 7_700) : product))
  engine.write('feed.xml', rss(changed.map((product) => item(product))))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { updates: 20, confirmed: 20, refused: 0 } })
  expect((await engine.sandbox.control.catalog()).digest).toBe(catalogDigest(changed.map(expectedProduct)))
  expect(await engine.sandbox.control.violations()).toEqual([])
})
