import { describe, expect, test } from 'vitest'
import type { ExchangeRequest } from '../../../src/service/client/exchange.ts'
import { entriesOf, entryOutcome } from '../../../src/db/entries/read.ts'
import { planCounts } from '../../../src/sync/reports/planCounts.ts'
import { pushPlan } from '../../../src/sync/push/push.ts'
import { recoverAndResend } from '../../../src/sync/push/recoverAndResend.ts'
import { testDatabase } from '../../support/postgres.ts'
import { makeRequestsSmall } from '../../support/smallRequests.ts'
import { answer, failure, fakeService } from './fakeService.ts'
import {
  email,
  engineDeps,
  hex,
  plantBatch,
  plantDestination,
  plantPlan,
  product,
  productKey,
  several,
  syncedKeys,
  user,
  type PlantedEntry,
} from './planted.ts'

const n = 300
const carries = (request: ExchangeRequest, ...failing: number[]) =>
  failing.some((failing) => Buffer.from(request.body ?? '').includes(hex(email(failing))))
const operations = (request: ExchangeRequest) => (JSON.parse(Buffer.from(request.body ?? '').toString()) as unknown[]).length

const users = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => [email(from + i)])
/** Users of a request, operation by operation. */
const usersOf = (body: string | undefined) =>
  (JSON.parse(body ?? '') as { params: { users: { email: string[] }[] } }[]).map(({ params }) => params.users.map((user) => user.email))

async function push(script: Parameters<typeof scripted>[0], entries: number | readonly PlantedEntry[] = n) {
  await using database = await testDatabase({ mayBeUsed: true })
  const { db } = database
  const service = scripted(script)
  const destinationId = await plantDestination(db)
  const planted = await plantPlan(db, destinationId)
  await plantBatch(db, planted, typeof entries === 'number' ? Array.from({ length: entries }, (_, i) => user(email(i))) : entries)
  await pushPlan(await engineDeps(db, service), planted.planId)
  const left = await db.query<{ code: string; outcome: string; key: Buffer }>(
    `select e.code, e.outcome, e.keys[1] as key from sluice.batch b cross join ${entriesOf('b.id')} e where ${entryOutcome} <> 'confirmed'`,
  )
  const silent = await db.query(
    `select b.id, b.reason from sluice.batch b where b.status = 'split' and not exists (
       select from sluice.audit a where a.batch_id = b.id and a.what = 'batch.split')`,
  )
  expect(silent, 'each split batch has a line in the audit log').toEqual([])
  const [paused] = await db.query<{ paused_reason: string | null }>('select paused_reason from sluice.destination')
  return {
    requests: service.seen.length,
    seen: service.seen,
    counts: await planCounts(db, planted.planId),
    left: left.map(({ code, outcome, key }) => ({ code, outcome, key: hex(key) })),
    synced: await syncedKeys(db, destinationId),
    paused: paused?.paused_reason ?? null,
  }
}

function scripted(script: (request: ExchangeRequest) => ReturnType<typeof answer> | undefined) {
  const service = fakeService()
  service.script = (request) => script(request)
  return service
}

const halvings = Math.ceil(Math.log2(n))

