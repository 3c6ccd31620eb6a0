/**
 * Random histories of a catalog and an audience: changes, shared identifiers with their own ends, faults, refusals, crashes and stops.
 * Also guards, approvals, other writers and passing months. After a run, its report shows every key that is out of sync as withheld,
 * refused or unresolved.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rowIdentifiers } from '../../../src/db/identifiers.ts'
import { openStatuses } from '../../../src/db/batches/states.ts'
import { entriesOf } from '../../../src/db/entries/read.ts'
import { listRuns } from '../../../src/sync/reports/history.ts'
import type { RunReport } from '../../../src/model/report.ts'
import { audienceDigest, catalogDigest, email } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { outOfOrder } from '../../support/attemptOrder.ts'
import { interruptedRun } from '../../support/interrupted.ts'
import { goodProduct, item, rss, expectedProduct } from '../acceptance/products.ts'
import { everyKey } from '../../support/everyKey.ts'
import { emptyDatabase, histories } from '../../support/histories.ts'

const people = Array.from({ length: 8 }, (_, i) => `p${i}`)
const addresses = Array.from({ length: 7 }, (_, i) => `a${i}@example.com`)
const dayMs = 86_400_000

const faults = {
  none: undefined,
  commit_then_reset: { kind: 'commit_then_reset' },
  reset: { kind: 'reset' },
  counts: { kind: 'counts' },
  truncate: { kind: 'truncate' },
  unavailable: { kind: 'status', status: 503 },
  refused: { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
  forbidden: { kind: 'status', status: 403, body: { errors: [{ code: 'ACTION_NOT_ALLOWED', message: 'no' }] } },
  // Refused in the answer, but applied; for products that stay.
  product: { kind: 'product_error', ids: ['SKU-98', 'SKU-99'] },
} as const

interface Step {
  /** Person → addresses, and days until the end of the membership (0 without one). Without an address, the person has no row. */
  readonly hold: readonly (readonly [person: string, addresses: readonly string[], ends: number])[]
  /** Product → price; 0 if it has no row. */
  readonly price: readonly (readonly [product: number, price: number])[]
  /** Product that another writer deletes at the service, if it is missing from the feed too. */
  readonly taken: number
  readonly fault: keyof typeof faults
  readonly times: number
  readonly how: 'run' | 'full' | 'plan' | 'apply' | 'stop' | 'die' | 'planned' | 'failed' | 'approve'
  readonly feed: 'shop' | 'people'
  readonly days: number
}

const step: fc.Arbitrary<Step> = fc.record({
  hold: fc.array(
    fc.tuple(
      fc.constantFrom(...people),
      fc.uniqueArray(fc.constantFrom(...addresses), { maxLength: 3 }),
      fc.constantFrom(0, 0, 40, 100, 200),
    ),
    { maxLength: 4 },
  ),
  price: fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3 }))), { maxLength: 5 }),
  taken: fc.integer({ min: 0, max: 25 }),
  fault: fc.constantFrom(
    'none' as const,
    'none' as const,
    'commit_then_reset' as const,
    'reset' as const,
    'counts' as const,
    'truncate' as const,
    'unavailable' as const,
    'refused' as const,
    'forbidden' as const,
    'product' as const,
  ),
  times: fc.integer({ min: 1, max: 4 }),
  how: fc.constantFrom('run', 'run', 'full', 'plan', 'apply', 'stop', 'die', 'planned', 'failed', 'approve'),
  feed: fc.constantFrom('shop', 'people'),
  days: fc.constantFrom(0, 0, 0, 25, 60),
})

const peopleYaml = (guard: number) => `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2, e3], expires_at: ends }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { max_delete_count: ${guard}, max_delete_percent: 0, min_rows: 0 }
`
const shopYaml = (guard: number) => `${catalogYaml('feed.xml')}guards: { max_delete_count: ${guard}, max_delete_percent: 0, min_rows: 0 }\n`

