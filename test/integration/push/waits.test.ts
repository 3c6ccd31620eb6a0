import { describe, expect, test, vi } from 'vitest'
import { createTransport } from '../../../src/service/client/index.ts'
import { fixedCredentials } from '../../../src/sandbox/area.ts'
import { planCounts } from '../../../src/sync/reports/planCounts.ts'
import { Pace } from '../../../src/sync/push/pace.ts'
import { pushPlan } from '../../../src/sync/push/push.ts'
import { Allowance } from '../../../src/sync/push/sharedRateLimit.ts'
import { testDatabase } from '../../support/postgres.ts'
import { withSandbox } from '../../support/sandbox.ts'
import { failure, fakeService } from './fakeService.ts'
import { email, engineDeps, plantBatch, plantDestination, plantPlan, user } from './planted.ts'

describe('a service that requests a wait', () => {
  test.for([
    ['503', { 'retry-after': '2' }],
    ['429', { 'retry-after': '2' }],
  ] as const)('%s with Retry-After delays all requests of two workers until then', { tags: ['long'] }, async ([status, headers]) => {
    await using database = await testDatabase({ mayBeUsed: true })
    await using sandbox = await withSandbox()
    const { db } = database
    const planted = await plantPlan(db, await plantDestination(db))
    // Requests in flight when the service requests the wait may take this long to arrive on a busy machine.
    await sandbox.control.switches({ retry_after_grace_ms: 700 })
    for (let i = 0; i < 60; i++) await plantBatch(db, planted, [user(email(`person ${i}`))])
    await sandbox.control.fault({ path: '/12/accounts/', nth: 5 }, { kind: 'status', status: Number(status), headers }, 1)
    await sandbox.control.fault({ path: '/12/accounts/' }, { kind: 'delay', ms: 100 }, 'always')
    const transports = [0, 1].map(() =>
      createTransport({ baseUrl: sandbox.url, adsBaseUrl: sandbox.url, adsVersion: '12', ...fixedCredentials }),
    )
    const workers = await Promise.all(transports.map((transport) => engineDeps(db, transport, { concurrency: 2 })))
    await Promise.all(workers.map((deps) => pushPlan(deps, planted.planId)))
    await Promise.all(transports.map((transport) => transport.close()))

    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 60, requests: 61 })
    expect(await sandbox.control.violations()).toEqual([])
    const [budget] = await db.query<{ blocked: boolean }>('select blocked_until is not null as blocked from sluice.budget')
    expect(budget?.blocked).toBe(true)
  })

  test.for([429, 503])('%i with Retry-After whose body is lost delays all requests until then', { tags: ['long'] }, async (status) => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db))
    for (let i = 0; i < 3; i++) await plantBatch(db, planted, [user(email(`person ${i}`))])
    const sentAt: number[] = []
    service.script = (_request, nth) => {
      sentAt.push(performance.now())
      return nth === 1 ? { kind: 'lost', error: new Error('reset'), status, headers: { 'retry-after': '2' }, durationMs: 1 } : undefined
    }
    await pushPlan(await engineDeps(db, service, { concurrency: 1 }), planted.planId)
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 3, requests: 4 })
    expect(sentAt[1]! - sentAt[0]!).toBeGreaterThan(1_900)
  })

  test('503 with requests left in the quota does not wait for its reset', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, [user(email(1))])
    const inAnHour = String(Math.round(Date.now() / 1000) + 840)
    const routine = { 'x-rate-limit-limit': '1500', 'x-rate-limit-remaining': '1499', 'x-rate-limit-reset': inAnHour }
    service.script = (_request, nth) => (nth === 1 ? failure(503, 'OVER_CAPACITY', routine) : undefined)
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 1, requests: 2 })
  })
})

