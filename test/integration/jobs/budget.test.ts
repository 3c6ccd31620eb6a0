import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { blockBudget, listBudgets, openBudget, setBudgetLimit, takeGrants } from '../../../src/db/rateBudget.ts'
import type { Database } from '../../../src/db/database.ts'
import { systemClock } from '../../../src/clock.ts'
import { engineSettings } from '../../../src/sync/engine.ts'
import { Allowance } from '../../../src/sync/push/sharedRateLimit.ts'
import { testDatabase } from '../../support/postgres.ts'
import { testService } from '../../support/service.ts'

const origin = 'http://127.0.0.1:4010'
const taker = fileURLToPath(new URL('./taker.ts', import.meta.url))

/** Takes one grant: 0, or the wait. */
async function takeGrant(db: Database, name: string): Promise<number> {
  const { granted, waitMs } = await takeGrants(db, name, 1)
  return granted === 1 ? 0 : waitMs
}

/** Grants as the ring's slots report them, by the database's clock. */
async function grantTimes(db: Database): Promise<number[]> {
  const rows = await db.query<{ ms: number }>(
    'select (extract(epoch from granted_at) * 1000)::float8 as ms from sluice.budget_slot order by granted_at',
  )
  return rows.map((row) => row.ms)
}

/** The most grants in any window of any position. */
function mostInWindow(times: readonly number[], windowMs: number): number {
  let most = 0
  let from = 0
  for (let to = 0; to < times.length; to++) {
    while (times[to]! - times[from]! >= windowMs) from++
    most = Math.max(most, to - from + 1)
  }
  return most
}

