import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createTransport } from '../../../src/service/client/index.ts'
import { fixedCredentials } from '../../../src/sandbox/area.ts'
import { batchLimits } from '../../../src/service/contract/limits.ts'
import { planCounts } from '../../../src/sync/reports/planCounts.ts'
import { pushPlan } from '../../../src/sync/push/push.ts'
import { recoverAndResend } from '../../../src/sync/push/recoverAndResend.ts'
import { testDatabase } from '../../support/postgres.ts'
import { withSandbox, type SandboxUnderTest } from '../../support/sandbox.ts'
import { email, engineDeps, deletedUser, hex, plantBatch, plantDestination, plantPlan, several, user, type Planted } from './planted.ts'
import type { Database } from '../../../src/db/database.ts'

const transportTo = (url: string) => createTransport({ baseUrl: url, adsBaseUrl: url, adsVersion: '12', ...fixedCredentials })

/** Users 0…n in batches. The old address of user 0 is deleted first, and its new one waits for that. */
async function plant(db: Database, batches: number, size = 20): Promise<Planted> {
  const planted = await plantPlan(db, await plantDestination(db))
  await plantBatch(db, planted, [deletedUser(email('old'))], { op: 'delete' })
  for (let i = 0; i < batches; i++)
    await plantBatch(
      db,
      planted,
      Array.from({ length: size }, (_, j) => user(email(`${i}/${j}`))),
    )
  await plantBatch(db, planted, [user(email('new'))], { phase: 2 })
  return planted
}

const expectedMembers = (batches: number, size = 20) =>
  [...Array.from({ length: batches * size }, (_, i) => hex(email(`${Math.floor(i / size)}/${i % size}`))), hex(email('new'))].sort()

async function members(sandbox: SandboxUnderTest): Promise<string[]> {
  const lines = (await sandbox.control.identifiers()).split('\n').filter(Boolean)
  return lines.map((line) => /[0-9a-f]{64}/.exec(line)?.[0] ?? line).sort()
}

async function uploads(sandbox: SandboxUnderTest): Promise<{ sha: string }[]> {
  return (await sandbox.control.ledger())
    .filter((line: { path?: string }) => line.path?.endsWith('/users'))
    .map((line: Record<string, unknown>) => ({ sha: String(line['body_sha256'] ?? line['bodySha256']) }))
}

describe('against the sandbox', () => {
  test('the audience has exactly the planned people, without a violation', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    await using sandbox = await withSandbox()
    const transport = transportTo(sandbox.url)
    const planted = await plant(database.db, 6)
    await pushPlan(await engineDeps(database.db, transport), planted.planId)
    await transport.close()
    expect(await planCounts(database.db, planted.planId)).toEqual({ confirmed: 122, refused: 0, ambiguous: 0, pending: 0, requests: 8 })
    expect(await members(sandbox)).toEqual(expectedMembers(6))
    expect(await sandbox.control.violations()).toEqual([])
  })

  test.for(['status', 'reset', 'commit_then_reset', 'truncate', 'counts', 'html', 'empty', 'rate_limit'])(
    'after a single %s the audience has the planned people',
    { tags: ['long'] },
    async (kind) => {
      await using database = await testDatabase({ mayBeUsed: true })
      await using sandbox = await withSandbox()
      const transport = transportTo(sandbox.url)
      const planted = await plant(database.db, 3)
      await sandbox.control.fault(
        { path: '/12/accounts/' },
        kind === 'status'
          ? { kind, status: 503 }
          : kind === 'rate_limit'
            ? { kind, retry_after: 1 }
            : kind === 'counts'
              ? { kind, success: 'n-1' }
              : { kind },
        2,
      )
      await pushPlan(await engineDeps(database.db, transport), planted.planId)
      await transport.close()
      expect(await planCounts(database.db, planted.planId)).toMatchObject({ confirmed: 62 })
      expect(await members(sandbox)).toEqual(expectedMembers(3))
      expect(await sandbox.control.violations()).toEqual([])
    },
  )
})

