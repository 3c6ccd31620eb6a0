import { describe, expect, test } from 'vitest'
import { entriesOf } from '../../../src/db/entries/read.ts'
import { loadFailures, planCounts } from '../../../src/sync/reports/planCounts.ts'
import { loadRunDetails } from '../../../src/sync/reports/runDetails.ts'
import { loadRunFigures } from '../../../src/sync/reports/runFigures.ts'
import { pushPlan } from '../../../src/sync/push/push.ts'
import { recoverAndResend } from '../../../src/sync/push/recoverAndResend.ts'
import { openProgress } from '../../../src/sync/push/pushProgress.ts'
import type { Progress } from '../../../src/model/report.ts'
import type { Database } from '../../../src/db/database.ts'
import { supersedeUnsent } from '../../../src/db/batches/release.ts'
import { resumeDestination } from '../../../src/db/destinations.ts'
import { silentLogger, type LogFields } from '../../../src/log.ts'
import { testDatabase } from '../../support/postgres.ts'
import { answer, failure, fakeService, lost, notSent } from './fakeService.ts'
import {
  batchStates,
  email,
  engineDeps,
  deletedUser,
  hex,
  plantBatch,
  plantDestination,
  plantPlan,
  product,
  productKey,
  syncedKeys,
  user,
  desiredHash,
} from './planted.ts'
import { everyKey } from '../../support/everyKey.ts'

const users = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => user(email(from + i)))
const keysOf = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => hex(email(from + i))).sort()
/** States of batches in the audit log. */
const loggedStates = async (db: Database) =>
  (await db.query<{ what: string }>(`select what from audit where what like 'batch.%' order by id`)).map(({ what }) => what)