test(
  'after a run, every key that is out of sync is withheld, refused or unresolved in its report',
  { tags: ['model'], timeout: 600_000 },
  async () => {
    await using engine = await engineUnderTest({ settings: { httpTimeoutMs: 1_000, horizonMs: 20, usersInFirstPart: 2 } })
    const { control } = engine.sandbox
    const calendar = keepCalendar(engine)
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 2, maxLength: 8 }),
        fc.constantFrom('user', 'identifier'),
        fc.constantFrom(1, 1_000),
        async (steps, reach, guard) => {
          await control.reset()
          await control.switches({ delete_reach: reach })
          await emptyDatabase(engine.db)
          engine.pipeline('shop', shopYaml(guard))
          engine.pipeline('people', peopleYaml(guard))
          const held = new Map<string, { readonly addresses: readonly string[]; readonly endsAtMs: number }>()
          const prices = new Map<number, number>([
            [98, 1],
            [99, 1],
          ])
          const away = new Set<number>()
          const startMs = Math.floor(Date.now() / 1_000) * 1_000
          let passedMs = 0
          // No two ends are equal. After the days move back, equal ends could be confused.
          let ended = 0
          calendar.reset()
          const write = () => {
            const rows = Array.from(held, ([id, { addresses: some, endsAtMs }]) => {
              const ends = endsAtMs === 0 ? '' : new Date(endsAtMs - passedMs).toISOString()
              return `${id},${[0, 1, 2].map((i) => some[i] ?? '').join(',')},${ends}\n`
            })
            engine.write('people.csv', `id,e1,e2,e3,ends\n${rows.join('')}keep,keep@example.org,,,\n`)
            engine.write('feed.xml', rss(Array.from(prices, ([n, price]) => item(goodProduct(n, price * 100)))))
          }
          write()
          for (const { hold, price, taken, fault, times, how, feed, days } of steps) {
            for (const [person, some, ends] of hold) {
              if (some.length === 0) held.delete(person)
              else held.set(person, { addresses: some, endsAtMs: ends === 0 ? 0 : startMs + passedMs + ends * dayMs + 1_000 * ++ended })
            }
            for (const [product, cents] of price) {
              // If it were desired again, Sluice could not know that another writer deleted it.
              if (cents === 0 || away.has(product)) prices.delete(product)
              else prices.set(product, cents)
            }
            if (days > 0) {
              await pass(engine, days)
              passedMs += days * dayMs
              calendar.pass(days * dayMs)
            }
            for (const [person, { endsAtMs }] of held) if (endsAtMs !== 0 && endsAtMs < startMs + passedMs + dayMs) held.delete(person)
            write()
            // The sandbox does not distinguish writers. It would report an unresolved put that is sent again after the delete as a
            // violation.
            if (!prices.has(taken) && (await hasNoUnresolvedProduct(engine))) {
              away.add(taken)
              await takeAway(engine, `SKU-${taken}`)
            }
            if (faults[fault] !== undefined) await control.fault({ path: '/12/' }, faults[fault], times)
            if (how === 'plan') await engine.plan(feed)
            else if (how === 'apply') await engine.apply((await engine.plan(feed)).planId)
            else if (how === 'stop' || how === 'die' || how === 'planned') await interruptedRun(engine, feed, how)
            else {
              const report = await engine.run(feed, how === 'full' ? { full: true } : how === 'approve' ? { approveDeletes: 1_000 } : {})
              expect(imbalance(report.counts)).toEqual([])
              expect(await unexplained(engine, report)).toEqual([])
              if (how === 'failed') expect(imbalance((await engine.rerun(report.runId, { failedOnly: true })).counts)).toEqual([])
            }
            await control.clearFaults()
          }
          let last: RunReport[] = []
          for (let i = 0; i < 4; i++) {
            last = []
            for (const name of ['shop', 'people']) {
              const report = await engine.run(name, { approveDeletes: 1_000 })
              expect(await unexplained(engine, report)).toEqual([])
              last.push(report)
            }
          }
          expect(last.map(({ status, counts }) => [status, counts.requests])).toEqual([
            ['succeeded', 0],
            ['succeeded', 0],
          ])
          // The counts of every run add up, for any end of the run, and none has an unresolved request.
          for (const { runId, counts, trigger } of await listRuns(engine.db, { limit: 1_000 }))
            expect([runId, trigger === 'plan' ? [] : imbalance(counts), counts.ambiguous]).toEqual([runId, [], 0])
          const living = [...held.values()].flatMap(({ addresses: some }) => some)
          expect((await control.audience()).digest).toBe(audienceDigest([...living, 'keep@example.org'].map(email)))
          // The latest end of all people with an address applies; without an end it is kept.
          const ends = new Map<string, number>()
          for (const { addresses: some, endsAtMs } of held.values()) {
            const atMs = endsAtMs === 0 ? Number.POSITIVE_INFINITY : endsAtMs - passedMs
            for (const address of some) ends.set(address, Math.max(ends.get(address) ?? 0, atMs))
          }
          for (const [address, endsAtMs] of ends) {
            const [row] = await engine.db.query<{ ms: number }>(
              `select (extract(epoch from expires_at) * 1000)::float8 as ms from ${everyKey} m where key = $1`,
              [Buffer.from(`01${email(address)[1]}`, 'hex')],
            )
            if (Number.isFinite(endsAtMs)) expect([address, row?.ms]).toEqual([address, endsAtMs])
            else expect([address, (row?.ms ?? 0) > startMs + 29 * dayMs]).toEqual([address, true])
          }
          expect((await control.catalog()).digest).toBe(
            catalogDigest(Array.from(prices, ([n, price]) => expectedProduct(goodProduct(n, price * 100)))),
          )
          // An operation that expired while its outcome was unknown is superseded and not sent again (docs/guarantees.md#freshness). So the
          // rule of docs/guarantees.md#key-order does not apply. The backoffs of this test are a millisecond, so `same_body_at_once` does
          // not apply either.
          const allowed = ['same_body_at_once', ...(passedMs === 0 ? [] : ['newer_before_older_settled'])]
          const broken = (await control.violations()).filter(({ rule }) => !allowed.includes(rule))
          expect(broken).toEqual([])
          expect(await outOfOrder(engine.db)).toEqual([])
        },
      ),
      histories(5),
    )
  },
)