describe('one user in 2,500 whose counts are always wrong', () => {
  test.for([0, 1_234, 2_499])(
    'is found within 24 more requests, and all others are confirmed: user %i',
    { tags: ['long'] },
    async (failing) => {
      await using database = await testDatabase({ mayBeUsed: true })
      await using sandbox = await withSandbox()
      const transport = transportTo(sandbox.url)
      const planted = await plantPlan(database.db, await plantDestination(database.db))
      await plantBatch(
        database.db,
        planted,
        Array.from({ length: 2_500 }, (_, i) => user(email(`person ${i}`))),
      )
      await sandbox.control.fault({ contains_key: hex(email(`person ${failing}`)) }, { kind: 'counts', success: 'n-1' }, 'always')
      await pushPlan(await engineDeps(database.db, transport), planted.planId)
      await transport.close()
      const counts = await planCounts(database.db, planted.planId)
      expect(counts).toMatchObject({ confirmed: 2_499, ambiguous: 1 })
      expect(counts.requests - 1).toBeLessThanOrEqual(24)
      expect((await members(sandbox)).length).toBe(2_499)
      expect(await sandbox.control.violations()).toEqual([])
    },
  )

  test('C6: is found by the next process if the first one is killed during the search', { tags: ['long'] }, async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    await using sandbox = await withSandbox()
    const planted = await plantPlan(database.db, await plantDestination(database.db))
    await plantBatch(
      database.db,
      planted,
      Array.from({ length: 100 }, (_, i) => user(email(`person ${i}`))),
    )
    await sandbox.control.fault({ contains_key: hex(email(`person 77`)) }, { kind: 'counts', success: 'n-1' }, 'always')
    expect(await runPusher([database.url, sandbox.url, planted.planId], 'reconcile.split:2')).toMatchObject({ signal: 'SIGKILL' })
    expect(await runPusher([database.url, sandbox.url, planted.planId])).toMatchObject({ code: 0 })
    expect(await planCounts(database.db, planted.planId)).toMatchObject({ confirmed: 99, ambiguous: 1, pending: 0 })
    expect((await members(sandbox)).length).toBe(99)
    expect(await sandbox.control.violations()).toEqual([])
  })
})

describe('an operation of several users', () => {
  const people = (n: number) => several(...Array.from({ length: n }, (_, i) => [email(`person ${i}`)]))

  test.for(['reconcile.expanded:1', 'reconcile.split:2', 'push.reconciled:2', 'push.claimed:3', 'push.in_flight:3', 'push.answered:3'])(
    'C6: its failing user is found by the next process if the first one is killed at %s',
    { tags: ['long'] },
    async (crashAt) => {
      await using database = await testDatabase({ mayBeUsed: true })
      await using sandbox = await withSandbox()
      const planted = await plantPlan(database.db, await plantDestination(database.db))
      await plantBatch(database.db, planted, [people(60)])
      await sandbox.control.fault({ contains_key: hex(email(`person 47`)) }, { kind: 'counts', success: 'n-1' }, 'always')
      expect(await runPusher([database.url, sandbox.url, planted.planId], crashAt)).toMatchObject({ signal: 'SIGKILL' })
      expect(await runPusher([database.url, sandbox.url, planted.planId])).toMatchObject({ code: 0 })
      expect(await planCounts(database.db, planted.planId)).toMatchObject({ confirmed: 59, ambiguous: 1, pending: 0 })
      expect((await members(sandbox)).length).toBe(59)
      expect(await sandbox.control.violations()).toEqual([])
    },
  )

  test.for([1, 3])('arrives in parts if the service accepts fewer bytes: %i operations', async (operations) => {
    await using database = await testDatabase({ mayBeUsed: true })
    await using sandbox = await withSandbox()
    const transport = transportTo(sandbox.url)
    const planted = await plantPlan(database.db, await plantDestination(database.db))
    const all = Array.from({ length: operations }, (_, i) => several(...Array.from({ length: 50 }, (_, j) => [email(`person ${i}/${j}`)])))
    await plantBatch(database.db, planted, all)
    const limits: { bytes: number } = batchLimits.userOperations
    const { bytes } = limits
    limits.bytes = 1_500
    try {
      await pushPlan(await engineDeps(database.db, transport), planted.planId)
    } finally {
      limits.bytes = bytes
    }
    await transport.close()
    expect(await planCounts(database.db, planted.planId)).toMatchObject({
      confirmed: 50 * operations,
      refused: 0,
      ambiguous: 0,
      pending: 0,
    })
    expect((await members(sandbox)).length).toBe(50 * operations)
    const rules = (await sandbox.control.violations()).map(({ rule }) => rule)
    expect(new Set(rules)).toEqual(new Set(['over_1500_bytes']))
  })
})