describe('pushing a plan', () => {
  test('sends every batch once, as it was frozen, and confirms exactly the answered entries', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db)
    const planted = await plantPlan(db, destinationId)
    await plantBatch(db, planted, users(0, 10))
    await plantBatch(db, planted, users(10, 15))
    await pushPlan(await engineDeps(db, service), planted.planId)

    expect(await planCounts(db, planted.planId)).toEqual({ confirmed: 15, refused: 0, ambiguous: 0, pending: 0, requests: 2 })
    expect(await batchStates(db, planted.planId)).toEqual(['settled', 'settled'])
    expect(await syncedKeys(db, destinationId)).toEqual(keysOf(0, 15))
    expect([...service.members.keys()].sort()).toEqual(keysOf(0, 15))
    const frozen = await db.query<{ sha: string }>(`select encode(body_sha256, 'hex') as sha from sluice.batch order by seq`)
    expect(service.seen.map((request) => request.sha256).sort()).toEqual(frozen.map((row) => row.sha).sort())
    // docs/guarantees.md#confirmed-only: a synced key refers to a batch with a confirmed attempt.
    expect(
      await db.query(`select r.key from ${everyKey} r where synced_hash is not null and not exists (
        select from ${entriesOf('r.batch_id')} e join sluice.attempt a on a.batch_id = e.batch_id and a.outcome = 'confirmed'
        where r.key = any(e.keys) and e.hash = r.synced_hash)`),
    ).toEqual([])
    const [state] = await db.query<{ state_version: string }>('select state_version from sluice.destination')
    expect(Number(state?.state_version)).toBe(2)
  })

  test('a second push of the same plan sends nothing', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, users(0, 3))
    const deps = await engineDeps(db, service)
    await pushPlan(deps, planted.planId)
    await pushPlan(deps, planted.planId)
    expect(service.seen.length).toBe(1)
  })

  test('W5: several workers share one plan, and no batch is in flight twice', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService(5)
    const underWay = new Map<string, number>()
    let overlaps = 0
    service.script = async (request, _nth, apply) => {
      const body = Buffer.from(request.body ?? '').toString()
      if (underWay.has(body)) overlaps++
      underWay.set(body, 1)
      await new Promise((resolve) => setTimeout(resolve, 3))
      underWay.delete(body)
      return apply()
    }
    const planted = await plantPlan(db, await plantDestination(db))
    for (let i = 0; i < 40; i++) await plantBatch(db, planted, users(i * 3, i * 3 + 3))
    const workers = await Promise.all([1, 2, 3, 4].map(() => engineDeps(db, service)))
    await Promise.all(workers.map((deps) => pushPlan(deps, planted.planId)))

    expect(service.seen.length).toBe(40)
    expect(overlaps).toBe(0)
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 120, requests: 40 })
    const holders = await db.query('select distinct worker_id from sluice.attempt')
    expect(holders.length).toBeGreaterThan(1)
  })

  test('reports the operations that other workers sent', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService(5)
    const planted = await plantPlan(db, await plantDestination(db))
    for (let i = 0; i < 40; i++) await plantBatch(db, planted, users(i * 3, i * 3 + 3))
    const shown: Progress[] = []
    const [shows, helps] = [await engineDeps(db, service, { concurrency: 1 }), await engineDeps(db, service)]
    await Promise.all([
      pushPlan({ ...shows, onProgress: (progress) => shown.push(progress) }, planted.planId),
      pushPlan(helps, planted.planId),
    ])
    expect(await db.query(`select from sluice.attempt where worker_id = $1`, [helps.workerId])).not.toEqual([])
    expect(shown.at(-1)).toEqual({ stage: 'push', done: 120, total: 120 })
  })

  test('counts only the unresolved deletes of erasures that are due', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const destinationId = await plantDestination(db)
    const planted = await plantPlan(db, destinationId)
    await plantBatch(db, planted, users(0, 3))
    const later = await plantBatch(db, planted, [deletedUser(email(7))], { op: 'delete' })
    await db.execute(`update batch set status = 'ambiguous', attempts = 1, maybe_applied = true`)
    await db.execute(`update batch set phase = 0, next_attempt_at = statement_timestamp() + interval '1 hour' where id = $1`, [later])
    const shown: Progress[] = []
    const { service: fence } = await engineDeps(db, fakeService())
    await db.execute('update destination set credentials = $1', [fence.credentials])
    await openProgress(db, { resendOf: destinationId, fence }, undefined, (progress) => shown.push(progress))
    expect(shown).toEqual([{ stage: 'settle', done: 0, total: 3 }])
  })

  test('sends while answers wait to be recorded, and never has more requests in flight than allowed', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db)
    const planted = await plantPlan(db, destinationId)
    for (let i = 0; i < 60; i++) await plantBatch(db, planted, users(i + 1, i + 2))
    // A worker that records an answer waits for this row.
    const other = await db.connect()
    await other.query('begin')
    await other.query('select from sluice.destination where id = $1 for update', [destinationId])
    const pushed = pushPlan(await engineDeps(db, service, { concurrency: 2 }), planted.planId)
    await expect.poll(() => service.seen.length).toBeGreaterThan(20)
    await other.query('commit')
    other.release()
    await pushed
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 60, requests: 60 })
    expect(service.mostInFlight).toBeLessThanOrEqual(2)
  })

  test('has at most the configured number of request bytes in memory', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService(100)
    const planted = await plantPlan(db, await plantDestination(db))
    for (let i = 0; i < 12; i++) await plantBatch(db, planted, users(i * 10 + 1, i * 10 + 11))
    const [row] = await db.query<{ most: number }>('select max(length(body)) as most from sluice.batch')
    await pushPlan(await engineDeps(db, service, { maxBytesInMemory: 3 * row!.most }), planted.planId)
    expect(service.mostInFlight).toBeLessThanOrEqual(3)
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 120, requests: 12 })
  })

  test('updates of changed users wait until the deletes of their plan are settled', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, [user(email('new'))], { phase: 2 })
    await plantBatch(db, planted, [deletedUser(email('old'))], { op: 'delete' })
    service.members.set(hex(email('old')), '')
    service.script = (_request, nth) => (nth === 1 ? lost(200) : undefined)
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(service.seen.map((request) => request.body.includes('Delete'))).toEqual([true, true, false])
    expect([...service.members.keys()]).toEqual([hex(email('new'))])
    expect(await db.query('select from sluice.remote where key = $1', [email('old')])).toEqual([])
  })

  test.for([
    ['a push', 'pending'],
    ['the next run', 'ambiguous'],
  ] as const)('%s sends an update one horizon later although the clock of the database was ahead at the delete', async ([by, status]) => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, [deletedUser(email('old'))], { op: 'delete' })
    const deps = await engineDeps(db, service)
    await pushPlan(deps, planted.planId)
    await db.execute(`update batch set settled_at = settled_at + interval '1 day'`)
    const update = await plantBatch(db, planted, [user(email('new'))], { phase: 2 })
    await db.execute(`update batch set status = $2::text, maybe_applied = $2::text = 'ambiguous' where id = $1`, [update, status])
    const stopped = { ...deps, signal: AbortSignal.timeout(20_000) }
    if (by === 'a push') await pushPlan(stopped, planted.planId)
    else await recoverAndResend(stopped, planted.destinationId, { runId: planted.runId })
    expect(await batchStates(db, planted.planId)).toEqual(['settled', 'settled'])
    const early = `select from attempt a, batch d where a.batch_id = $1 and d.operation = 'delete' and a.started_at < d.settled_at`
    expect(await db.query(early, [update])).toEqual([])
  })

  test('an update whose delete is parked is not sent, and the push ends', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, [deletedUser(email('old'))], { op: 'delete' })
    await plantBatch(db, planted, [user(email('new'))], { phase: 2 })
    service.script = () => failure(500, 'INTERNAL_ERROR')
    await pushPlan(await engineDeps(db, service, { maxAttempts: 3 }), planted.planId)
    expect(await batchStates(db, planted.planId)).toEqual(['parked:http-500', 'pending'])
    expect(await planCounts(db, planted.planId)).toEqual({ confirmed: 0, refused: 0, ambiguous: 1, pending: 1, requests: 3 })
    expect(await loadFailures(db, planted.planId)).toEqual([
      { outcome: 'ambiguous', code: 'http-500', message: 'the service answered 500', count: 1, examples: [] },
    ])
  })
})

