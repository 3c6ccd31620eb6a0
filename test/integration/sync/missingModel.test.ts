/**
 * Random days of a catalog, compared with one map. The `missing` policy changes, and there are backfills, faults and stops
 * (docs/guarantees.md#nothing-lost, docs/guarantees.md#deletes-need-proof).
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { catalogDigest } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, imbalance } from '../../support/engine.ts'
import { goodProduct, item, rss, expectedProduct } from '../acceptance/products.ts'
import { emptyDatabase, histories } from '../../support/histories.ts'

const policies = ['delete', 'out-of-stock', 'keep'] as const
const faults = ['none', 'none', 'commit_then_reset', 'truncate', 'short', 'html', 'status', 'duplicate_results'] as const

interface Day {
  /** Product → price in hundreds; 0 if it is not in the feed. */
  readonly price: readonly (readonly [product: number, price: number])[]
  readonly policy: (typeof policies)[number]
  readonly fault: (typeof faults)[number]
  readonly how: 'run' | 'full' | 'plan' | 'apply' | 'backfill' | 'failed'
}

const day: fc.Arbitrary<Day> = fc.record({
  price: fc.array(fc.tuple(fc.integer({ min: 0, max: 30 }), fc.constantFrom(0, 0, 1, 2, 3)), { maxLength: 10 }),
  policy: fc.constantFrom(...policies),
  fault: fc.constantFrom(...faults),
  how: fc.constantFrom('run', 'run', 'run', 'full', 'plan', 'apply', 'backfill', 'failed'),
})

test('a catalog has the products that feeds and `missing` policies require', { tags: ['model'], timeout: 240_000 }, async () => {
  await using engine = await engineUnderTest({ settings: { httpTimeoutMs: 1_000, horizonMs: 20 } })
  const { control } = engine.sandbox
  await fc.assert(
    fc.asyncProperty(fc.array(day, { minLength: 2, maxLength: 7 }), fc.constantFrom(...policies), async (days, last) => {
      await control.reset()
      await emptyDatabase(engine.db)
      const feed = new Map<number, number>([[99, 1]])
      const held = new Map<number, Readonly<Record<string, unknown>>>()
      const file = (name: string, products: Iterable<readonly [number, number]>) =>
        engine.write(name, rss(Array.from(products, ([n, price]) => item(goodProduct(n, price * 100)))))
      const product = (n: number, price: number) => expectedProduct(goodProduct(n, price * 100))
      const read = async (policy: Day['policy'], how: Day['how']) => {
        engine.pipeline('shop', `${catalogYaml('feed.xml', `, missing: ${policy}`)}guards: { max_delete_count: 1000, min_rows: 0 }\n`)
        file('feed.xml', feed)
        for (const [n, was] of held) {
          if (feed.has(n)) continue
          if (policy === 'delete') held.delete(n)
          else if (policy === 'out-of-stock')
            held.set(n, { ...was, availability: 'out of stock', ...('inventory' in was ? { inventory: 0 } : {}) })
        }
        for (const [n, price] of feed) held.set(n, product(n, price))
        if (how === 'plan') return engine.plan('shop')
        if (how === 'apply') return engine.apply((await engine.plan('shop')).planId)
        const report = await engine.run('shop', how === 'full' ? { full: true } : {})
        return how === 'failed' ? engine.rerun(report.runId, { failedOnly: true }) : report
      }
      await read('keep', 'run')
      for (const { price, policy, fault, how } of days) {
        if (fault !== 'none')
          await control.fault(
            { path: '/12/product_catalogs', nth: 1 },
            fault === 'status' ? { kind: 'status', status: 503 } : { kind: fault },
          )
        if (how === 'backfill') {
          const some = new Map(price.filter(([, cents]) => cents > 0))
          if (some.size > 0) {
            file('old.xml', some)
            for (const [n, cents] of some) held.set(n, product(n, cents))
            expect(imbalance((await engine.backfill('shop', 'old.xml')).counts)).toEqual([])
          }
        } else {
          for (const [n, cents] of price) cents === 0 ? feed.delete(n) : feed.set(n, cents)
          const report = await read(policy, how)
          expect(report.error).toBeUndefined()
          if (how !== 'plan') expect(imbalance(report.counts)).toEqual([])
        }
        await control.clearFaults()
      }
      for (let i = 0; i < 3; i++) await read(last, 'run')
      const products = await control.products()
      expect(products.map(({ id, price, availability }) => `${id} ${price} ${availability}`)).toEqual(
        [...held.values()].map((p) => `${String(p['id'])} ${String(p['price'])} ${String(p['availability'])}`).sort(),
      )
      expect((await control.catalog()).digest).toBe(catalogDigest(held.values()))
      expect(await control.violations()).toEqual([])
      const after = await engine.mark()
      expect((await read(last, 'run')).counts).toMatchObject({ requests: 0, creates: 0, updates: 0, deletes: 0 })
      expect(await engine.writes(after)).toEqual([])
    }),
    histories(6),
  )
})
