/** Edits of other writers, detected and repaired: the whole engine against a sandbox over HTTP. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import type { Exchange } from '../../../src/service/client/exchange.ts'
import { auditPipeline } from '../../../src/sync/run/auditPipeline.ts'
import { catalogDigest } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { product } from '../../support/product.ts'
import { putBehind, removeBehind } from '../../support/thirdParty.ts'
import { goodProduct, item, products, rss, expectedProduct, type Product } from '../acceptance/products.ts'

async function shop(rows: readonly Product[], more = ''): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  engine.pipeline('shop', `${catalogYaml('feed.xml')}${more}`)
  write(engine, rows)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  return engine
}

const write = (engine: EngineUnderTest, rows: readonly Product[]) => engine.write('feed.xml', rss(rows.map((row) => item(row))))
const digest = async (engine: EngineUnderTest) => (await engine.sandbox.control.catalog()).digest
/** Products without groups, so that a listing shows all. */
const single = (count: number) =>
  products(count * 2)
    .filter(({ group }) => group === undefined)
    .slice(0, count)

/** State of every key, without times. */
const state = (engine: EngineUnderTest) =>
  engine.db.query(
    `select encode(key, 'escape') as key, ref_count, encode(desired_hash, 'hex') as desired, encode(synced_hash, 'hex') as synced, remote_key, batch_id
     from sluice.remote order by key`,
  )

test('an unchanged catalog of several pages is the same, and nothing is sent or changed', async () => {
  await using engine = await shop(single(230))
  const before = await state(engine)
  const mark = await engine.mark()
  const report = await engine.audit('shop')
  expect(report).toMatchObject({
    status: 'succeeded',
    trigger: 'audit',
    readRequests: 3,
    drift: { listed: 230, same: 230, changed: 0, notListed: 0, hidden: 0, unmanaged: 0, unresolved: 0, waiting: 0 },
    changedFields: [],
    examples: [],
  })
  expect(report.planId).toBeUndefined()
  expect(await engine.writes(mark)).toEqual([])
  expect(await state(engine)).toEqual(before)
  expect(await engine.sandbox.control.violations()).toEqual([])
})

test('distinguishes edits, a delete and an unmanaged product, repairs them by a plan, and keeps the unmanaged one', async () => {
  const rows = single(30)
  await using engine = await shop(rows)
  const [first, second, third] = rows.map(expectedProduct) as [Record<string, unknown>, Record<string, unknown>, Record<string, unknown>]
  await putBehind(engine, { ...first, price: '1.00 EUR', title: 'Hijacked' }, { ...second, color: 'red' }, product('STRANGER'))
  await removeBehind(engine, String(third['id']))
  const mark = await engine.mark()

  const report = await engine.audit('shop')
  expect(report).toMatchObject({
    status: 'partial',
    drift: { listed: 30, same: 27, changed: 2, notListed: 1, hidden: 0, unmanaged: 1, unresolved: 0, waiting: 0 },
    changedFields: [
      { field: 'color', count: 1 },
      { field: 'price', count: 1 },
      { field: 'title', count: 1 },
    ],
  })
  expect(report.examples).toEqual([
    {
      id: first['id'],
      found: 'changed',
      fields: [
        { field: 'title', ours: first['title'], theirs: 'Hijacked' },
        { field: 'price', ours: first['price'], theirs: '1.00 EUR' },
      ],
    },
    { id: second['id'], found: 'changed', fields: [{ field: 'color', ours: null, theirs: 'red' }] },
    { id: third['id'], found: 'notListed' },
    { id: 'STRANGER', found: 'unmanaged' },
  ])

  const repair = await engine.audit('shop', { repair: true })
  expect(repair).toMatchObject({
    status: 'partial',
    drift: report.drift,
    counts: { creates: 1, updates: 2, deletes: 0, pending: 3 },
    requests: 1,
  })
  expect(await engine.writes(mark)).toEqual([])
  expect(await engine.apply(repair.planId ?? '')).toMatchObject({ status: 'succeeded', counts: { confirmed: 3 } })
  const corrected = [...rows.map(expectedProduct), { ...product('STRANGER') }]
  expect(await digest(engine)).toBe(catalogDigest(corrected))
  expect(await engine.audit('shop')).toMatchObject({
    status: 'succeeded',
    drift: { same: 30, changed: 0, notListed: 0, unmanaged: 1, waiting: 0 },
  })
  expect((await engine.run('shop')).counts).toMatchObject({ requests: 0, unchanged: 30 })
  expect(await engine.sandbox.control.violations()).toEqual([])
})