test('refused credentials are tested once, although many requests are in flight', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  const { db } = database
  const service = fakeService(50)
  const planted = await plantPlan(db, await plantDestination(db))
  for (let i = 0; i < 16; i++) await plantBatch(db, planted, [user(email(`person ${i}`))])
  service.script = () => failure(401, '89')
  let tests = 0
  const refusedCredentials = async () => {
    tests++
    await new Promise((resolve) => setTimeout(resolve, 100))
    return 'SLUICE_ACCESS_TOKEN'
  }
  await pushPlan(await engineDeps(db, { ...service, refusedCredentials }, { concurrency: 8 }), planted.planId)
  const [destination] = await db.query<{ reason: string }>('select paused_reason as reason from sluice.destination')
  expect(destination?.reason).toContain('CREDENTIALS_REFUSED')
  expect(tests).toBe(1)
})

test('a push whose next claim fails ends without the batches that wait for the rate limit, and releases them', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  const { db } = database
  const service = fakeService()
  const planted = await plantPlan(db, await plantDestination(db))
  for (let i = 0; i < 2; i++) await plantBatch(db, planted, [user(email(`person ${i}`))])
  const inAnHour = String(Math.round(Date.now() / 1000) + 840)
  service.script = () =>
    failure(429, 'TOO_MANY_REQUESTS', { 'x-rate-limit-limit': '1', 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': inAnHour })
  let claims = 0
  const query: typeof db.query = async (text, values) => {
    if (text.includes('with due as') && service.seen.length > 0 && ++claims > 2) throw new Error('the database failed')
    return db.query(text, values)
  }
  const deps = await engineDeps({ ...db, query }, service)
  await expect(pushPlan(deps, planted.planId)).rejects.toThrow('the database failed')
  expect(service.seen).toHaveLength(1)
  expect(await db.query(`select from sluice.batch where status = 'in_flight'`)).toEqual([])
}, 20_000)

test('the code that sends requests is loaded before a grant is taken, because a grant is valid for half a second', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  const { db } = database
  const service = fakeService()
  const planted = await plantPlan(db, await plantDestination(db))
  await plantBatch(db, planted, [user(email(1))])
  let loading: Promise<void> | undefined
  let grantsAfterLoad: unknown[] | undefined
  const load = () =>
    (loading ??= new Promise((resolve) => setTimeout(resolve, 300)).then(async () => {
      grantsAfterLoad = await db.query('select from sluice.budget_slot')
    }))
  const exchange: typeof service.exchange = async (request) => {
    await load()
    return service.exchange(request)
  }
  await pushPlan(await engineDeps(db, { ...service, load, exchange }), planted.planId)
  expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 1 })
  expect(grantsAfterLoad).toEqual([])
})

test('a push that has ended leaves no timer that keeps the process alive', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  const { db } = database
  const planted = await plantPlan(db, await plantDestination(db))
  for (let i = 0; i < 3; i++) await plantBatch(db, planted, [user(email(`person ${i}`))])
  const deps = await engineDeps(db, fakeService())
  let open = 0
  const clock = {
    ...deps.clock,
    sleep: async (ms: number, signal?: AbortSignal) => {
      open++
      await deps.clock.sleep(ms, signal)
      open--
    },
  }
  await pushPlan({ ...deps, clock }, planted.planId)
  // Lets the ended sleeps resolve.
  await new Promise((resolve) => setImmediate(resolve))
  expect(open).toBe(0)
})

test('a request that the rate limit delays begins a new measurement of the pace', async () => {
  const restarts = vi.spyOn(Pace.prototype, 'restartMeasurement')
  const restartsOf = async (limit: number) => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const planted = await plantPlan(db, await plantDestination(db))
    for (let i = 0; i < 3; i++) await plantBatch(db, planted, [user(email(`person ${i}`))])
    const service = fakeService()
    const deps = await engineDeps(db, service, { concurrency: 1 })
    const { name } = await Allowance.open(deps, 'user_lists')
    await db.execute('update sluice.budget set request_limit = $2, window_ms = 300 where class = $1', [name, limit])
    restarts.mockClear()
    // Later calls are for lack of batches.
    let beforeLast = 0
    service.script = (_request, nth) => {
      if (nth === 3) beforeLast = restarts.mock.calls.length
      return undefined
    }
    await pushPlan(deps, planted.planId)
    return beforeLast
  }
  expect(await restartsOf(1)).toBe(2)
  expect(await restartsOf(10)).toBe(0)
})
