/**
 * Random histories, replayed twice:
 * - A model replays the sandbox's ledger and gets the sandbox's state (docs/sandbox.md#switches).
 * - The audit log gives the synced state (docs/guarantees.md#nothing-silent).
 *
 * For each synced key, the ledger has a request that was answered and applied (docs/guarantees.md#confirmed-only). Once the faults are
 * over, the two states are equal (docs/guarantees.md#nothing-lost, docs/guarantees.md#key-order).
 */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { entriesOf, entryOutcome } from '../../../src/db/entries/read.ts'
import { identifierTypes } from '../../../src/model/record.ts'
import { audienceDigest, catalogDigest, email } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { outOfOrder } from '../../support/attemptOrder.ts'
import { interruptedRun } from '../../support/interrupted.ts'
import { withSandbox } from '../../support/sandbox.ts'
import { replayLedger, type LedgerState, type ReplayedLine } from '../../support/ledgerModel.ts'
import { goodProduct, item, rss, expectedProduct } from '../acceptance/products.ts'
import { everyKey } from '../../support/everyKey.ts'
import { emptyDatabase, histories, runEach, untilQuiet } from '../../support/histories.ts'

const people = Array.from({ length: 10 }, (_, i) => `p${i}`)
const addresses = Array.from({ length: 8 }, (_, i) => `a${i}@example.com`)
const kinds = [
  'none',
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
  'null_id',
  'unknown_status',
  'success_with_errors',
] as const

interface Step {
  readonly hold: readonly (readonly [person: string, addresses: readonly string[]])[]
  readonly list: readonly (readonly [address: string, listed: boolean])[]
  readonly price: readonly (readonly [product: number, price: number])[]
  readonly fault: (typeof kinds)[number]
  readonly nth: number
  readonly times: number
  readonly how: 'run' | 'full' | 'apply' | 'stop' | 'die'
  readonly feed: 'shop' | 'people' | 'optouts'
}

const step: fc.Arbitrary<Step> = fc.record({
  hold: fc.array(fc.tuple(fc.constantFrom(...people), fc.uniqueArray(fc.constantFrom(...addresses), { maxLength: 3 })), { maxLength: 5 }),
  list: fc.array(fc.tuple(fc.constantFrom(...addresses), fc.boolean()), { maxLength: 2 }),
  price: fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3 }))), { maxLength: 10 }),
  fault: fc.constantFrom(...kinds),
  nth: fc.integer({ min: 1, max: 3 }),
  times: fc.integer({ min: 1, max: 3 }),
  how: fc.constantFrom('run', 'run', 'full', 'apply', 'stop', 'die'),
  feed: fc.constantFrom('shop', 'people', 'optouts'),
})

/** Returns a history with a request of new content for every fault. Random histories rarely have one. */
function everyFault(feed: Step['feed']): Step[] {
  return [...new Set(kinds)].map((fault, i) => ({
    hold: [[`q${i}`, [`x${i}@example.com`]]],
    list: [[`y${i}@example.com`, true]],
    price: [[i, (i % 3) + 1]],
    fault,
    nth: 1,
    times: 1,
    how: 'run',
    feed,
  }))
}

const pipelines = {
  shop: `${catalogYaml('feed.xml')}guards: { max_delete_count: 1000, min_rows: 0 }\n`,
  people: `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2, e3] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { max_delete_count: 1000, min_rows: 0 }
`,
  optouts: `source: { url: "{folder}/optouts.csv" }
map: { email: email, remove: { column: status, values: ["back"] } }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`,
} as const

/** Keeps the text of every sent body by its digest, which the ledger has. */
function keepBodies(engine: EngineUnderTest): ReadonlyMap<string, string> {
  const { transport } = engine.deps
  const bodies = new Map<string, string>()
  const exchange: typeof transport.exchange = (request) => {
    const bytes = Buffer.from(request.body ?? '')
    bodies.set(createHash('sha256').update(bytes).digest('hex'), bytes.toString())
    return transport.exchange(request)
  }
  Object.assign(engine.deps, { transport: { ...transport, exchange } })
  return bodies
}

interface SyncedKey {
  readonly kind: string
  readonly target_id: string
  readonly key: Buffer
  readonly hash: string
  readonly body_sha256: string
}

const syncedKeys = (engine: EngineUnderTest) =>
  engine.db.query<SyncedKey & Record<string, unknown>>(
    `select d.kind, d.target_id, m.key, encode(m.synced_hash, 'hex') as hash, encode(b.body_sha256, 'hex') as body_sha256
     from ${everyKey} m join sluice.destination d on d.id = m.destination_id left join sluice.batch b on b.id = m.batch_id
     where length(m.synced_hash) <> 9`,
  )