describe('one failing user among many', () => {
  test.for([0, 1, 149, 150, 298, 299])(
    'halving finds failing user %i after a refusal without a pointer',
    { tags: ['long'] },
    async (failing) => {
      const result = await push((request) => (carries(request, failing) ? failure(400, 'INVALID_PARAMETER') : undefined))
      expect(result.counts).toMatchObject({ confirmed: n - 1, refused: 1, ambiguous: 0, pending: 0 })
      expect(result.left).toEqual([{ code: 'INVALID_PARAMETER', outcome: 'refused', key: hex(email(failing)) }])
      expect(result.requests - 1).toBeLessThanOrEqual(halvings + 2)
      expect(result.paused).toBeNull()
    },
  )

  test.for([0, 7, 150, 299])('counts that are always wrong with user %i park only that user', { tags: ['long'] }, async (failing) => {
    const result = await push((request) =>
      carries(request, failing)
        ? answer(200, { data: { success_count: operations(request) - 1, total_count: operations(request) } })
        : undefined,
    )
    expect(result.counts).toMatchObject({ confirmed: n - 1, refused: 0, ambiguous: 1 })
    expect(result.left).toEqual([{ code: 'count_mismatch', outcome: 'ambiguous', key: hex(email(failing)) }])
    // With two repeats there are three equal answers before the batch is split.
    expect(result.requests - 1).toBeLessThanOrEqual(halvings + 2 + 2)
  })

  test.for([
    ['no results', 'wrong-shape', () => ({ request: {} })],
    [
      'errors beside results',
      'errors-beside-results',
      (count: number) => ({ data: { success_count: count, total_count: count }, errors: [{ code: 'X' }] }),
    ],
    ['errors of an unknown form', 'unreadable-errors', () => ({ errors: 'no' })],
  ] as const)('a success that always has %s with one user parks only that user', async ([, code, body]) => {
    const result = await push((request) => (carries(request, 42) ? answer(200, body(operations(request))) : undefined))
    expect(result.counts).toMatchObject({ confirmed: n - 1, refused: 0, ambiguous: 1 })
    expect(result.left).toEqual([{ code, outcome: 'ambiguous', key: hex(email(42)) }])
    expect(result.requests - 1).toBeLessThanOrEqual(halvings + 2 + 2)
  })

  test('an answer without any result for its products parks only the product that causes it', async () => {
    await using database = await testDatabase()
    const { db } = database
    const service = scripted((request) =>
      Buffer.from(request.body ?? '').includes('"p7"') ? answer(200, { data: { products_response: [] } }) : undefined,
    )
    const planted = await plantPlan(db, await plantDestination(db, 'catalog', '4001'))
    await plantBatch(
      db,
      planted,
      Array.from({ length: 20 }, (_, i) => product(`p${i}`)),
      { kind: 'catalog' },
    )
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 19, ambiguous: 1 })
  })

  test('the user that operation_errors names is isolated first', async () => {
    const result = await push((request) => {
      if (!carries(request, 42)) return undefined
      const aligned = Array.from({ length: operations(request) }, (): unknown[] => [])
      const at = (JSON.parse(Buffer.from(request.body ?? '').toString()) as unknown[]).findIndex((operation) =>
        JSON.stringify(operation).includes(hex(email(42))),
      )
      aligned[at] = [{ code: 'INVALID_PARAMETER', message: 'bad' }]
      return answer(400, { operation_errors: aligned })
    })
    expect(result.counts).toMatchObject({ confirmed: n - 1, refused: 1 })
    expect(result.requests).toBe(3)
  })

  test('a pointer that is off by one costs a few more requests, and no other user', async () => {
    const result = await push((request) => {
      if (!carries(request, 42)) return undefined
      const at = (JSON.parse(Buffer.from(request.body ?? '').toString()) as unknown[]).findIndex((operation) =>
        JSON.stringify(operation).includes(hex(email(42))),
      )
      const aligned = Array.from({ length: operations(request) + 1 }, (_, i) =>
        i === at + 1 ? [{ code: 'INVALID_PARAMETER', message: 'bad' }] : [],
      )
      return answer(400, { operation_errors: aligned })
    })
    expect(result.counts).toMatchObject({ confirmed: n - 1, refused: 1 })
    expect(result.left.map(({ key }) => key)).toEqual([hex(email(42))])
    expect(result.requests - 1).toBeLessThanOrEqual(halvings + 2 + 2)
  })

  test('an operation with a short count is isolated first', async () => {
    const result = await push((request) => {
      if (!carries(request, 42)) return undefined
      const bad = (JSON.parse(Buffer.from(request.body ?? '').toString()) as unknown[]).map((operation) =>
        JSON.stringify(operation).includes(hex(email(42))),
      )
      return answer(200, { data: bad.map((one) => ({ success_count: one ? 0 : 1, total_count: 1 })) })
    })
    expect(result.counts).toMatchObject({ confirmed: n - 1, ambiguous: 1 })
    expect(result.requests).toBe(5)
  })

  test('exactly the ten failing users are found', { tags: ['long'] }, async () => {
    const failing = [3, 4, 50, 99, 100, 101, 180, 222, 298, 299]
    const result = await push((request) => (carries(request, ...failing) ? failure(400, 'INVALID_PARAMETER') : undefined))
    expect(result.counts).toMatchObject({ confirmed: n - 10, refused: 10 })
    expect(result.left.map(({ key }) => key).sort()).toEqual(failing.map((failing) => hex(email(failing))).sort())
    expect(result.requests - 1).toBeLessThanOrEqual(10 * 2 * halvings)
  })

  test('the destination pauses after 64 refusals without any confirmation', { tags: ['long'] }, async () => {
    const result = await push(() => failure(400, 'INVALID_PARAMETER'))
    // Requests in flight with the last one end too.
    expect(result.requests).toBeGreaterThanOrEqual(64)
    expect(result.requests).toBeLessThan(64 + 4)
    expect(result.paused).toMatch(/^INVALID_PARAMETER: \d\d requests in a row were refused/)
    expect(result.synced).toEqual([])
  })

  test('products that are refused one by one do not pause the destination, and a refused request after them is split', async () => {
    await using database = await testDatabase()
    const { db } = database
    const service = scripted((request) => {
      const { products } = JSON.parse(Buffer.from(request.body ?? '').toString()) as { products: { id: string }[] }
      if (products.some(({ id }) => id === 'last')) return failure(400, 'INVALID_PARAMETER')
      const results = products.map(({ id }) => ({ id, status: 'ERROR', errors: [{ code: 'INVALID_PARAMETER', message: 'bad link' }] }))
      return answer(200, { data: { products_response: results } })
    })
    const planted = await plantPlan(db, await plantDestination(db, 'catalog', '4001'))
    for (let i = 0; i < 70; i++) await plantBatch(db, planted, [product(`p${i}`)], { kind: 'catalog' })
    await plantBatch(db, planted, [product('last'), product('other')], { kind: 'catalog' })
    await pushPlan(await engineDeps(db, service, { concurrency: 1 }), planted.planId)
    expect(await planCounts(db, planted.planId)).toMatchObject({ refused: 72, pending: 0 })
    expect(await db.query('select from sluice.destination where paused_at is not null')).toEqual([])
  })

  test('deletes of keys that the service does not have pause the destination after 64 refusals in a row', async () => {
    await using database = await testDatabase()
    const { db } = database
    const service = scripted((request) => (request.method === 'DELETE' ? failure(404, 'NOT_FOUND') : undefined))
    const planted = await plantPlan(db, await plantDestination(db, 'catalog', '4001'))
    for (let i = 0; i < 70; i++) await plantBatch(db, planted, [productKey(`k${i}`, `k${i}`)], { kind: 'catalog', op: 'delete' })
    await pushPlan(await engineDeps(db, service, { concurrency: 1 }), planted.planId)
    expect(await planCounts(db, planted.planId)).toMatchObject({ refused: 63 })
    const [paused] = await db.query<{ paused_reason: string | null }>('select paused_reason from sluice.destination')
    // Answers that arrive while the 64th is recorded count too.
    const refused = Number(/(\d+) requests in a row were refused/.exec(paused?.paused_reason ?? '')?.[1])
    expect(refused).toBeGreaterThanOrEqual(64)
    expect(refused).toBeLessThanOrEqual(64 + 24)
  })

  test('a batch is parked, not split, if the service always counts differently', async () => {
    const result = await push(
      (request) => answer(200, { data: { success_count: operations(request) * 2, total_count: operations(request) * 2 } }),
      10,
    )
    expect(result.requests).toBe(8)
    expect(result.counts).toMatchObject({ ambiguous: 10 })
    expect(result.left[0]?.code).toBe('count_mismatch')
  })

  test('a parked batch with a failing user is split after three runs with wrong counts', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = scripted(() => answer(500, ''))
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(
      db,
      planted,
      Array.from({ length: 10 }, (_, i) => user(email(i))),
    )
    const deps = await engineDeps(db, service)
    await pushPlan(deps, planted.planId)
    const miscounted: Parameters<typeof scripted>[0] = (request) =>
      carries(request, 3) ? answer(200, { data: { success_count: operations(request) - 1, total_count: operations(request) } }) : undefined
    // A refusal because of a lock (423) is no evidence about the content. It does not count as a wrong count, and does not end their
    // sequence.
    for (const script of [miscounted, () => failure(423, 'LOCKED'), miscounted, miscounted]) {
      service.script = script
      expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 0, ambiguous: 10 })
      await recoverAndResend(deps, planted.destinationId, { runId: planted.runId })
    }
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 9, ambiguous: 1 })
  })

  test('every body is the frozen one without some whole entries, in the same order', async () => {
    const result = await push((request) => (carries(request, 20, 7) ? failure(400, 'INVALID_PARAMETER') : undefined), 30)
    const bodies = result.seen.map(({ body }) => (JSON.parse(body) as unknown[]).map((operation) => JSON.stringify(operation)))
    const places = bodies.map((operations) => operations.map((operation) => bodies[0]!.indexOf(operation)))
    for (const place of places) expect(place).toEqual([...new Set(place)].sort((a, b) => a - b))
    expect(places.flat()).not.toContain(-1)
  })
})

