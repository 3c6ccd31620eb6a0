import { describe, expect, test } from 'vitest'
import { claimBatches } from '../../../src/db/batches/claim.ts'
import { LeaseLost } from '../../../src/db/batches/lease.ts'
import { recoverBatches, releaseBatch } from '../../../src/db/batches/release.ts'
import { blockBudget, openBudget } from '../../../src/db/rateBudget.ts'
import { beginAttempt } from '../../../src/db/attempts.ts'
import type { Database } from '../../../src/db/database.ts'
import { recoverRuns } from '../../../src/db/runs/claim.ts'
import { addStage, addWarnings, updateRun } from '../../../src/db/runs/update.ts'
import { findEndedWorkers, isWorkerAlive, identifyProcess } from '../../../src/db/workers.ts'
import { planCounts } from '../../../src/sync/reports/planCounts.ts'
import { pushPlan } from '../../../src/sync/push/push.ts'
import { recoverAndResend } from '../../../src/sync/push/recoverAndResend.ts'
import { testDatabase } from '../../support/postgres.ts'
import { testService } from '../../support/service.ts'
import { fakeService, lost } from './fakeService.ts'
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
  several,
  syncedKeys,
  user,
  desiredHash,
} from './planted.ts'

const fence = { ...testService, origin }
const claim = async (db: Database, planId: string, workerId: string) =>
  (await claimBatches(db, { planId, fence }, { workerId, leaseMs: 60_000, count: 1 }))[0]!