/** Name in the model: `type value`, or the id of the product. */
function nameOf({ kind, key }: Pick<SyncedKey, 'kind' | 'key'>): string {
  return kind === 'catalog' ? key.toString() : `${identifierTypes[(key[0] ?? 1) - 1]} ${key.toString('hex', 1)}`
}

/**
 * Confirmed keys and contents as the audit log reports them: each confirmed entry of each checked request, in their order
 * (docs/guarantees.md#nothing-silent).
 */
async function replayAuditLog(engine: EngineUnderTest): Promise<Map<string, string>> {
  const rows = await engine.db.query<{ target_id: string; kind: string; operation: string; keys: Buffer[]; hash: string | null }>(
    `select d.target_id, d.kind, b.operation, e.keys, encode(e.hash, 'hex') as hash
     from sluice.audit a join sluice.batch b on b.id = a.batch_id join sluice.destination d on d.id = b.destination_id
       cross join ${entriesOf('b.id')} e
     where (a.detail ->> 'confirmed')::int > 0 and ${entryOutcome} = 'confirmed'
     order by a.id, e.ord`,
  )
  const synced = new Map<string, string>()
  for (const { target_id, kind, operation, keys, hash } of rows) {
    for (const key of keys) {
      const name = `${target_id} ${nameOf({ kind, key })}`
      if (operation === 'delete') synced.delete(name)
      else synced.set(name, hash ?? '')
    }
  }
  return synced
}

/**
 * Keys stored as confirmed without a request in the ledger that was answered by 200 and applied to them
 * (docs/guarantees.md#confirmed-only).
 */
function unfounded(synced: readonly SyncedKey[], lines: readonly ReplayedLine[], state: LedgerState): string[] {
  const answered = Map.groupBy(
    lines.filter(({ status }) => status === 200),
    (line) => line.body_sha256,
  )
  return synced.flatMap((one) =>
    (answered.get(one.body_sha256) ?? []).some(({ seq }) => state.wrote(seq, one.target_id, nameOf(one))) ? [] : [nameOf(one)],
  )
}

const userOperation = fc.record({
  type: fc.constantFrom('Update', 'Update', 'Delete'),
  users: fc.array(fc.uniqueArray(fc.constantFrom(...addresses), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 }),
})
const catalogCall = fc.oneof(
  fc.record({ put: fc.uniqueArray(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 3 }), price: fc.integer({ min: 1, max: 3 }) }),
  // There are products, and keys that were deleted before.
  fc.record({ gone: fc.uniqueArray(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 3 }) }),
)

test('the model of the ledger has the state of the service after any requests', { tags: ['model'], timeout: 60_000 }, async () => {
  await using sandbox = await withSandbox()
  const { control, call } = sandbox
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(userOperation, { minLength: 1, maxLength: 3 }), { maxLength: 8 }),
      fc.array(catalogCall, { minLength: 3, maxLength: 12 }),
      fc.constantFrom('user' as const, 'identifier' as const),
      fc.boolean(),
      async (uploads, calls, deleteReach, partly) => {
        await control.reset()
        await control.switches({ delete_reach: deleteReach, ledger_keys: 'on' })
        if (partly) await control.fault({ path: '/12/', every: 3 }, { kind: 'partial_apply' }, 'always')
        const bodies = new Map<string, string>()
        const send = async (method: string, path: string, json: unknown) => {
          bodies.set(createHash('sha256').update(JSON.stringify(json)).digest('hex'), JSON.stringify(json))
          return call(method, path, { json })
        }
        for (const operations of uploads)
          await send(
            'POST',
            '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users',
            operations.map(({ type, users }) => ({
              operation_type: type,
              params: { users: users.map((some) => ({ email: some.map((address) => email(address)[1]) })) },
            })),
          )
        const keys: string[] = []
        for (const one of calls) {
          if ('put' in one) {
            const { body } = await send('PUT', '/12/product_catalogs/4001/products', {
              products: one.put.map((n) => expectedProduct(goodProduct(n, one.price * 100))),
            })
            for (const { product_key: key } of body.data.products_response) if (key !== null && !keys.includes(key)) keys.push(key)
          } else {
            const some = one.gone.flatMap((n) => keys[n] ?? [])
            if (some.length > 0) await send('DELETE', '/12/product_catalogs/4001/products', { product_keys: some })
          }
        }
        const state = replayLedger((await control.ledger()) as ReplayedLine[], bodies, { deleteReach })
        expect([(await control.audience()).digest, (await control.catalog()).digest]).toEqual([
          audienceDigest(state.members('1nmth', Math.floor(Date.now() / 1000) + 5)),
          catalogDigest(state.products('4001')),
        ])
      },
    ),
    { ...histories(60), numRuns: 60 },
  )
})