describe('one failing user in an operation of several users', () => {
  const packed = (operations: number, size: number) =>
    Array.from({ length: operations }, (_, i) => several(...users(i * size, (i + 1) * size)))

  test.for([0, 7, 31, 32, 63])('halving finds failing user %i of 64 in one operation, in the same push', async (failing) => {
    const result = await push((request) => (carries(request, failing) ? failure(400, 'INVALID_PARAMETER') : undefined), packed(1, 64))
    expect(result.counts).toMatchObject({ confirmed: 63, refused: 1, ambiguous: 0, pending: 0 })
    expect(result.left).toEqual([{ code: 'INVALID_PARAMETER', outcome: 'refused', key: hex(email(failing)) }])
    expect(result.synced).toHaveLength(63)
    expect(result.requests - 1).toBeLessThanOrEqual(Math.ceil(Math.log2(64)) + 2)
    expect(result.paused).toBeNull()
  })

  test.for([0, 29, 150, 299])('halving finds failing user %i among ten operations', async (failing) => {
    const result = await push((request) => (carries(request, failing) ? failure(400, 'INVALID_PARAMETER') : undefined), packed(10, 30))
    expect(result.counts).toMatchObject({ confirmed: 299, refused: 1, ambiguous: 0, pending: 0 })
    expect(result.left.map(({ key }) => key)).toEqual([hex(email(failing))])
    expect(result.requests - 1).toBeLessThanOrEqual(2 * halvings)
  })

  test('the operation that operation_errors names is halved, and the others are sent once', async () => {
    const result = await push(
      (request) => {
        if (!carries(request, 42)) return undefined
        const bad = usersOf(Buffer.from(request.body ?? '').toString()).map((some) => some.flat().includes(hex(email(42))))
        return answer(400, { operation_errors: bad.map((one) => (one ? [{ code: 'INVALID_PARAMETER', message: 'bad' }] : [])) })
      },
      packed(10, 30),
    )
    expect(result.counts).toMatchObject({ confirmed: 299, refused: 1 })
    // One with all operations, one with all others, and the search in the named one.
    expect(result.requests).toBeLessThanOrEqual(2 + 1 + Math.ceil(Math.log2(30)) + 1)
  })

  test('counts that are always wrong with one user park only that user', async () => {
    const result = await push(
      (request) => {
        const count = usersOf(Buffer.from(request.body ?? '').toString()).flat().length
        return carries(request, 5) ? answer(200, { data: { success_count: count - 1, total_count: count } }) : undefined
      },
      packed(1, 40),
    )
    expect(result.counts).toMatchObject({ confirmed: 39, refused: 0, ambiguous: 1 })
    expect(result.left).toEqual([{ code: 'count_mismatch', outcome: 'ambiguous', key: hex(email(5)) }])
    expect(result.requests - 1).toBeLessThanOrEqual(Math.ceil(Math.log2(40)) + 2 + 2)
  })

  test('three failing users of one operation are found, and all others arrive', async () => {
    const failing = [0, 41, 99]
    const result = await push((request) => (carries(request, ...failing) ? failure(400, 'INVALID_PARAMETER') : undefined), packed(1, 100))
    expect(result.counts).toMatchObject({ confirmed: 97, refused: 3, ambiguous: 0, pending: 0 })
    expect(result.left.map(({ key }) => key).sort()).toEqual(failing.map((one) => hex(email(one))).sort())
    expect(result.requests - 1).toBeLessThanOrEqual(3 * 2 * 7)
  })

  test.for([
    ['errors of the service', failure(413, 'REQUEST_TOO_COMPLEX')],
    ['a page of a gateway', answer(413, '<html>too large</html>', { 'content-type': 'text/html' })],
  ] as const)('an operation that is too large for the service (413 with %s) arrives in parts', async ([, tooLarge]) => {
    const result = await push((request) => ((request.body?.length ?? 0) > 1_500 ? tooLarge : undefined), packed(1, 64))
    expect(result.counts).toMatchObject({ confirmed: 64, refused: 0, ambiguous: 0, pending: 0 })
    expect(result.synced).toHaveLength(64)
    expect(result.paused).toBeNull()
  })

  test('every part has users of the frozen operation, with its times, in the same order', async () => {
    const result = await push((request) => (carries(request, 20, 7) ? failure(400, 'INVALID_PARAMETER') : undefined), packed(2, 15))
    const operationOf = (text: string) => JSON.parse(text) as { operation_type: string; params: { expires_at: string } }[]
    const first = usersOf(result.seen[0]?.body).flat(2)
    for (const { body } of result.seen) {
      for (const { operation_type, params } of operationOf(body))
        expect([operation_type, params.expires_at]).toEqual(['Update', operationOf(result.seen[0]!.body)[0]?.params.expires_at])
      const places = usersOf(body)
        .flat(2)
        .map((value) => first.indexOf(value))
      expect(places).not.toContain(-1)
      expect(places).toEqual([...new Set(places)].sort((a, b) => a - b))
    }
  })

  test('a request of parts that were set aside has at most as many operations as the service accepts', async () => {
    // The limit is 250. The first operation is halved, and its other users wait together with the other 249 operations.
    using _ = makeRequestsSmall()
    const entries = [several(...users(0, 8)), ...users(8, 257).map((keys) => user(...keys))]
    const result = await push((request) => (carries(request, 0) ? failure(400, 'INVALID_PARAMETER') : undefined), entries)
    expect(result.counts).toMatchObject({ confirmed: 256, refused: 1, ambiguous: 0, pending: 0 })
    expect(Math.max(...result.seen.map(({ body }) => usersOf(body).length))).toBe(250)
  })

  test('the destination pauses if the service refuses every user', async () => {
    const result = await push(() => failure(400, 'INVALID_PARAMETER'), packed(1, 200))
    expect(result.requests).toBeLessThan(64 + 4)
    expect(result.paused).toMatch(/^INVALID_PARAMETER: \d\d requests in a row were refused/)
    expect(result.synced).toEqual([])
  })

  test('an operation is parked, not split, if the service counts operations instead of users', async () => {
    const result = await push(
      (request) => {
        const count = operations(request)
        return answer(200, { data: { success_count: count, total_count: count } })
      },
      packed(2, 5),
    )
    expect(result.requests).toBe(8)
    expect(result.counts).toMatchObject({ confirmed: 0, ambiguous: 10 })
  })
})
