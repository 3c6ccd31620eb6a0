/** Tests of the process that sends, its clock, its database and its credentials (docs/faults.md, W and K). */
import { spawn, type ChildProcess } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createTransport } from '../../../src/service/client/index.ts'
import { fixedCredentials } from '../../../src/sandbox/area.ts'
import type { Database } from '../../../src/db/database.ts'
import { planCounts } from '../../../src/sync/reports/planCounts.ts'
import { pushPlan } from '../../../src/sync/push/push.ts'
import { recoverAndResend } from '../../../src/sync/push/recoverAndResend.ts'
import { testDatabase } from '../../support/postgres.ts'
import { withSandbox, type SandboxUnderTest } from '../../support/sandbox.ts'
import { fakeService } from './fakeService.ts'
import { batchStates, email, engineDeps, hex, plantBatch, plantDestination, plantPlan, syncedKeys, user, type Planted } from './planted.ts'

const pusher = fileURLToPath(new URL('./pusher.ts', import.meta.url))
const users = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => user(email(`person ${from + i}`)))
const transportTo = (url: string, secret = fixedCredentials.consumerSecret) =>
  createTransport({ baseUrl: url, adsBaseUrl: url, adsVersion: '12', ...fixedCredentials, consumerSecret: secret })

async function plant(db: Database, batches = 3): Promise<Planted> {
  const planted = await plantPlan(db, await plantDestination(db))
  for (let i = 0; i < batches; i++) await plantBatch(db, planted, users(i * 5, i * 5 + 5))
  return planted
}

async function uploads(sandbox: SandboxUnderTest): Promise<string[]> {
  return (await sandbox.control.ledger()).filter(({ path }) => path.endsWith('/users')).map((line) => line.body_sha256)
}

const attempts = (db: Database) =>
  db.query<{ outcome: string | null; reason: string | null }>('select outcome, reason from sluice.attempt order by id')

/** Stops the process while it has no transaction. The locks of a stopped one end after two minutes (docs/database.md), longer than a test. */
async function stopOutsideTransaction(db: Database, child: ChildProcess): Promise<void> {
  const isOpen = async () =>
    (
      await db.query(
        `select from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid() and xact_start is not null`,
      )
    ).length > 0
  child.kill('SIGSTOP')
  while (await isOpen()) {
    child.kill('SIGCONT')
    await setTimeout(5)
    child.kill('SIGSTOP')
  }
}