/** Runs the pusher until it ends; resolves with the signal that ended it, or its exit code. */
function runPusher(
  args: readonly string[],
  crashAt?: string,
): Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./pusher.ts', import.meta.url)), ...args], {
    env: { ...process.env, ...(crashAt === undefined ? {} : { CRASH_AT: crashAt }) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  return new Promise((resolve) => child.on('exit', (code, signal) => resolve({ code, signal, stderr })))
}

describe('a process killed at a named instant', () => {
  test.for([
    'push.batches_claimed:1',
    'push.claimed:2',
    'push.in_flight:1',
    'push.in_flight:3',
    'push.answered:1',
    'push.answered:4',
    'reconcile.entries_written:2',
    'reconcile.before_commit:3',
    'push.reconciled:2',
    'settle.opened:1',
  ])('%s: the next one reaches the same state, with at most one extra attempt per batch', { tags: ['long'] }, async (crashAt) => {
    await using database = await testDatabase({ mayBeUsed: true })
    await using sandbox = await withSandbox()
    const planted = await plant(database.db, 4)
    const args = [database.url, sandbox.url, planted.planId]
    const killed = await runPusher(args, crashAt)
    expect(killed).toMatchObject({ signal: 'SIGKILL' })
    const inFlight = await database.db.query(`select from sluice.batch where status = 'in_flight'`)

    const transport = transportTo(sandbox.url)
    const deps = await engineDeps(database.db, transport)
    await recoverAndResend(deps, planted.destinationId, { runId: planted.runId })
    await pushPlan(deps, planted.planId)
    await transport.close()
    expect(await planCounts(database.db, planted.planId)).toMatchObject({ confirmed: 82, refused: 0, ambiguous: 0, pending: 0 })
    expect(await members(sandbox)).toEqual(expectedMembers(4))
    expect(await sandbox.control.violations()).toEqual([])
    expect((await uploads(sandbox)).length).toBeLessThanOrEqual(6 + inFlight.length)
    expect(await database.db.query(`select from sluice.attempt where finished_at is null`)).toEqual([])
  })
})

describe('several processes', () => {
  test('one of three is killed: nothing is lost, and no batch is in flight twice', { tags: ['long'] }, async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    await using sandbox = await withSandbox()
    const planted = await plant(database.db, 20, 5)
    const args = [database.url, sandbox.url, planted.planId]
    // Slow answers, and a head start for the worker to kill: it has batches when the others start.
    await sandbox.control.fault({ path: '/12/accounts/' }, { kind: 'delay', ms: 700 }, 'always')
    const doomed = runPusher(args, 'push.answered:1')
    await expect
      .poll(async () => (await database.db.query(`select from sluice.batch where status = 'in_flight'`)).length, { timeout: 20_000 })
      .toBeGreaterThan(0)
    const ends = await Promise.all([doomed, runPusher(args), runPusher(args)])
    expect(ends.map((end) => end.signal ?? end.code)).toEqual(['SIGKILL', 0, 0])
    expect(await planCounts(database.db, planted.planId)).toMatchObject({ confirmed: 102, pending: 0, ambiguous: 0 })
    expect(await members(sandbox)).toEqual(expectedMembers(20, 5))
    expect(await sandbox.control.violations()).toEqual([])
  })

  test('W12: a process that is stopped releases its batches', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    await using sandbox = await withSandbox()
    const planted = await plant(database.db, 3)
    await sandbox.control.fault({ path: '/12/accounts/' }, { kind: 'hold', name: 'h' }, 'always')
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('./pusher.ts', import.meta.url)), database.url, sandbox.url, planted.planId],
      { stdio: 'ignore' },
    )
    const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
    await expect.poll(async () => (await sandbox.control.holds()).length, { timeout: 20_000 }).toBeGreaterThan(0)
    child.kill('SIGTERM')
    await sandbox.control.clearFaults()
    await sandbox.control.release('h')
    expect(await ended).toBe(0)
    expect(await database.db.query(`select from sluice.batch where status = 'in_flight'`)).toEqual([])
  })
})
