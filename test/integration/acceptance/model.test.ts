/**
 * Random sequences of feed changes, runs and single faults against a model of two maps (docs/guarantees.md). Once the faults are over,
 * a last run brings the service to the state of the model.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Database } from '../../../src/db/database.ts'
import { isOutOfSync } from '../../../src/db/changedKeys.ts'
import { audienceDigest, catalogDigest, email, type Identifier } from '../../support/digests.ts'
import { engineUnderTest } from '../../support/agreement.ts'
import { catalogYaml, imbalance } from '../../support/engine.ts'
import { faultOf, sandboxAudience, staticListTarget, type PeopleTarget } from './peopleTargets.ts'
import { goodProduct, item, rss, expectedProduct } from './products.ts'
import { everyKey } from '../../support/everyKey.ts'
import { emptyDatabase, histories } from '../../support/histories.ts'

const kinds = [
  'none',
  'counts',
  'commit_then_reset',
  'truncate',
  'short',
  'long',
  'duplicate_results',
  'html',
  'empty',
  'status',
  'reset',
  'partial_apply',
  'reorder',
  'refuse',
  'refuse_one',
] as const
const people = Array.from({ length: 12 }, (_, i) => `p${i}`)
const addresses = Array.from({ length: 9 }, (_, i) => `a${i}@example.com`)

interface Step {
  /** Person → addresses; empty if the person has no row. */
  readonly hold: readonly (readonly [person: string, addresses: readonly string[]])[]
  /** Product → price; 0 if it has no row. */
  readonly price: readonly (readonly [product: number, price: number])[]
  readonly fault: (typeof kinds)[number]
  readonly nth: number
  readonly how: 'run' | 'full' | 'plan' | 'apply'
  readonly feed: 'shop' | 'people'
}

const step: fc.Arbitrary<Step> = fc.record({
  hold: fc.array(fc.tuple(fc.constantFrom(...people), fc.uniqueArray(fc.constantFrom(...addresses), { maxLength: 3 })), { maxLength: 6 }),
  price: fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3 }))), { maxLength: 12 }),
  fault: fc.constantFrom(...kinds),
  nth: fc.integer({ min: 1, max: 3 }),
  how: fc.constantFrom('run', 'run', 'run', 'full', 'plan', 'apply'),
  feed: fc.constantFrom('shop', 'people'),
})

const peopleYaml = (target: PeopleTarget, packed: number) => `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2, e3] }
${target.yaml(`, users_per_operation: ${packed}`)}
guards: { max_delete_count: 1000, min_rows: 0 }
`

/** Keys that are out of sync and that no later plan would select, because they are not stored as changed. */
function overlooked(db: Database): Promise<unknown[]> {
  return db.query(
    `select m.key from ${everyKey} m join sluice.destination d on d.id = m.destination_id
     where not d.all_changed and ${isOutOfSync} and not exists (
       select from sluice.changed_key c where c.destination_id = m.destination_id and m.key = any(c.keys))`,
  )
}

test.for([sandboxAudience, staticListTarget])(
  'after any history, a catalog and $name have the content of the feeds',
  { tags: ['model'], timeout: 240_000 },
  async (target) => {
    await using engine = await engineUnderTest({ settings: { httpTimeoutMs: 1_000, horizonMs: 20, usersInFirstPart: 2 } })
    const { control } = engine.sandbox
    const list = await target.open(engine)
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 2, maxLength: 5 }),
        fc.constantFrom('user', 'identifier'),
        fc.constantFrom(1, 5),
        async (steps, reach, packed) => {
          await control.reset()
          await list.reset()
          await control.switches({ delete_reach: reach })
          await emptyDatabase(engine.db)
          engine.pipeline('shop', `${catalogYaml('feed.xml')}guards: { max_delete_count: 1000, min_rows: 0 }\n`)
          engine.pipeline('people', peopleYaml(target, packed))
          const held = new Map<string, readonly string[]>()
          const prices = new Map<number, number>([[1, 1]])
          const write = () => {
            engine.write(
              'people.csv',
              `id,e1,e2,e3\n${Array.from(held, ([id, list]) => `${id},${[0, 1, 2].map((i) => list[i] ?? '').join(',')}\n`).join('')}keep,keep@example.org,,\n`,
            )
            engine.write('feed.xml', rss(Array.from(prices, ([n, price]) => item(goodProduct(n, price * 100)))))
          }
          const expected = (): [string, string] => {
            const identifiers: Identifier[] = [email('keep@example.org'), ...[...held.values()].flat().map(email)]
            return [
              audienceDigest(identifiers),
              catalogDigest(Array.from(prices, ([n, price]) => expectedProduct(goodProduct(n, price * 100)))),
            ]
          }
          write()
          for (const { hold, price, fault, nth, how, feed } of steps) {
            for (const [person, list] of hold) list.length === 0 ? held.delete(person) : held.set(person, list)
            for (const [product, cents] of price)
              cents === 0 && prices.size > 1 ? prices.delete(product) : cents > 0 && prices.set(product, cents)
            write()
            if (fault !== 'none' && feed === 'people') await list.fault(fault, nth)
            else if (fault !== 'none') await control.fault({ path: '/12/product_catalogs', nth }, faultOf(fault))
            if (how === 'plan' || how === 'apply') {
              const { planId } = await engine.plan(feed)
              if (how === 'apply') await engine.apply(planId)
            } else {
              const report = await engine.run(feed, how === 'full' ? { full: true } : {})
              expect(imbalance(report.counts)).toEqual([])
              expect(report.error).toBeUndefined()
            }
            await control.clearFaults()
            expect(await overlooked(engine.db)).toEqual([])
          }
          // Refused operations are sent again; two runs, because some had to wait for an earlier attempt.
          for (const name of ['shop', 'people', 'shop', 'people']) await engine.run(name)
          expect([await list.digest(), (await control.catalog()).digest]).toEqual(expected())
          expect(await control.violations()).toEqual([])
          const after = await engine.mark()
          const writes = await list.writes()
          for (const name of ['shop', 'people'])
            expect((await engine.run(name)).counts).toMatchObject({ requests: 0, creates: 0, updates: 0, deletes: 0 })
          expect([await engine.writes(after), await list.writes()]).toEqual([[], writes])
        },
      ),
      histories(10),
    )
  },
)