describe('a process that is stopped for a while', () => {
  test.for([
    ['shorter than its lease', false],
    ['past its lease', true],
  ] as const)(
    'W2: stopped %s and continued: its answer counts only while it has the lease of the batch',
    { tags: ['long'] },
    async ([, late]) => {
      await using database = await testDatabase({ mayBeUsed: true })
      await using sandbox = await withSandbox()
      const { db } = database
      const planted = await plant(db, 1)
      await sandbox.control.fault({ path: '/12/accounts/' }, { kind: 'hold', name: 'h', stage: 'after_apply' })
      const child = spawn(process.execPath, [pusher, database.url, sandbox.url, planted.planId], { stdio: 'ignore' })
      const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
      await expect.poll(async () => (await sandbox.control.holds()).length, { timeout: 20_000 }).toBe(1)
      await stopOutsideTransaction(db, child)
      if (late) {
        await db.execute(`update sluice.batch set lease_until = clock_timestamp() - interval '1 second'`)
        const transport = transportTo(sandbox.url)
        const deps = await engineDeps(db, transport)
        await recoverAndResend(deps, planted.destinationId, { runId: planted.runId })
        await transport.close()
        expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 5, pending: 0, ambiguous: 0 })
      }
      const settled = await db.query('select status, epoch, settled_at from sluice.batch')
      await sandbox.control.release('h')
      child.kill('SIGCONT')
      expect(await ended).toBe(0)
      expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 5, pending: 0, ambiguous: 0, requests: late ? 2 : 1 })
      // The worker without the lease wrote nothing.
      if (late) expect(await db.query('select status, epoch, settled_at from sluice.batch')).toEqual(settled)
      expect(new Set(await uploads(sandbox)).size).toBe(1)
      // There were two at the same time, because one of the workers was stopped. Their bytes were equal (docs/guarantees.md#one-holder).
      expect(
        (await sandbox.control.violations()).filter(({ rule }) => !['two_in_flight_for_one_key', 'same_body_at_once'].includes(rule)),
      ).toEqual([])
    },
  )

  test('W3 and W4: a process that continues after its lease sends nothing under it', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const service = fakeService()
    const planted = await plant(db, 1)
    const deps = await engineDeps(db, service)
    let behindMs = 0
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + behindMs }
    // The process commits the attempt, and then does nothing for 90 seconds. A blocked loop, a sleep of the machine or a lost database
    // have this effect.
    const falls = (text: string) => {
      if (text.includes('insert into attempt') && behindMs === 0) behindMs = 90_000
    }
    const slow: Database = {
      ...db,
      transaction: (work) =>
        db.transaction((tx) => work({ ...tx, query: (text, values) => tx.query<never>(text, values).finally(() => falls(text)) })),
    }
    await pushPlan({ ...deps, clock, db: slow }, planted.planId)
    expect(behindMs).toBe(90_000)
    expect(service.seen.length).toBe(1)
    expect(await attempts(db)).toMatchObject([{ outcome: 'retry' }, { outcome: 'confirmed' }])
    expect(await batchStates(db, planted.planId)).toEqual(['settled'])
  })

  test('W13: after running out of memory the next run completes the plan', { tags: ['long'] }, async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    await using sandbox = await withSandbox()
    const { db } = database
    const planted = await plant(db, 3)
    await sandbox.control.fault({ path: '/12/accounts/' }, { kind: 'hold', name: 'h', stage: 'after_apply' })
    // The process begins to fill the memory as soon as a request is in flight.
    const eat = `setInterval(async () => { const a = await fetch('${sandbox.url}/_sandbox/holds'); if ((await a.json()).length) { const all = []; for (;;) all.push(new Array(100_000).fill({ n: all.length })) } }, 50).unref()`
    const child = spawn(
      process.execPath,
      [
        '--max-old-space-size=64',
        '--import',
        `data:text/javascript,${encodeURIComponent(eat)}`,
        pusher,
        database.url,
        sandbox.url,
        planted.planId,
      ],
      { stdio: 'ignore' },
    )
    const end = await new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal ?? code)))
    expect(['SIGABRT', 'SIGTRAP', 'SIGILL', 134]).toContain(end)
    await sandbox.control.release('h')
    const transport = transportTo(sandbox.url)
    const deps = await engineDeps(db, transport)
    await recoverAndResend(deps, planted.destinationId, { runId: planted.runId })
    await pushPlan(deps, planted.planId)
    await transport.close()
    expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 15, pending: 0, ambiguous: 0 })
    expect((await uploads(sandbox)).length).toBeLessThanOrEqual(6)
    expect(await sandbox.control.violations()).toEqual([])
  })
})

test('W11: a changed secret signs the next attempt with the same bytes', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  await using sandbox = await withSandbox()
  const { db } = database
  const planted = await plant(db, 1)
  const old = transportTo(sandbox.url, 'a secret of yesterday')
  await pushPlan(await engineDeps(db, old), planted.planId)
  await old.close()
  expect(await batchStates(db, planted.planId)).toEqual([expect.stringMatching(/^pending/)])
  expect(await planCounts(db, planted.planId)).toMatchObject({ refused: 0, pending: 5 })
  const transport = transportTo(sandbox.url)
  await recoverAndResend(await engineDeps(db, transport), planted.destinationId, { runId: planted.runId })
  await transport.close()
  expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 5 })
  expect(new Set(await uploads(sandbox)).size).toBe(1)
})

test('K4: a wall clock that jumps by two hours changes no lease, no order and no byte', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  const { db } = database
  const service = fakeService()
  const planted = await plant(db, 6)
  const frozen = await db.query<{ sha: string }>(`select encode(body_sha256, 'hex') as sha from sluice.batch order by seq`)
  let jumps = 0
  const clock = { ...systemClock, now: () => systemClock.now() + (jumps++ % 2 === 0 ? 7_200_000 : -7_200_000) }
  service.script = (_request, nth) => (nth % 4 === 1 ? { kind: 'lost', error: new Error('reset'), durationMs: 1 } : undefined)
  await pushPlan({ ...(await engineDeps(db, service)), clock }, planted.planId)
  expect(await planCounts(db, planted.planId)).toMatchObject({ confirmed: 30, ambiguous: 0, pending: 0 })
  expect(new Set(service.seen.map(({ sha256 }) => sha256))).toEqual(new Set(frozen.map(({ sha }) => sha)))
  expect(await db.query(`select from sluice.batch where epoch > 3`)).toEqual([])
  expect((await syncedKeys(db, planted.destinationId)).length).toBe(30)
  expect([...service.members.keys()].toSorted()).toEqual(Array.from({ length: 30 }, (_, i) => hex(email(`person ${i}`))).toSorted())
})
