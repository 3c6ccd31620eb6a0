/**
 * Random days of a catalog with product sets: other products, other rules, faults, interrupted runs, and changes by another program. In the
 * end each rule has one set with the products that it selects.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { engineUnderTest, imbalance } from '../../support/engine.ts'
import { FIRST } from '../../support/firstState.ts'
import { emptyDatabase, histories } from '../../support/histories.ts'
import { interruptedRun } from '../../support/interrupted.ts'
import { runWithPowerFailure } from '../../support/powerFailure.ts'

const catalog = '/12/product_catalogs/4001'
const sets = `${catalog}/product_sets`

interface Product {
  readonly brand: 'Acme' | 'acme' | 'Bolt'
  readonly label: 'a' | 'b' | 'ab'
  readonly price: number
}

interface Rule {
  readonly where: string
  readonly type: 'FILTERED' | 'MANUAL'
  readonly description: string | null
  readonly selects: (product: Product) => boolean
}

const rules: readonly Omit<Rule, 'description'>[] = [
  { where: '{ custom_label_0: a }', type: 'FILTERED', selects: ({ label }) => label === 'a' },
  { where: '{ custom_label_0: { contains: b } }', type: 'FILTERED', selects: ({ label }) => label.includes('b') },
  { where: '{ price: { above: 15 } }', type: 'FILTERED', selects: ({ price }) => price > 15 },
  { where: '{ brand: Acme }', type: 'MANUAL', selects: ({ brand }) => brand.toLowerCase() === 'acme' },
  { where: '{ brand: Bolt }', type: 'MANUAL', selects: ({ brand }) => brand === 'Bolt' },
]

const faults = [
  'none',
  'none',
  'commit_then_reset',
  'truncate',
  'short',
  'html',
  'refused',
  'unavailable',
  'duplicate_results',
  'null_key',
  'reset',
  'partial_apply',
] as const

const day = fc.record({
  products: fc.array(
    fc.tuple(
      fc.integer({ min: 0, max: 11 }),
      fc.option(
        fc.record({
          brand: fc.constantFrom('Acme', 'acme', 'Bolt'),
          label: fc.constantFrom('a', 'b', 'ab'),
          price: fc.constantFrom(10, 20),
        }) satisfies fc.Arbitrary<Product>,
        { nil: undefined },
      ),
    ),
    { maxLength: 5 },
  ),
  rules: fc.array(
    fc.tuple(
      fc.constantFrom('Summer', 'Winter', 'Sale'),
      fc.option(fc.tuple(fc.constantFrom(...rules), fc.constantFrom(null, 'one', 'two')), { nil: undefined }),
    ),
    { maxLength: 2 },
  ),
  fault: fc.constantFrom(...faults),
  path: fc.constantFrom(sets, `${catalog}/products`, catalog),
  nth: fc.integer({ min: 1, max: 3 }),
  how: fc.constantFrom('run', 'run', 'run', 'full', 'apply', 'stop', 'die', 'planned', 'power', 'failed'),
  statement: fc.integer({ min: 1, max: 200 }),
  other: fc.constantFrom('nothing', 'nothing', 'nothing', 'rename', 'delete', 'audit'),
})

test('after any history, each rule has one set with the products that it selects', { tags: ['model'], timeout: 240_000 }, async () => {
  await using engine = await engineUnderTest({ settings: { httpTimeoutMs: 1_000, horizonMs: 20, maxAttempts: 3 } })
  const { sandbox } = engine
  const { control } = sandbox
  const listed = async () => {
    const all: readonly { readonly id: string; readonly name: string; readonly product_ids: readonly string[] }[] = (
      await sandbox.call('GET', sets)
    ).body.data
    return all.filter(({ id }) => id !== FIRST['product_set_id'])
  }
  // Requests of ended runs need no wait, because none is in flight.
  const endWaits = async () => {
    await engine.db.execute('update product_set set late_until = clock_timestamp() where late_until is not null')
    await engine.db.execute('update remote set late_until = clock_timestamp() where late_until is not null')
  }
  await fc.assert(
    fc.asyncProperty(fc.array(day, { minLength: 2, maxLength: 6 }), fc.constantFrom('new', 'same'), async (days, readdKey) => {
      await control.reset()
      await control.switches({ rate_limits: 'off', readd_key: readdKey })
      await emptyDatabase(engine.db)
      // Both brands have a product that stays, because a set needs one.
      const products = new Map<string, Product>([
        ['A', { brand: 'Acme', label: 'a', price: 10 }],
        ['B', { brand: 'Bolt', label: 'b', price: 20 }],
      ])
      const kept = new Map<string, Rule>()
      const write = () => {
        engine.write(
          'feed.csv',
          `id,title,description,availability,condition,price,link,image_link,brand,custom_label_0\n${Array.from(
            products,
            ([id, { brand, label, price }]) =>
              `${id},Shirt,All about it,in stock,new,${price} EUR,https://shop.example.com/${id},https://shop.example.com/${id}.jpg,${brand},${label}\n`,
          ).join('')}`,
        )
        const lines = Array.from(
          kept,
          ([name, { where, description }]) =>
            `    - { name: ${name}, where: ${where}${description === null ? '' : `, description: ${description}`} }\n`,
        )
        engine.pipeline(
          'shop',
          `source: { url: "{folder}/feed.csv" }\nguards: { max_delete_count: 1000 }\ndestination:\n  kind: catalog\n  catalog_id: "4001"\n${lines.length === 0 ? '' : `  product_sets:\n${lines.join('')}`}`,
        )
      }
      const filters = [{ attribute: 'price', operator: 'GREATER_THAN', value: '1' }]
      const unmanaged: string = (await sandbox.call('POST', sets, { json: { name: 'By hand', type: 'FILTERED', filters } })).body.data.id
      for (const one of days) {
        for (const [n, product] of one.products) product === undefined ? products.delete(`P${n}`) : products.set(`P${n}`, product)
        for (const [name, rule] of one.rules) rule === undefined ? kept.delete(name) : kept.set(name, { ...rule[0], description: rule[1] })
        write()
        const body = { errors: [{ code: 'INVALID_PARAMETER', message: 'not now' }] }
        const fault =
          one.fault === 'refused'
            ? { kind: 'status', status: 400, body }
            : one.fault === 'unavailable'
              ? { kind: 'status', status: 503 }
              : { kind: one.fault }
        if (one.fault !== 'none') await control.fault({ path: one.path, nth: one.nth }, fault)
        if (one.how === 'apply') await engine.apply((await engine.plan('shop')).planId)
        else if (one.how === 'power') await runWithPowerFailure(engine, 'shop', one.statement)
        else if (one.how === 'stop' || one.how === 'die' || one.how === 'planned') await interruptedRun(engine, 'shop', one.how)
        else {
          const report = await engine.run('shop', { full: one.how === 'full' })
          expect([report.error, imbalance(report.counts)]).toEqual([undefined, []])
          if (one.how === 'failed') await engine.rerun(report.runId, { failedOnly: true })
        }
        await control.clearFaults()
        const [own] = (await listed()).filter(({ id }) => id !== unmanaged)
        if (one.other === 'audit') await engine.audit('shop', { repair: true })
        else if (own !== undefined && one.other === 'rename') await sandbox.call('PUT', `${sets}/${own.id}`, { json: { name: 'Renamed' } })
        else if (own !== undefined && one.other === 'delete') await sandbox.call('DELETE', `${sets}/${own.id}`)
      }
      // Unresolved requests are resolved before newer values are sent. `full`: an answer had no key.
      for (let i = 0; i < 4; i++) {
        await endWaits()
        await engine.run('shop', { full: i === 2 })
      }
      expect((await control.products()).map(({ id }) => id)).toEqual([...products.keys()].toSorted())
      const [first, ...managed] = (await listed())
        .map((set) => ({ ...set, product_ids: set.product_ids.toSorted() }))
        .toSorted((a, b) => a.name.localeCompare(b.name))
      expect(first).toMatchObject({ id: unmanaged, name: 'By hand' })
      const expected = Array.from(kept, ([name, { type, description, selects }]) => ({
        name,
        type,
        description,
        product_ids: [...products].flatMap(([id, product]) => (selects(product) ? [id] : [])).toSorted(),
      }))
      expect(managed).toMatchObject(expected.toSorted((a, b) => a.name.localeCompare(b.name)))
      const after = await engine.mark()
      expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
      expect(await engine.writes(after)).toEqual([])
      expect((await control.violations()).filter(({ rule }) => rule !== 'same_body_at_once')).toEqual([])
    }),
    histories(3),
  )
})