describe('recording an answer', () => {
  test.for([
    ['the connection is lost after it was applied', (apply: () => unknown) => (apply(), lost())],
    ['the connection is lost before it was applied', () => lost()],
    ['the answer is cut', (apply: () => unknown) => (apply(), lost(200))],
    ['a 500 after it was applied', (apply: () => unknown) => (apply(), failure(500, 'INTERNAL_ERROR'))],
    ['a 503 without it', () => failure(503, 'OVER_CAPACITY')],
    ['an HTML page with status 200', () => answer(200, '<html>', { 'content-type': 'text/html' })],
    ['wrong counts', () => answer(200, { data: { success_count: 4, total_count: 5 } })],
    ['a redirect', () => answer(302, '')],
    ['a 429', () => failure(429, 'TOO_MANY_REQUESTS')],
    ['a 429 after it was applied', (apply: () => unknown) => (apply(), failure(429, 'TOO_MANY_REQUESTS'))],
    ['no connection', () => notSent],
    ['one 401', () => failure(401, 'UNAUTHORIZED_ACCESS')],
  ] as const)('%s: the same bytes are sent again and confirmed', async ([, respond]) => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db)
    const planted = await plantPlan(db, destinationId)
    await plantBatch(db, planted, users(0, 5))
    service.script = (_request, nth, apply) => (nth === 1 ? (respond(apply) as ReturnType<typeof lost>) : undefined)
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(service.seen.length).toBe(2)
    expect(new Set(service.seen.map((request) => request.sha256)).size).toBe(1)
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 5, requests: 2 })
    expect([...service.members.keys()].sort()).toEqual(keysOf(0, 5))
  })

  test('with a service that always fails, the batch is sent up to the maximum of attempts, then parked as ambiguous', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, users(0, 5))
    service.script = () => failure(500, 'INTERNAL_ERROR')
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(service.seen.length).toBe(8)
    expect(await batchStates(db, planted.planId)).toEqual(['parked:http-500'])
    expect(await planCounts(db, planted.planId)).toMatchObject({ ambiguous: 5, confirmed: 0 })
    expect(await loggedStates(db)).toEqual([...Array.from({ length: 7 }, () => 'batch.ambiguous'), 'batch.parked'])
  })

  test('a refusal whose long message has an emoji at the place of the cut is stored', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    service.script = () => answer(400, { errors: [{ code: 'INVALID', message: `${'x'.repeat(299)}😀` }] })
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, users(0, 1))
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(await planCounts(db, planted.planId)).toMatchObject({ refused: 1, ambiguous: 0 })
  })

  test('C8: a parked batch sends its bytes once in each later run', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db)
    const planted = await plantPlan(db, destinationId)
    await plantBatch(db, planted, users(0, 5))
    service.script = () => failure(500, 'INTERNAL_ERROR')
    const deps = await engineDeps(db, service, { maxAttempts: 2 })
    await pushPlan(deps, planted.planId)
    await recoverAndResend(deps, destinationId, { runId: planted.runId })
    expect(service.seen.length).toBe(3)
    expect(await batchStates(db, planted.planId)).toEqual(['parked:http-500'])
    service.script = () => undefined
    await recoverAndResend(deps, destinationId, { runId: planted.runId })
    expect(service.seen.length).toBe(4)
    expect(new Set(service.seen.map((request) => request.sha256)).size).toBe(1)
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 5, ambiguous: 0 })
  })

  test('a request that is too late for its lease is not sent, and not taken for a failure of the service', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db))
    for (let i = 0; i < 20; i++) await plantBatch(db, planted, [user(email(i))])
    // Every attempt is too late, because the HTTP timeout is longer than the lease.
    await pushPlan(await engineDeps(db, service, { leaseMs: 60_000, httpTimeoutMs: 60_000, maxAttempts: 2 }), planted.planId)
    expect(service.seen).toEqual([])
    expect(await batchStates(db, planted.planId)).toEqual(Array.from({ length: 20 }, () => 'parked:not-in-time'))
    expect(await db.query('select distinct reason, maybe_applied from sluice.batch')).toEqual([
      { reason: 'not-in-time', maybe_applied: false },
    ])
    // Their duration of 0 is not that of a request.
    expect((await loadRunDetails(db, `r_${planted.runId}`)).requests).toMatchObject({ all: 40, p50: null, p95: null })
    await db.execute(`update sluice.run set status = 'succeeded', finished_at = statement_timestamp()`)
    expect(await loadRunFigures(db, { name: 'p', environment: undefined }, 1)).toMatchObject([{ requests: 40, p50: null, p95: null }])
  })

  test('C7: when every request fails, only probes are sent, and the run ends', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db)
    const planted = await plantPlan(db, destinationId)
    for (let i = 0; i < 30; i++) await plantBatch(db, planted, users(i, i + 1))
    service.script = () => notSent
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(service.seen.length).toBeLessThan(30)
    const [row] = await db.query<{ paused_reason: string }>('select paused_reason from sluice.destination')
    expect(row?.paused_reason).toContain('SERVICE_UNREACHABLE')
    service.script = () => undefined
    await recoverAndResend(await engineDeps(db, service), destinationId, { runId: planted.runId })
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 30 })
  })

  test('after 401 to all requests in flight they are sent once more, because the local clock may have been wrong', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db))
    for (let i = 0; i < 4; i++) await plantBatch(db, planted, users(i + 1, i + 2))
    const allCame = Promise.withResolvers<void>()
    service.script = async (_request, nth) => {
      if (nth > 4) return undefined
      if (nth === 4) allCame.resolve()
      await allCame.promise
      return failure(401, 'UNAUTHORIZED_ACCESS')
    }
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 4, requests: 8 })
  })

  test('two 401s with a refusal of content in between do not pause the destination, because the credentials work', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db))
    for (let i = 0; i < 2; i++) await plantBatch(db, planted, users(i, i + 1))
    const failures = [failure(401, 'UNAUTHORIZED_ACCESS'), failure(400, 'INVALID_PARAMETER'), failure(401, 'UNAUTHORIZED_ACCESS')]
    service.script = () => failures.shift()
    await pushPlan(await engineDeps(db, service, { concurrency: 1 }), planted.planId)
    expect(await db.query('select paused_reason from sluice.destination where paused_at is not null')).toEqual([])
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 1, refused: 1, requests: 4 })
  })

  test.for([
    ['403', failure(403, 'UNAUTHORIZED_CLIENT_APPLICATION')],
    ['404', failure(404, 'NOT_FOUND')],
    ['401 twice', failure(401, 'UNAUTHORIZED_ACCESS')],
  ] as const)('%s pauses the destination, keeps the state of the records, and the next run tries again', async ([, response]) => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db)
    const planted = await plantPlan(db, destinationId)
    await plantBatch(db, planted, users(0, 5))
    service.script = () => response
    const deps = await engineDeps(db, service)
    await pushPlan(deps, planted.planId)
    expect(service.seen.length).toBeLessThanOrEqual(2)
    expect(await planCounts(db, planted.planId)).toMatchObject({ pending: 5, refused: 0 })
    expect(await loadFailures(db, planted.planId)).toMatchObject([{ outcome: 'pending', count: 5, examples: [] }])
    const [row] = await db.query<{ paused_reason: string | null }>('select paused_reason from sluice.destination')
    expect(row?.paused_reason).toBeTruthy()
    service.script = () => undefined
    await recoverAndResend(deps, destinationId, { runId: planted.runId })
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 5 })
    expect(await db.query('select from sluice.destination where paused_at is not null')).toEqual([])
  })

  test('keys of a request that may still arrive wait until the horizon', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db)
    const planted = await plantPlan(db, destinationId)
    await plantBatch(db, planted, users(0, 2))
    service.script = (_request, nth) => (nth === 1 ? lost() : undefined)
    await pushPlan(await engineDeps(db, service, { horizonMs: 600_000 }), planted.planId)
    const [row] = await db.query<{ late: number; settled_late: boolean }>(
      `select (select count(*)::int from sluice.remote where late_until > clock_timestamp() + interval '9 minutes') as late,
        bool_and(settled_at > clock_timestamp() + interval '9 minutes') as settled_late from sluice.batch`,
    )
    expect(row).toEqual({ late: 2, settled_late: true })
  })

  test('a membership that has expired since the plan is not sent', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, users(0, 2), { expiresAt: new Date(Date.now() - 1000) })
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(service.seen).toEqual([])
    expect(await batchStates(db, planted.planId)).toEqual(['superseded:expired'])
    expect(await planCounts(db, planted.planId)).toMatchObject({ pending: 2 })
  })
})