test('a changed value that is cut at an emoji is reported', async () => {
  const rows = single(2)
  await using engine = await shop(rows)
  await putBehind(engine, { ...rows.map(expectedProduct)[0], description: `${'x'.repeat(199)}😀` })
  expect(await engine.audit('shop')).toMatchObject({
    drift: { same: 1, changed: 1 },
    examples: [{ fields: [{ theirs: `${'x'.repeat(199)}…` }] }],
  })
})

test('a listed value that Postgres cannot store is reported as changed', async () => {
  const rows = single(2)
  await using engine = await shop(rows)
  const [first] = rows.map(expectedProduct)
  const exchange = async (request: Parameters<typeof engine.deps.transport.exchange>[0]): Promise<Exchange> => {
    const answer = await engine.deps.transport.exchange(request)
    if (answer.kind !== 'answer' || request.method !== 'GET') return answer
    const page = JSON.parse(Buffer.from(answer.body).toString()) as { data: Record<string, unknown>[] }
    const data = page.data.map((fields) =>
      fields['id'] === first?.['id'] ? { ...fields, title: 'a\0b\ud83d', item_group_id: '\0\ud83d' } : fields,
    )
    return { ...answer, body: Buffer.from(JSON.stringify({ ...page, data })) }
  }
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  const report = await auditPipeline({ ...engine.deps, transport: { ...engine.deps.transport, exchange } }, pipeline, { repair: true })
  expect(report).toMatchObject({
    drift: { same: 1, changed: 1 },
    examples: [
      {
        id: first?.['id'],
        fields: [
          { field: 'title', theirs: 'a␀b\ufffd' },
          { field: 'item_group_id', theirs: '␀\ufffd' },
        ],
      },
    ],
    counts: { updates: 1 },
  })
})

test('a product that was deleted and created again at the service is found by its new key', async () => {
  const rows = single(5)
  await using engine = await shop(rows)
  await removeBehind(engine, 'SKU-1')
  await putBehind(engine, expectedProduct(goodProduct(1)))
  const report = await engine.audit('shop', { repair: true })
  expect(report).toMatchObject({
    drift: { changed: 1, same: 4 },
    changedFields: [{ field: 'product_key', count: 1 }],
    counts: { updates: 1 },
  })
  const changes = await engine.db.query(`select actor, detail from audit where what = 'product_key.changed'`)
  expect(changes).toEqual([{ actor: 'audit', detail: { runId: Number(report.runId?.slice(2)) } }])
  expect(await engine.apply(report.planId ?? '')).toMatchObject({ status: 'succeeded' })
  write(engine, rows.slice(1))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { deletes: 1, confirmed: 1 } })
  expect(await digest(engine)).toBe(catalogDigest(rows.slice(1).map(expectedProduct)))
})

test('variants that no listing shows are counted as hidden, and a repair puts them again', async () => {
  const variants = Array.from({ length: 6 }, (_, n) => ({ ...goodProduct(n + 1), group: n < 3 ? 'G-a' : 'G-b' }))
  await using engine = await shop(variants)
  expect(await engine.audit('shop')).toMatchObject({
    status: 'succeeded',
    drift: { listed: 2, same: 2, notListed: 0, hidden: 4 },
    examples: ['SKU-2', 'SKU-3', 'SKU-5', 'SKU-6'].map((id) => ({ id, found: 'hidden' })),
  })
  // One hidden variant is deleted and one is changed, which no listing shows. All variants of the other group are deleted.
  await removeBehind(engine, 'SKU-2', 'SKU-4', 'SKU-5', 'SKU-6')
  await putBehind(engine, { ...expectedProduct(variants[2] as Product), title: 'Hijacked' })
  const report = await engine.audit('shop', { repair: true })
  expect(report).toMatchObject({
    status: 'partial',
    drift: { listed: 1, same: 1, changed: 0, notListed: 3, hidden: 2 },
    counts: { creates: 3, updates: 2 },
  })
  expect(await engine.apply(report.planId ?? '')).toMatchObject({ status: 'succeeded' })
  expect(await digest(engine)).toBe(catalogDigest(variants.map(expectedProduct)))
})

test('an invalidated product whose row is missing is deleted', async () => {
  const rows = single(12)
  await using engine = await shop(rows)
  await putBehind(engine, { ...expectedProduct(rows[0] as Product), title: 'Hijacked' })
  await removeBehind(engine, String(rows[1]?.id))
  expect(await engine.audit('shop', { repair: true })).toMatchObject({ drift: { changed: 1, notListed: 1 } })
  write(engine, rows.slice(2))
  for (let i = 0; i < 4; i++) await engine.run('shop')
  expect(await digest(engine)).toBe(catalogDigest(rows.slice(2).map(expectedProduct)))
  expect((await engine.run('shop')).counts).toMatchObject({ requests: 0, creates: 0, updates: 0, deletes: 0 })
})