/** Keys that are out of sync after a run that does not report them. */
async function unexplained(engine: EngineUnderTest, report: RunReport): Promise<unknown[]> {
  // A pause reports that nothing more was sent.
  if (report.error !== undefined) return []
  return engine.db.query(
    `select encode(m.key, 'escape') as key, m.ref_count, m.desired_hash is not distinct from m.synced_hash as same, m.synced_hash is not null as synced,
       m.refused_code, m.late_until > clock_timestamp() as late, $2::text as status
     from ${everyKey} m join sluice.run r on r.destination_id = m.destination_id and r.id = $1
     where ((m.ref_count > 0 and m.desired_hash is distinct from m.synced_hash) or (m.ref_count = 0 and m.synced_hash is not null))
       and not ($2 = 'partial' and (m.refused_code is not null or ($3 > 0 and m.ref_count = 0) or m.late_until > clock_timestamp() or exists (
         select from sluice.batch b cross join ${entriesOf('b.id')} e
         where e.destination_id = m.destination_id and m.key = any(e.keys) and b.status in ('pending', 'ambiguous', 'in_flight', 'parked', 'superseded'))))
       -- Beside withheld deletes the run may also have left something refused: it says the worse of the two.
       and not ($2 = 'withheld' and (m.ref_count = 0 or m.refused_code is not null or exists (
         select from sluice.remote g where g.destination_id = m.destination_id and g.group_key = m.group_key and g.ref_count = 0)))
       -- What its rows themselves let end.
       and not exists (select from sluice.record o where o.destination_id = m.destination_id and m.key = any(${rowIdentifiers('o')}) and o.expires_at <= clock_timestamp())`,
    [Number(report.runId.slice(2)), report.status, report.counts.deferred],
  )
}

/** Makes all stored data older, and moves the clock of the service forward. */
async function pass(engine: EngineUnderTest, days: number): Promise<void> {
  for (const [table, ...columns] of [
    ['remote', 'expires_at', 'late_until', 'synced_at'],
    ['record', 'expires_at', 'effective_at'],
    ['batch', 'expires_at', 'next_attempt_at', 'settled_at'],
    ['entry', 'expires_at'],
    ['batch_entries', 'expires_at'],
  ])
    await engine.db.execute(
      `update sluice.${table} set ${columns.map((column) => `${column} = ${column} - $1 * interval '1 day'`).join(', ')}`,
      [days],
    )
  await engine.sandbox.control.advance(days * 86_400)
}

/**
 * Moves the clock of the service ahead with the days; Sluice uses the clock of the machine. Each membership is sent with the times of the
 * day of its first attempt, so both sides agree on the day.
 */
function keepCalendar(engine: EngineUnderTest): { readonly pass: (ms: number) => void; readonly reset: () => void } {
  const { transport } = engine.deps
  const sentAt = new Map<string, number>()
  let passedMs = 0
  const later = (operation: UserOperation): UserOperation => {
    const text = JSON.stringify(operation)
    const ms = sentAt.get(text) ?? passedMs
    sentAt.set(text, ms)
    const move = (time: string) => `${new Date(Date.parse(time) + ms).toISOString().slice(0, 19)}Z`
    const times = Object.entries(operation.params).map(([name, value]) => [name, typeof value === 'string' ? move(value) : value])
    return { ...operation, params: Object.fromEntries(times) as UserOperation['params'] }
  }
  const exchange: typeof transport.exchange = (request) => {
    if (!request.path.includes('/custom_audiences/') || request.body === undefined) return transport.exchange(request)
    const operations = JSON.parse(Buffer.from(request.body).toString()) as UserOperation[]
    return transport.exchange({ ...request, body: Buffer.from(JSON.stringify(operations.map(later))) })
  }
  Object.assign(engine.deps, { transport: { ...transport, exchange } })
  return {
    pass: (ms) => void (passedMs += ms),
    reset: () => {
      passedMs = 0
      sentAt.clear()
    },
  }
}

interface UserOperation {
  readonly operation_type: string
  readonly params: Readonly<Record<string, unknown>>
}

async function hasNoUnresolvedProduct({ db }: EngineUnderTest): Promise<boolean> {
  const open = await db.query(
    `select from batch b join destination d on d.id = b.destination_id
     where d.kind = 'catalog' and b.attempts > 0 and b.status in ${openStatuses} limit 1`,
  )
  return open.length === 0
}

/** Deletes a product at the service as another writer, if it exists. */
async function takeAway(engine: EngineUnderTest, id: string): Promise<void> {
  const found = (await engine.sandbox.control.products()).find((product) => product.id === id)
  if (found === undefined) return
  await engine.sandbox.call('DELETE', '/12/product_catalogs/4001/products', { json: { product_keys: [found.product_key] } })
}