describe('products', () => {
  test('Q7: are confirmed, refused and sent again one by one; their keys are stored', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db, 'catalog', '4001')
    const planted = await plantPlan(db, destinationId)
    await plantBatch(
      db,
      planted,
      ['a', 'b', 'c'].map((id) => product(id)),
      { kind: 'catalog' },
    )
    service.script = (_request, nth, apply) => {
      const body = JSON.parse(apply().body.toString()) as { data: { products_response: Record<string, unknown>[] } }
      const results = body.data.products_response
      if (nth === 1) results.splice(2, 1)
      for (const result of results)
        if (result['id'] === 'b') Object.assign(result, { status: 'ERROR', errors: [{ code: 'INVALID_PARAMETER', message: 'bad link' }] })
      return answer(200, body)
    }
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(service.seen.map((request) => request.body)).toEqual([
      '{"products":[{"id":"a","title":"a"},{"id":"b","title":"b"},{"id":"c","title":"c"}]}',
      '{"products":[{"id":"c","title":"c"}]}',
    ])
    expect(await planCounts(db, planted.planId)).toEqual({ confirmed: 2, refused: 1, ambiguous: 0, pending: 0, requests: 2 })
    // The batch has ended, and its entry without a result is in the second one.
    const [, second] = await db.query<{ id: string }>('select id from batch order by id')
    expect(await db.query(`select what, detail -> 'rest' as rest from audit where what like 'batch.%' order by id`)).toEqual([
      { what: 'batch.settled', rest: [Number(second?.id)] },
      { what: 'batch.settled', rest: null },
    ])
    expect(await loadFailures(db, planted.planId)).toEqual([
      { outcome: 'refused', code: 'INVALID_PARAMETER', message: 'bad link', count: 1, examples: ['b'] },
    ])
    const rows = await db.query(
      "select convert_from(key, 'UTF8') as id, synced_hash = $1 as synced, remote_key, refused_code, refused_message from sluice.remote order by key",
      [desiredHash],
    )
    expect(rows).toEqual([
      { id: 'a', synced: true, remote_key: '1', refused_code: null, refused_message: null },
      { id: 'b', synced: null, remote_key: '2', refused_code: 'INVALID_PARAMETER', refused_message: 'bad link' },
      { id: 'c', synced: true, remote_key: '3', refused_code: null, refused_message: null },
    ])
  })

  test.for(['a\0b', '\ud800'])('a product key that cannot be stored counts as missing: %j', async (key) => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    service.script = () =>
      answer(200, { data: { products_response: [{ id: 'a', status: 'CREATE_SUCCESS', product_key: key, errors: [], warnings: [] }] } })
    const planted = await plantPlan(db, await plantDestination(db, 'catalog', '4001'))
    await plantBatch(db, planted, [product('a')], { kind: 'catalog' })
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 1 })
    expect(await db.query('select remote_key from remote')).toEqual([{ remote_key: null }])
  })

  test('a confirmed delete removes the product from the state, a failed one does not', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db, 'catalog', '4001')
    const planted = await plantPlan(db, destinationId)
    service.products.set('a', { key: '77', json: '{}' })
    await plantBatch(db, planted, [productKey('a', '77'), productKey('b', '78')], { kind: 'catalog', op: 'delete' })
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 1, refused: 1 })
    expect(await syncedKeys(db, destinationId)).toEqual(['b'])
  })

  test.for([
    ['refused', ['b']],
    ['partial', ['a', 'b']],
  ] as const)('the log line of an attempt has the outcome that is stored: %s', async ([outcome, ids]) => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db, 'catalog', '4001'))
    service.products.set('a', { key: '77', json: '{}' })
    await plantBatch(
      db,
      planted,
      ids.map((id) => productKey(id, id === 'a' ? '77' : '78')),
      { kind: 'catalog', op: 'delete' },
    )
    const logged: unknown[] = []
    const log = { ...silentLogger, info: (fields: LogFields) => void logged.push(fields['outcome']) }
    await pushPlan({ ...(await engineDeps(db, service)), log }, planted.planId)
    expect(logged).toEqual([outcome])
    expect(await db.query('select outcome from sluice.attempt')).toEqual([{ outcome }])
  })

  test('C4: halving finds one unknown key answered by 404, which is refused if the catalog is readable', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db, 'catalog', '4001')
    const planted = await plantPlan(db, destinationId)
    for (const id of 'abcdefgh') service.products.set(id, { key: `k${id}`, json: '{}' })
    await plantBatch(
      db,
      planted,
      [...'abcdefgh'].map((id) => productKey(id, id === 'e' ? 'gone' : `k${id}`)),
      { kind: 'catalog', op: 'delete' },
    )
    service.script = (request) =>
      request.method === 'DELETE' && Buffer.from(request.body ?? '').includes('"gone"') ? failure(404, 'NOT_FOUND') : undefined
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 7, refused: 1 })
    expect(await syncedKeys(db, destinationId)).toEqual(['e'])
    expect(await db.query('select from sluice.destination where paused_at is not null')).toEqual([])
  })

  test('C4: a 404 is sent again, and nothing paused, while the check of the catalog gets no answer', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db, 'catalog', '4001'))
    for (const key of ['gone1', 'gone2']) await plantBatch(db, planted, [productKey(key, key)], { kind: 'catalog', op: 'delete' })
    const failures = [failure(503, 'INTERNAL_ERROR'), failure(429, 'TOO_MANY_REQUESTS'), lost()]
    service.script = (request) => (request.method === 'DELETE' ? failure(404, 'NOT_FOUND') : failures.shift())
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(await db.query('select from sluice.destination where paused_at is not null')).toEqual([])
    expect(await planCounts(db, planted.planId)).toMatchObject({ refused: 2, pending: 0 })
  })

  test('the reason of a 404 that cannot be checked names the status of the check', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db, 'catalog', '4001'))
    await plantBatch(db, planted, [productKey('gone', '77')], { kind: 'catalog', op: 'delete' })
    service.script = (request) => (request.method === 'DELETE' ? failure(404, 'NOT_FOUND') : failure(403, 'ACTION_NOT_ALLOWED'))
    await pushPlan(await engineDeps(db, service, { maxAttempts: 2 }), planted.planId)
    expect(await loadFailures(db, planted.planId)).toMatchObject([
      { message: expect.stringMatching(/check of the catalog.* answered 403/) },
    ])
    expect(await db.query('select from sluice.destination where paused_at is not null')).toEqual([])
  })

  test.for([1, 8])('C4: the catalog is checked once for many unknown keys in a row, with %i requests in flight', async (concurrency) => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db, 'catalog', '4001'))
    for (let i = 0; i < 40; i++) await plantBatch(db, planted, [productKey(`k${i}`, `k${i}`)], { kind: 'catalog', op: 'delete' })
    service.script = (request) => (request.method === 'DELETE' ? failure(404, 'NOT_FOUND') : undefined)
    await pushPlan(await engineDeps(db, service, { concurrency }), planted.planId)
    expect(await planCounts(db, planted.planId)).toMatchObject({ refused: 40 })
    expect(service.seen.filter(({ method }) => method === 'GET')).toHaveLength(1)
  })

  test('C5: a 404 for a missing catalog pauses the destination', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db, 'catalog', '4001'))
    await plantBatch(db, planted, [productKey('a', '77')], { kind: 'catalog', op: 'delete' })
    service.script = () => failure(404, 'NOT_FOUND')
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect(await planCounts(db, planted.planId)).toMatchObject({ pending: 1, refused: 0 })
    expect((await db.query('select from sluice.destination where paused_at is not null')).length).toBe(1)
    expect(await loggedStates(db)).toEqual(['batch.pending'])
    // The pause and its end are in the audit log once, also if a second run starts or pauses again.
    await pushPlan(await engineDeps(db, service), planted.planId)
    for (let run = 1; run <= 2; run++) await resumeDestination(db, planted.destinationId)
    expect(await db.query(`select what, detail ->> 'reason' as reason from audit where what like 'destination.%' order by id`)).toEqual([
      { what: 'destination.paused', reason: 'NOT_FOUND: NOT_FOUND' },
      { what: 'destination.resumed', reason: null },
    ])
  })

  test('requests that a newer plan replaces are in the audit log, one line for each plan', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const planted = await plantPlan(db, await plantDestination(db))
    for (const seed of [1, 2]) await plantBatch(db, planted, [user(email(seed))])
    await supersedeUnsent(db, planted.destinationId)
    expect(await db.query(`select plan_id, detail from audit where what = 'batches.superseded'`)).toEqual([
      { plan_id: planted.planId, detail: { reason: 'newer_plan', batches: 2 } },
    ])
  })
})