test('a product that was deleted and created again elsewhere is unmanaged, and the run that deleted it is named', async () => {
  const rows = single(6)
  await using engine = await shop(rows)
  write(engine, rows.slice(1))
  const { runId, counts } = await engine.run('shop')
  expect(counts).toMatchObject({ deletes: 1, confirmed: 1 })
  await putBehind(engine, expectedProduct(rows[0] as Product))
  const report = await engine.audit('shop', { repair: true })
  expect(report).toMatchObject({
    status: 'succeeded',
    drift: { same: 5, unmanaged: 1 },
    examples: [{ id: rows[0]?.id, found: 'unmanaged', deletedBy: runId }],
  })
  expect(report.planId).toBeUndefined()
})

/** Puts three products, loses the answer, and checks that the service requires their keys. */
async function loseCreates(engine: EngineUnderTest, rows: readonly Product[], keyOfRefused: string): Promise<void> {
  await engine.sandbox.control.switches({ product_key_on_write: 'required', error_product_key: keyOfRefused })
  await engine.sandbox.control.fault({ method: 'PUT', path: '/products', nth: 1 }, { kind: 'commit_then_reset' })
  write(engine, rows)
  expect(await engine.run('shop')).toMatchObject({ status: 'partial', counts: { creates: 3, confirmed: 0, refused: 3 } })
}

test('product keys that a service requires, and whose answers were lost, come from the listing', async () => {
  const rows = single(8)
  await using engine = await shop(rows.slice(0, 5))
  await loseCreates(engine, rows, 'null')
  const changed = rows.map((row, i) => (i > 3 ? { ...row, price: '77.00 EUR', sent: '77.00 EUR' } : row))
  write(engine, changed)
  expect(await engine.run('shop')).toMatchObject({ status: 'partial', counts: { updates: 1, confirmed: 1, refused: 3 } })
  const lost = await engine.audit('shop', { repair: true })
  expect(lost).toMatchObject({ drift: { listed: 8, same: 5, waiting: 3 } })
  expect(await engine.apply(lost.planId ?? '')).toMatchObject({ status: 'succeeded', counts: { confirmed: 3, refused: 0 } })
  // Another writer edits one product, and deletes and creates another one, which gets another key.
  const [first, second] = changed.map(expectedProduct) as [Record<string, unknown>, Record<string, unknown>]
  await removeBehind(engine, String(second['id']))
  await engine.sandbox.control.switches({ product_key_on_write: 'ignored' })
  await putBehind(engine, { ...first, price: '1.00 EUR' }, second)
  await engine.sandbox.control.switches({ product_key_on_write: 'required' })
  const repair = await engine.audit('shop', { repair: true })
  expect(repair).toMatchObject({ drift: { listed: 8, changed: 2 } })
  expect(await engine.apply(repair.planId ?? '')).toMatchObject({ status: 'succeeded', counts: { confirmed: 2, refused: 0 } })
  expect(await digest(engine)).toBe(catalogDigest(changed.map(expectedProduct)))
  write(engine, changed.slice(0, 7))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { deletes: 1, confirmed: 1 } })
})

test('a product key that the refusal of a put names is sent with the next put', async () => {
  const rows = single(8)
  await using engine = await shop(rows.slice(0, 5))
  await loseCreates(engine, rows, 'present')
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { updates: 3, confirmed: 3 } })
  expect(await digest(engine)).toBe(catalogDigest(rows.map(expectedProduct)))
})

test.for([
  [{ group_reads: 'all' }, { listed: 60, same: 60, hidden: 0 }],
  [{ product_put: 'merge' }, { listed: 51, same: 51, hidden: 9 }],
  [
    { product_key_on_write: 'ignored', readd_key: 'same' },
    { listed: 51, same: 51, hidden: 9 },
  ],
] as const)('an unchanged catalog has no drift with the switches %j', async ([dialect, drift]) => {
  await using engine = await engineUnderTest()
  await engine.sandbox.control.switches(dialect)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  write(engine, products(60))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  expect(await engine.audit('shop')).toMatchObject({
    status: 'succeeded',
    drift: { ...drift, changed: 0, notListed: 0, unmanaged: 0, unresolved: 0 },
  })
})