describe('a lease', () => {
  test('W5: has one owner: another claim finds nothing, and of 32 concurrent claims one succeeds', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, [user(email(1))])
    const claims = await Promise.all(
      Array.from({ length: 32 }, (_, i) =>
        claimBatches(db, { planId: planted.planId, fence }, { workerId: `w${i}`, leaseMs: 60_000, count: 4 }),
      ),
    )
    expect(claims.flat().length).toBe(1)
  })

  test('is not recovered while it is valid; an expired one is, and later writes of its owner have no effect', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, [user(email(1))])
    const stalled = await claim(db, planted.planId, 'stalled')
    await beginAttempt(db, stalled, { runId: planted.runId, workerId: 'stalled', leaseMs: 60_000, budget: 'none' })
    expect(await recoverBatches(db, [], 20, fence)).toBe(0)
    await db.execute(`update sluice.batch set lease_until = clock_timestamp() - interval '1 second'`)
    expect(await recoverBatches(db, [], 600_000, fence)).toBe(1)
    expect(await batchStates(db, planted.planId)).toEqual(['ambiguous:worker_died'])
    // Its bytes may arrive until the horizon.
    expect((await db.query(`select from sluice.remote where late_until > clock_timestamp() + interval '9 minutes'`)).length).toBe(1)
    await expect(beginAttempt(db, stalled, { runId: planted.runId, workerId: 'stalled', leaseMs: 60_000, budget: 'none' })).rejects.toThrow(
      LeaseLost,
    )
    await expect(releaseBatch(db, stalled, { to: 'settled', horizonMs: 20 })).rejects.toThrow(LeaseLost)
    const next = await claim(db, planted.planId, 'next')
    expect(next).toMatchObject({ epoch: stalled.epoch + 1, maybeApplied: true })
    await expect(releaseBatch(db, stalled, { to: 'settled', horizonMs: 20 })).rejects.toThrow(LeaseLost)
  })

  test('starts no attempt while a requested wait lasts', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, [user(email(1))])
    const batch = await claim(db, planted.planId, 'w')
    await openBudget(db, { name: 'uploads', limit: 10, windowMs: 60_000 })
    await blockBudget(db, 'uploads', 60_000)
    const options = { runId: planted.runId, workerId: 'w', leaseMs: 60_000, budget: 'uploads' }
    expect(await beginAttempt(db, batch, options)).toBeUndefined()
    expect(await db.query('select from sluice.attempt')).toEqual([])
    await db.execute('update sluice.budget set blocked_until = clock_timestamp()')
    expect(await beginAttempt(db, batch, options)).toBeGreaterThan(0)
  })

  test('that expires before an attempt leaves nothing ambiguous', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, [user(email(1))])
    await claim(db, planted.planId, 'gone')
    await db.execute(`update sluice.batch set lease_until = clock_timestamp() - interval '1 second'`)
    await recoverBatches(db, [], 20, fence)
    expect(await batchStates(db, planted.planId)).toEqual(['pending:worker_died'])
  })

  test('of a batch that its process lost track of, because the database failed, expires although the process continues', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const deps = await engineDeps(db, service, { heartbeatMs: 100 })
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, [user(email(1))])
    // The attempt is committed, and the answer of the service could not be recorded.
    const [batch] = await claimBatches(db, { planId: planted.planId, fence }, { workerId: deps.workerId, leaseMs: 600, count: 1 })
    await beginAttempt(db, batch!, { runId: planted.runId, workerId: deps.workerId, leaseMs: 600, budget: 'none' })
    const stop = AbortSignal.timeout(50_000)
    // The next run in the same process waits for the batch, and sends it again.
    await recoverAndResend({ ...deps, signal: stop }, planted.destinationId, { runId: planted.runId })
    expect(stop.aborted).toBe(false)
    expect(await batchStates(db, planted.planId)).toEqual(['settled'])
    expect(service.seen).toHaveLength(1)
  })

  test('K4: that ends in two days is of a clock that was ahead, and counts as expired', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, [user(email(1))])
    await claim(db, planted.planId, 'gone')
    await db.execute(`update sluice.batch set lease_until = lease_until + interval '2 days'`)
    expect(await recoverBatches(db, [], 20, fence)).toBe(1)
    await db.execute(`update sluice.run set status = 'running', lease_until = clock_timestamp() + interval '2 days'`)
    expect(await recoverRuns(db, [], fence)).toMatchObject([{ id: planted.runId }])
  })

  test.for([
    [`trigger = 'manual'`, 'sluice run shop'],
    [`trigger = 'plan'`, 'sluice plan shop'],
    [`trigger = 'plan', options = '{"audit": "report"}'`, 'sluice audit shop'],
    [`trigger = 'backfill'`, 'sluice rerun r_ID'],
  ])('of a killed run: the hint for %s is %s', async ([columns = '', hint = '']) => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const { runId } = await plantPlan(db, await plantDestination(db))
    await db.execute(`update sluice.run set pipeline = 'shop', status = 'running', lease_until = now() - interval '1 second', ${columns}`)
    expect(await recoverRuns(db, [], fence)).toMatchObject([{ id: runId }])
    expect(await db.query(`select error ->> 'hint' as hint from sluice.run`)).toEqual([{ hint: hint.replace('ID', String(runId)) }])
  })

  test('of a run that was recovered is lost: later writes of its process have no effect', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const { runId: id } = await plantPlan(db, await plantDestination(db))
    await db.execute(`update sluice.run set status = 'running', lease_until = clock_timestamp() - interval '1 second'`)
    const stored = () => db.query('select counts, guards, columns, warnings, stages from sluice.run')
    const before = await stored()
    expect(await recoverRuns(db, [], fence)).toMatchObject([{ id }])
    const run = { id, epoch: 0 }
    await updateRun(db, run, { counts: { read: 9 }, columns: ['mail'] })
    await addWarnings(db, run, [{ code: 'EMAIL_ROLE', message: 'a note' }], 'last')
    await addStage(db, run, { stage: 'read', startedAt: '2026-01-01T00:00:00.000Z', durationMs: 1 })
    expect(await stored()).toEqual(before)
  })

  test('of a process proven dead ends immediately', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const self = identifyProcess(process.pid)
    const planted = await plantPlan(db, await plantDestination(db))
    await plantBatch(db, planted, [user(email(1))])
    await db.execute(
      `insert into sluice.worker (id, role, host, host_scope, pid, pid_started) values ('dead', 'test', 'h', $1, $2, 'another start'), ('far', 'test', 'h', 'another machine', 1, '1')`,
      [self.hostScope, self.pid],
    )
    await claim(db, planted.planId, 'dead')
    expect(await findEndedWorkers(db)).toEqual(['dead'])
    expect(await recoverBatches(db, ['dead'], 20, fence)).toBe(1)
    await claim(db, planted.planId, 'far')
    expect(await findEndedWorkers(db)).toEqual([])
    expect(isWorkerAlive(self)).toBe(true)
    expect(isWorkerAlive({ ...self, pid: 2 ** 22 + 1 })).toBe(false)
  })

  test('W2: an answer after the batch was taken over changes nothing', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db)
    const planted = await plantPlan(db, destinationId)
    await plantBatch(db, planted, [user(email(1))])
    service.script = async (_request, nth, apply) => {
      if (nth === 1) {
        await db.execute(`update sluice.batch set lease_until = clock_timestamp() - interval '1 second'`)
        await recoverBatches(db, [], 20, fence)
      }
      return nth === 1 ? apply() : lost(200)
    }
    await pushPlan(await engineDeps(db, service, { maxAttempts: 2 }), planted.planId)
    // The first answer confirmed it, but its worker had lost the lease; the second answer was lost.
    expect(await syncedKeys(db, destinationId)).toEqual([])
    expect(await batchStates(db, planted.planId)).toEqual(['parked:connection-lost'])
  })
})

