/** Random edits of another writer, beside a changing feed: audit, repair and apply reach the content of the feed. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { catalogDigest } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'
import { product } from '../../support/product.ts'
import { putBehind, removeBehind } from '../../support/thirdParty.ts'
import { goodProduct, item, rss, expectedProduct } from '../acceptance/products.ts'
import { emptyDatabase, histories, runEach, untilQuiet } from '../../support/histories.ts'

const faults = ['none', 'none', 'commit_then_reset', 'truncate', 'html', 'cursor_expired', 'status'] as const

interface Day {
  /** Product → price in hundreds; 0 if it is no longer in the feed. */
  readonly feed: readonly (readonly [product: number, price: number])[]
  readonly edits: readonly (readonly [product: number, how: Edit])[]
  readonly fault: (typeof faults)[number]
  /** Fate of the feed's changes before the audit: sent, only planned, or not read. */
  readonly before: 'run' | 'plan' | 'nothing'
  readonly applied: boolean
}
type Edit = 'retitled' | 'extended' | 'regrouped' | 'removed' | 'put back' | 'foreign'

const number = fc.integer({ min: 1, max: 40 })
const day: fc.Arbitrary<Day> = fc.record({
  feed: fc.array(fc.tuple(number, fc.constantFrom(0, 0, 1, 2, 3)), { maxLength: 5 }),
  edits: fc.array(fc.tuple(number, fc.constantFrom<Edit>('retitled', 'extended', 'regrouped', 'removed', 'put back', 'foreign')), {
    maxLength: 8,
  }),
  fault: fc.constantFrom(...faults),
  before: fc.constantFrom('run', 'run', 'plan', 'nothing'),
  applied: fc.boolean(),
})

test(
  'a catalog that another writer edits has the content of the feed, and unmanaged products are not changed',
  { tags: ['model'], timeout: 240_000 },
  async () => {
    await using engine = await engineUnderTest({ settings: { httpTimeoutMs: 1_000, horizonMs: 20 } })
    const { control } = engine.sandbox
    engine.pipeline('shop', `${catalogYaml('feed.xml')}guards: { max_delete_count: 1000, min_rows: 0 }\n`)
    await fc.assert(
      fc.asyncProperty(fc.array(day, { minLength: 1, maxLength: 4 }), async (days) => {
        await control.reset()
        await emptyDatabase(engine.db)
        const feed = new Map<number, number>(Array.from({ length: 30 }, (_, n) => [n + 1, 1]))
        const foreign = new Map<string, Record<string, unknown>>()
        const write = () => engine.write('feed.xml', rss(Array.from(feed, ([n, price]) => item(goodProduct(n, price * 100)))))
        const edit = async (n: number, how: Edit) => {
          const id = `SKU-${n}`
          const was = (await control.products()).find((one) => one.id === id)
          if (how === 'foreign') {
            const stranger = product(`STRANGER-${n}`)
            foreign.set(`STRANGER-${n}`, stranger)
            return putBehind(engine, stranger)
          }
          if (was === undefined) return
          if (how === 'removed' || how === 'put back') await removeBehind(engine, id)
          if (how === 'put back') await putBehind(engine, was)
          if (how === 'retitled') await putBehind(engine, { ...was, title: 'Hijacked' })
          if (how === 'extended') await putBehind(engine, { ...was, custom_label_0: 'theirs', color: 'red' })
          if (how === 'regrouped') await putBehind(engine, { ...was, item_group_id: 'G-1' })
        }
        write()
        await engine.run('shop')
        for (const { feed: changes, edits, fault, before, applied } of days) {
          for (const [n, price] of changes) price === 0 ? feed.delete(n) : feed.set(n, price)
          write()
          if (before === 'run') await engine.run('shop')
          if (before === 'plan') await engine.plan('shop')
          for (const [n, how] of edits) await edit(n, how)
          if (fault !== 'none')
            await control.fault(
              { path: '/12/product_catalogs', nth: 1 },
              fault === 'status' ? { kind: 'status', status: 503 } : { kind: fault },
            )
          const report = await engine.audit('shop', { repair: true })
          const { same, changed, notListed, hidden, unresolved } = report.drift
          const [own] = await engine.db.query<{ n: number }>(
            'select count(*)::int as n from sluice.remote where ref_count > 0 and synced_hash is not null',
          )
          expect(same + changed + notListed + hidden + unresolved).toBe(own?.n)
          if (applied && report.planId !== undefined) await engine.apply(report.planId)
          await control.clearFaults()
        }
        // The last feed, then all products that still differ from their confirmed content.
        await engine.run('shop')
        await engine.run('shop')
        const last = await engine.audit('shop', { repair: true })
        if (last.planId !== undefined)
          expect(await engine.apply(last.planId)).toMatchObject({ counts: { refused: 0, ambiguous: 0, pending: 0 } })
        // If another writer changed the key of a delete, a put gets the new key, and one more run is needed
        // (docs/decisions/lost-delete-answers.md).
        await untilQuiet(3, () => runEach(engine, ['shop']))
        const corrected = [...Array.from(feed, ([n, price]) => expectedProduct(goodProduct(n, price * 100))), ...foreign.values()]
        expect((await control.products()).map(({ id }) => id)).toEqual(corrected.map(({ id }) => id).toSorted())
        expect((await control.catalog()).digest).toBe(catalogDigest(corrected))
        expect(await engine.audit('shop')).toMatchObject({
          status: 'succeeded',
          drift: { changed: 0, notListed: 0, unresolved: 0, waiting: 0 },
        })
        // The other writer may send the same edit twice in a row, and is in no counts.
        expect((await control.violations()).filter(({ rule }) => rule !== 'same_body_at_once')).toEqual([])
      }),
      histories(6),
    )
  },
)
