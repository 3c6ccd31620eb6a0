/** A batch that the service may have applied stays ambiguous through splits, deaths of workers, parking and pauses. */
import { expect, test } from 'vitest'
import { claimBatches } from '../../../src/db/batches/claim.ts'
import { recoverBatches, supersedeUnsent } from '../../../src/db/batches/release.ts'
import type { Database } from '../../../src/db/database.ts'
import { planCounts } from '../../../src/sync/reports/planCounts.ts'
import { pushPlan } from '../../../src/sync/push/push.ts'
import { recoverAndResend } from '../../../src/sync/push/recoverAndResend.ts'
import { testDatabase } from '../../support/postgres.ts'
import { testService } from '../../support/service.ts'
import { answer, fakeService } from './fakeService.ts'
import {
  batchStates,
  email,
  engineDeps,
  deletedUser,
  hex,
  origin,
  plantBatch,
  plantDestination,
  plantPlan,
  productKey,
  syncedKeys,
  user,
} from './planted.ts'

const fence = { ...testService, origin }
const wrongCounts = answer(200, { data: [{ success_count: 0, total_count: 1 }] })

/** Resends the unresolved requests of an earlier run, as the next run does. Its read showed that the person `seed` opted out. */
async function resendWithout(
  deps: Parameters<typeof recoverAndResend>[0],
  planted: { destinationId: number; runId: number },
  seed: number,
) {
  await recoverAndResend(deps, planted.destinationId, {
    runId: planted.runId,
    findOptedOut: async ({ id }) => {
      const rows = await deps.db.query<{ ord: number }>('select ord from entry where batch_id = $1 and keys @> array[$2::bytea]', [
        id,
        email(seed),
      ])
      return rows.map(({ ord }) => ord)
    },
  })
}

/** Pushes two people in one batch until it is split. The service applies the requests, and answers with wrong counts. */
async function splitAfterMiscounts(db: Database) {
  const stop = new AbortController()
  const service = fakeService()
  service.script = (_request, nth, apply) => {
    apply()
    if (nth === 3) stop.abort()
    return wrongCounts
  }
  const planted = await plantPlan(db, await plantDestination(db))
  await plantBatch(db, planted, [user(email(1)), user(email(2))])
  const deps = await engineDeps(db, service)
  await pushPlan(deps, planted.planId, { signal: stop.signal })
  expect(service.seen).toHaveLength(3)
  expect(await batchStates(db, planted.planId)).toEqual(['split:count_mismatch', 'ambiguous:count_mismatch', 'ambiguous:after_sibling'])
  service.script = () => undefined
  return { deps, planted, service }
}

test('a part of a batch with wrong counts stays ambiguous if its worker dies before the attempt', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  const { db } = database
  const { deps, planted } = await splitAfterMiscounts(db)
  await claimBatches(db, { planId: planted.planId, fence }, { workerId: 'dead', leaseMs: 60_000, count: 1 })
  expect(await recoverBatches(db, ['dead'], 20, fence)).toBe(1)
  expect(await batchStates(db, planted.planId)).toContain('ambiguous:count_mismatch')
  // A newer plan has no change for these people, so it must not drop what may have been applied.
  await supersedeUnsent(db, planted.destinationId)
  await resendWithout(deps, planted, 1)
  // The person who opted out counts as synced, so that a plan deletes them.
  expect(await syncedKeys(db, planted.destinationId)).toEqual([1, 2].map((seed) => hex(email(seed))).sort())
})

test('a part that was parked without an attempt of its own stays ambiguous in the next run', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  const { db } = database
  const service = fakeService()
  for (const id of ['a', 'b']) service.products.set(id, { key: `k${id}`, json: '{}' })
  service.script = (_request, nth, apply) => {
    if (nth > 1) return undefined
    apply()
    return answer(200, { data: { delete_products: [{ product_key: 'ka', failed_product_key: null, message: null }] } })
  }
  const planted = await plantPlan(db, await plantDestination(db, 'catalog', '4001'))
  await plantBatch(db, planted, [productKey('a', 'ka'), productKey('b', 'kb')], { op: 'delete', kind: 'catalog' })
  const deps = await engineDeps(db, service, { maxAttempts: 1 })
  await pushPlan(deps, planted.planId)
  expect(await batchStates(db, planted.planId)).toEqual(['settled', 'parked:key-missing'])
  await recoverAndResend(deps, planted.destinationId, { runId: planted.runId })
  expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 2, refused: 0, ambiguous: 0 })
  expect(await syncedKeys(db, planted.destinationId)).toEqual([])
})

test('a batch with wrong counts stays ambiguous when so many of them pause the destination', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  const { db } = database
  const service = fakeService()
  service.script = (_request, _nth, apply) => {
    apply()
    return wrongCounts
  }
  const planted = await plantPlan(db, await plantDestination(db))
  for (let seed = 0; seed < 70; seed++) await plantBatch(db, planted, [user(email(seed)), user(email(`${seed}b`))])
  const deps = await engineDeps(db, service)
  await pushPlan(deps, planted.planId)
  const [paused] = await db.query<{ paused_reason: string | null }>('select paused_reason from destination')
  expect(paused?.paused_reason).toContain('count_mismatch')
  expect(await db.query(`select id, reason from batch where attempts > 0 and status = 'pending'`)).toEqual([])
})

test('a batch that only waited for the rate limit is not ambiguous after it was parked', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  const { db } = database
  const service = fakeService()
  service.members.set(hex(email(1)), '')
  service.script = (_request, nth) => (nth === 1 ? answer(423, { errors: [{ code: 'LOCKED', message: 'locked' }] }) : undefined)
  const planted = await plantPlan(db, await plantDestination(db))
  await plantBatch(db, planted, [deletedUser(email(1))], { op: 'delete' })
  const deps = await engineDeps(db, service, { maxAttempts: 1 })
  await pushPlan(deps, planted.planId)
  expect(await batchStates(db, planted.planId)).toEqual(['parked:locked'])
  expect(await db.query('select maybe_applied from batch')).toEqual([{ maybe_applied: false }])
})