describe('a person who was put on the do-not-reach list after the plan', () => {
  async function listed(db: Database, key: Buffer): Promise<void> {
    const listId = await plantDestination(db, 'do-not-reach', '2dnr')
    await db.execute(`insert into sluice.remote (destination_id, key, ref_count, desired_hash) values ($1, $2, 1, $3)`, [
      listId,
      key,
      desiredHash,
    ])
    await db.execute('update sluice.destination set desired_version = desired_version + 1 where id = $1', [listId])
  }

  test('is removed from the batch before the first byte, and all others are sent', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db)
    const planted = await plantPlan(db, destinationId)
    await plantBatch(db, planted, [user(email(1)), user(email(2), email('second of 2')), user(email(3))])
    await listed(db, email('second of 2'))
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect([...service.members.keys()].sort()).toEqual([hex(email(1)), hex(email(3))].sort())
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 2, pending: 1, requests: 1 })
    expect(await batchStates(db, planted.planId)).toEqual(['superseded:suppressed', 'settled'])
  })

  test('C8: is deleted if an earlier attempt may have been applied', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db)
    const planted = await plantPlan(db, destinationId)
    await plantBatch(db, planted, [user(email(1)), user(email(2))])
    service.script = async (_request, nth, apply) => {
      if (nth > 1) return undefined
      apply()
      await listed(db, email(2))
      return lost()
    }
    const deps = await engineDeps(db, service)
    await pushPlan(deps, planted.planId)
    await recoverAndResend(deps, destinationId, { runId: planted.runId })
    expect([...service.members.keys()]).toEqual([hex(email(1))])
    const updatesOf2 = service.seen.slice(1).filter((request) => request.body.includes('Update') && request.body.includes(hex(email(2))))
    expect(updatesOf2).toEqual([])
  })

  test('is deleted as a user object of its own', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db)
    const planted = await plantPlan(db, destinationId)
    await plantBatch(db, planted, [user(email(1), email(2)), user(email(3)), several([email(4)], [email(5), email(6)])])
    service.script = async (_request, nth, apply) => {
      if (nth > 1) return undefined
      apply()
      for (const seed of [1, 3, 5]) await listed(db, email(seed))
      return lost()
    }
    const deps = await engineDeps(db, service)
    await pushPlan(deps, planted.planId)
    await recoverAndResend(deps, destinationId, { runId: planted.runId })
    expect([...service.members]).toEqual([])
    const deletes = service.seen.filter(({ body }) => body.includes('Delete'))
    const users = [[1, 2], [3], [4], [5, 6]].map((seeds) => ({ email: seeds.map((seed) => hex(email(seed))) }))
    expect(deletes.map(({ body }) => JSON.parse(body))).toEqual([1, 2].map(() => [{ operation_type: 'Delete', params: { users } }]))
    const detail = await db.query(`select detail ->> 'users' as users from sluice.audit where what = 'batch.superseded'`)
    expect(detail).toEqual([{ users: '4' }])
  })

  test('is deleted again after a second horizon, in case an Update arrived late', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const destinationId = await plantDestination(db)
    const planted = await plantPlan(db, destinationId)
    await plantBatch(db, planted, [user(email(1)), user(email(2))])
    const deletesAt: number[] = []
    let late = (): unknown => undefined
    service.script = async (request, nth, apply) => {
      if (nth === 1) {
        late = apply
        await listed(db, email(2))
        return lost()
      }
      if (!Buffer.from(request.body ?? '').includes('Delete')) return undefined
      deletesAt.push(performance.now())
      const answer = apply()
      // The first attempt arrives after the first delete.
      if (deletesAt.length === 1) late()
      return answer
    }
    const from = performance.now()
    const deps = await engineDeps(db, service, { horizonMs: 60 })
    await pushPlan(deps, planted.planId)
    await recoverAndResend(deps, destinationId, { runId: planted.runId })
    expect(deletesAt).toHaveLength(2)
    expect((deletesAt[1] ?? 0) - from).toBeGreaterThan(120)
    expect([...service.members.keys()]).toEqual([hex(email(1))])
    expect(await syncedKeys(db, destinationId)).toEqual([hex(email(1))])
  })

  test('deletes of suppressed people are sent', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db))
    service.members.set(hex(email(1)), '')
    await plantBatch(db, planted, [deletedUser(email(1))], { op: 'delete' })
    await listed(db, email(1))
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect([...service.members]).toEqual([])
  })

  test('a pipeline without suppression sends everyone', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plantPlan(db, await plantDestination(db))
    await db.execute(`update sluice.plan set review = '{"suppress": "none"}'`)
    await plantBatch(db, planted, [user(email(1))])
    await listed(db, email(1))
    await pushPlan(await engineDeps(db, service), planted.planId)
    expect([...service.members.keys()]).toEqual([hex(email(1))])
  })
})