test(
  'the replayed ledger is the state of the service, and the replayed audit log is the synced state',
  { tags: ['model'], timeout: 300_000 },
  async () => {
    await using engine = await engineUnderTest({ settings: { httpTimeoutMs: 1_000, horizonMs: 20, usersInFirstPart: 2 } })
    const { control } = engine.sandbox
    const bodies = keepBodies(engine)
    const nowS = () => Math.floor(Date.now() / 1000) + 5
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 2, maxLength: 6 }),
        fc.constantFrom('user', 'identifier'),
        async (steps, deleteReach) => {
          await control.reset()
          await control.switches({ delete_reach: deleteReach, ledger_keys: 'on' })
          await emptyDatabase(engine.db)
          for (const [name, yaml] of Object.entries(pipelines)) engine.pipeline(name, yaml)
          const held = new Map<string, readonly string[]>()
          const listed = new Map<string, boolean>()
          const prices = new Map<number, number>([[1, 1]])
          const write = () => {
            const rows = Array.from(held, ([id, some]) => `${id},${[0, 1, 2].map((i) => some[i] ?? '').join(',')}\n`)
            engine.write('people.csv', `id,e1,e2,e3\n${rows.join('')}keep,keep@example.org,,\n`)
            const names = Array.from(listed, ([address, on]) => `${address},${on ? 'out' : 'back'}\n`)
            engine.write('optouts.csv', `email,status\n${names.join('')}other@example.org,out\n`)
            engine.write('feed.xml', rss(Array.from(prices, ([n, price]) => item(goodProduct(n, price * 100)))))
          }
          const check = async () => {
            const lines = (await control.ledger()) as ReplayedLine[]
            const state = replayLedger(lines, bodies, { deleteReach: deleteReach as 'user' | 'identifier' })
            expect([(await control.audience()).digest, (await control.audience('2dnr')).digest, (await control.catalog()).digest]).toEqual([
              audienceDigest(state.members('1nmth', nowS())),
              audienceDigest(state.members('2dnr', nowS())),
              catalogDigest(state.products('4001')),
            ])
            const synced = await syncedKeys(engine)
            expect(unfounded(synced, lines, state)).toEqual([])
            const names = new Map(synced.map((one) => [`${one.target_id} ${nameOf(one)}`, one.hash]))
            expect(names).toEqual(await replayAuditLog(engine))
            return { state, names }
          }
          for (const { hold, list, price, fault, nth, times, how, feed } of steps) {
            for (const [person, some] of hold) some.length === 0 ? held.delete(person) : held.set(person, some)
            for (const [address, on] of list) listed.set(address, on)
            for (const [product, cents] of price)
              cents === 0 && prices.size > 1 ? prices.delete(product) : cents > 0 && prices.set(product, cents)
            write()
            if (fault !== 'none')
              await control.fault({ path: '/12/', nth }, fault === 'status' ? { kind: 'status', status: 503 } : { kind: fault }, times)
            if (how === 'apply') await engine.apply((await engine.plan(feed)).planId)
            else if (how === 'stop' || how === 'die') await interruptedRun(engine, feed, how)
            else await engine.run(feed, how === 'full' ? { full: true } : {})
            await control.clearFaults()
            await check()
          }
          await untilQuiet(3, () => runEach(engine, ['optouts', 'shop', 'people']))
          const { state, names } = await check()
          const there = [
            ...['1nmth', '2dnr'].flatMap((id) => state.members(id, nowS()).map(([type, value]) => `${id} ${type} ${value}`)),
            ...state.products('4001').map((product) => `4001 ${String(product['id'])}`),
          ]
          expect([...names.keys()].toSorted()).toEqual(there.toSorted())
          expect((await control.violations()).filter(({ rule }) => rule !== 'same_body_at_once')).toEqual([])
          expect(await outOfOrder(engine.db)).toEqual([])
          // In the model memberships end as at the service.
          await control.advance(14 * 31 * 86_400)
          expect((await control.audience()).digest).toBe(audienceDigest(state.members('1nmth', nowS() + 14 * 31 * 86_400)))
        },
      ),
      { ...histories(9), examples: (['shop', 'people', 'optouts'] as const).map((feed) => [everyFault(feed), 'user']) },
    )
  },
)