describe('the shared budget', () => {
  test('grants a full burst immediately, and the next request when the first one leaves the window', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    await openBudget(db, { name: 'c', limit: 20, windowMs: 300_000 })
    for (let i = 0; i < 20; i++) expect(await takeGrant(db, 'c')).toBe(0)
    const wait = await takeGrant(db, 'c')
    expect(wait).toBeGreaterThan(290_000)
    expect(wait).toBeLessThanOrEqual(300_000)
    await db.execute(`update sluice.budget_slot set granted_at = granted_at - interval '300 seconds' where slot = 0`)
    expect(await takeGrant(db, 'c')).toBe(0)
    expect(await takeGrant(db, 'c')).toBeGreaterThan(0)
  })

  test("several processes that start a burst at a window's end never have more than the limit in any window", async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const windowMs = 1_000
    await openBudget(db, { name: 'c', limit: 50, windowMs })
    const children = Array.from({ length: 4 }, () => spawn(process.execPath, [taker, database.url, 'c', '2500'], { stdio: 'ignore' }))
    const codes = await Promise.all(children.map((child) => new Promise((resolve) => child.on('exit', resolve))))
    expect(codes).toEqual([0, 0, 0, 0])
    const times = await grantTimes(db)
    expect(times.length).toBeGreaterThan(50)
    expect(mostInWindow(times, windowMs)).toBeLessThanOrEqual(50)
  })

  test('grants at most the limit to concurrent requests, and returns the wait for the rest', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    await openBudget(db, { name: 'c', limit: 5, windowMs: 300_000 })
    expect(await takeGrants(db, 'c', 3)).toEqual({ granted: 3, waitMs: 0, limit: 5 })
    expect(await takeGrants(db, 'c', 4)).toMatchObject({ granted: 2, waitMs: expect.closeTo(300_000, -4) })
    // Two windows later, more is requested at a time than the window permits.
    await db.execute(`update sluice.budget_slot set granted_at = granted_at - interval '600 seconds'`)
    expect(await takeGrants(db, 'c', 64)).toEqual({ granted: 5, waitMs: 0, limit: 5 })
    expect((await takeGrants(db, 'c', 64)).granted).toBe(0)
  })

  test('a process that waits for the lock grants no more than the process before it left', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const waits = 300_000
    for (const { before, granted, waitMs } of [
      { before: 3, granted: 2, waitMs: 0 },
      { before: 5, granted: 0, waitMs: expect.closeTo(waits, -4) },
    ]) {
      const name = `after ${before}`
      await openBudget(db, { name, limit: 5, windowMs: waits })
      const client = await db.connect()
      await client.query('begin')
      // The cast is safe, because only `query` of the pool is called.
      expect((await takeGrants({ ...db, pool: client as unknown as pg.Pool }, name, before)).granted).toBe(before)
      const taken = takeGrants(db, name, 4)
      await expect
        .poll(() => db.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
        .toHaveLength(1)
      await client.query('commit')
      client.release()
      expect(await taken).toMatchObject({ granted, waitMs })
      expect(await takeGrant(db, name)).toBeGreaterThan(0)
    }
  })

  test('a lowered limit applies immediately, and a raised one grants more', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    await openBudget(db, { name: 'c', limit: 10, windowMs: 300_000 })
    for (let i = 0; i < 5; i++) expect(await takeGrant(db, 'c')).toBe(0)
    await setBudgetLimit(db, 'c', 5)
    expect(await takeGrant(db, 'c')).toBeGreaterThan(0)
    await setBudgetLimit(db, 'c', 7)
    expect(await takeGrant(db, 'c')).toBe(0)
    expect(await takeGrant(db, 'c')).toBe(0)
    expect(await takeGrant(db, 'c')).toBeGreaterThan(0)
  })

  test('a block applies to every process, is never shortened, and ends on its own', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    await openBudget(db, { name: 'c', limit: 10, windowMs: 1_000 })
    await blockBudget(db, 'c', 60_000)
    await blockBudget(db, 'c', 1_000)
    expect(await takeGrant(db, 'c')).toBeGreaterThan(50_000)
    await db.execute(`update sluice.budget set blocked_until = clock_timestamp() - interval '1 second'`)
    expect(await takeGrant(db, 'c')).toBe(0)
  })

  test('each user of the service has a budget of its own, and a requested wait holds only the processes of its user', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const open = (user: number) =>
      Allowance.open(
        {
          db,
          clock: systemClock,
          settings: engineSettings(origin),
          service: { ...testService, origin, credentials: `user ${user} of application a` },
        },
        'user_lists',
      )
    const limited = await open(1)
    await limited.update({ kind: 'answer', status: 429, headers: { 'retry-after': '60' }, body: Buffer.from(''), durationMs: 1 }, 1)
    const taken = async (user: number) => (await (await open(user)).takeGrant({ signal: AbortSignal.timeout(2_000) })) !== undefined
    expect(await Promise.all([taken(1), taken(2)])).toEqual([false, true])
  })

  test('a limit that the service raises again applies in a new process too', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const open = () =>
      Allowance.open({ db, clock: systemClock, settings: engineSettings(origin), service: { ...testService, origin } }, 'user_lists')
    const stated = async (limit: number) => {
      const headers = { 'x-account-rate-limit-limit': String(limit) }
      await (await open()).update({ kind: 'answer', status: 200, headers, body: Buffer.from(''), durationMs: 1 }, 1)
      const [row] = await db.query<{ request_limit: number }>('select request_limit from sluice.budget')
      return row?.request_limit
    }
    expect(await stated(300)).toBe(300)
    expect(await stated(1_500)).toBe(1_500)
  })

  test('a limit that another process lowered rises again with the next answer', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const open = () =>
      Allowance.open({ db, clock: systemClock, settings: engineSettings(origin), service: { ...testService, origin } }, 'user_lists')
    const [one, other] = [await open(), await open()]
    const state = async (allowance: Allowance, limit: number) => {
      await allowance.takeGrant({})
      const headers = { 'x-account-rate-limit-limit': String(limit) }
      await allowance.update({ kind: 'answer', status: 200, headers, body: Buffer.from(''), durationMs: 1 }, 1)
      return (await listBudgets(db))[0]?.limit
    }
    expect(await state(one, 1_500)).toBe(1_500)
    expect(await state(other, 300)).toBe(300)
    expect(await state(one, 1_500)).toBe(1_500)
    expect(await state(other, 300)).toBe(300)
  })

  test('K4: grants and blocks of a clock that was ahead count as of now', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    await openBudget(db, { name: 'c', limit: 10, windowMs: 300_000 })
    for (let i = 0; i < 10; i++) expect(await takeGrant(db, 'c')).toBe(0)
    await blockBudget(db, 'c', 60_000)
    await db.execute(`update sluice.budget set blocked_until = blocked_until + interval '2 days'`)
    await db.execute(`update sluice.budget_slot set granted_at = granted_at + interval '2 days'`)
    const wait = await takeGrant(db, 'c')
    expect(wait).toBeGreaterThan(290_000)
    expect(wait).toBeLessThanOrEqual(300_000)
    await db.execute(`update sluice.budget_slot set granted_at = granted_at - interval '300 seconds'`)
    expect(await takeGrants(db, 'c', 64)).toMatchObject({ granted: 10 })
    await blockBudget(db, 'c', 60_000)
    expect(await takeGrant(db, 'c')).toBeLessThanOrEqual(300_000)
  })

  test('K4: grants of a clock that was ahead count as of now before the next one is given', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    await openBudget(db, { name: 'c', limit: 10, windowMs: 300_000 })
    await takeGrants(db, 'c', 5)
    await db.execute(`update sluice.budget_slot set granted_at = granted_at + interval '2 days'`)
    expect(await Promise.all([takeGrants(db, 'c', 2), takeGrants(db, 'c', 2)])).toMatchObject([{ granted: 2 }, { granted: 2 }])
    expect((await listBudgets(db))[0]).toMatchObject({ used: 9 })
    expect(Math.max(...(await grantTimes(db)))).toBeLessThan(Date.now() + 60_000)
  })

  test('K4: a grant of a clock that was ahead counts as of now, also if a newer one does not', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    await openBudget(db, { name: 'c', limit: 3, windowMs: 300_000 })
    await takeGrants(db, 'c', 3)
    await db.execute(`update sluice.budget_slot set granted_at = granted_at + interval '2 days' where slot = 0`)
    expect(await takeGrant(db, 'c')).toBeLessThanOrEqual(300_000)
  })

  test('a denied grant does not wait for the lock', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    await openBudget(db, { name: 'c', limit: 1, windowMs: 300_000 })
    expect(await takeGrant(db, 'c')).toBe(0)
    const client = await db.connect()
    await client.query('begin; select from sluice.budget for update')
    expect(await takeGrant(db, 'c')).toBeGreaterThan(0)
    await client.query('rollback')
    client.release()
  })

  test('a denied grant writes nothing, and classes are independent', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    await openBudget(db, { name: 'a', limit: 1, windowMs: 300_000 })
    await openBudget(db, { name: "b'; drop", limit: 1, windowMs: 300_000 })
    expect(await takeGrant(db, 'a')).toBe(0)
    for (let i = 0; i < 3; i++) expect(await takeGrant(db, 'a')).toBeGreaterThan(0)
    expect(await db.query(`select granted from sluice.budget where class = 'a'`)).toEqual([{ granted: '1' }])
    expect(await takeGrant(db, "b'; drop")).toBe(0)
    expect((await grantTimes(db)).length).toBe(2)
  })

  test('a process killed while it locks the budget delays no other process', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    await openBudget(db, { name: 'c', limit: 10, windowMs: 1_000 })
    const child = spawn(process.execPath, [taker, database.url, 'c', 'hold'], { stdio: ['ignore', 'pipe', 'ignore'] })
    await new Promise((resolve) => child.stdout.once('data', resolve))
    child.kill('SIGKILL')
    expect(await takeGrant(db, 'c')).toBe(0)
  })

  test('the ring grants as a plain log does, over many more grants than it has slots', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    await openBudget(db, { name: 'c', limit: 7, windowMs: 40 })
    let taken = 0
    while (taken < 120) {
      const { granted, waitMs } = await takeGrants(db, 'c', Math.min(120 - taken, 1 + (taken % 9)))
      taken += granted
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
    const times = await grantTimes(db)
    expect(times.length).toBe(120)
    expect(mostInWindow(times, 40)).toBeLessThanOrEqual(7)
  })

  test('a class that was never opened is an error, not a grant', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    await expect(takeGrant(database.db, 'nobody')).rejects.toThrow('never opened')
  })
})
