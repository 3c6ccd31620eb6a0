import { describe, expect, test } from 'vitest'
import { beat, type BeatDeps } from '../../../src/jobs/beat.ts'
import { openQueues } from '../../../src/jobs/queues.ts'
import { silentLogger } from '../../../src/log.ts'
import type { Database } from '../../../src/store/database.ts'
import { storeSchedules } from '../../../src/store/schedules.ts'
import { testDatabase } from '../../support/postgres.ts'
import { plantDestination } from '../push/planted.ts'

const noQueues = { wakeForRun: async () => true }

async function scheduled(db: Database, cron: string, overlap: 'skip' | 'queue' = 'skip', pausedFor = '0 seconds'): Promise<BeatDeps> {
  const destinationId = await plantDestination(db)
  await storeSchedules(db, [{ pipeline: 'p', cron, timezone: 'UTC', overlap }])
  await db.execute(`update sluice.schedule set last_scheduled_for = clock_timestamp() - $1::interval`, [pausedFor])
  return { db, queues: noQueues, log: silentLogger, destinationOf: async () => destinationId }
}

const ticks = (db: Database) =>
  db.query<{ outcome: string; reason: string | null; run_id: string | null }>(
    'select outcome, reason, run_id from sluice.tick order by scheduled_for',
  )
const runs = (db: Database) => db.query<{ status: string; trigger: string }>('select status, trigger from sluice.run order by id')

describe('a beat of the scheduler', () => {
  test('K1: decides a due tick once, however many schedulers beat at once', async () => {
    await using database = await testDatabase()
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '90 seconds')
    await Promise.all(Array.from({ length: 8 }, () => beat(deps)))
    await Promise.all(Array.from({ length: 8 }, () => beat(deps)))
    expect((await runs(db)).filter((run) => run.status === 'queued').length).toBe(1)
    const decided = await ticks(db)
    expect(decided.filter((tick) => tick.outcome === 'ran').length).toBe(1)
    expect(new Set(decided.map((tick) => tick.outcome))).toEqual(decided.length > 1 ? new Set(['missed', 'ran']) : new Set(['ran']))
  })

  test('K3: makes up for a long pause with one run, and every missed tick has its line', async () => {
    await using database = await testDatabase()
    const { db } = database
    await beat(await scheduled(db, '0 * * * *', 'skip', '26 hours'))
    const decided = await ticks(db)
    expect(decided.length).toBeGreaterThanOrEqual(26)
    expect(decided.slice(0, -1).every((tick) => tick.outcome === 'missed' && tick.reason !== null)).toBe(true)
    expect(decided.at(-1)).toMatchObject({ outcome: 'ran' })
    expect((await runs(db)).length).toBe(1)
  })

  test('overlap skip: a tick while a run is under way leaves a receipt and starts nothing', async () => {
    await using database = await testDatabase()
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '61 seconds')
    await db.execute(
      `insert into sluice.run (pipeline, destination_id, trigger, status, lease_until) values ('p', $1, 'manual', 'running', clock_timestamp() + interval '1 minute')`,
      [await deps.destinationOf('p')],
    )
    await beat(deps)
    expect((await ticks(db)).at(-1)).toMatchObject({ outcome: 'skipped', reason: expect.stringContaining('still under way') as unknown })
    expect((await runs(db)).map((run) => run.status)).toEqual(['running', 'skipped'])
  })

  test('overlap queue: one run waits behind the one under way, a second does not', async () => {
    await using database = await testDatabase()
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'queue', '61 seconds')
    await db.execute(
      `insert into sluice.run (pipeline, destination_id, trigger, status, lease_until) values ('p', $1, 'manual', 'running', clock_timestamp() + interval '1 minute')`,
      [await deps.destinationOf('p')],
    )
    await beat(deps)
    await db.execute(`update sluice.schedule set last_scheduled_for = last_scheduled_for - interval '1 minute'`)
    await db.execute(`update sluice.tick set scheduled_for = scheduled_for - interval '1 day'`)
    await db.execute(`update sluice.run set scheduled_for = scheduled_for - interval '1 day'`)
    await beat(deps)
    expect((await ticks(db)).map((tick) => tick.outcome).slice(-2)).toEqual(['queued', 'skipped'])
    expect((await runs(db)).map((run) => run.status)).toEqual(['running', 'queued', 'skipped'])
  })

  test('nothing of it stays when it fails before its commit', async () => {
    await using database = await testDatabase()
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '61 seconds')
    await expect(beat({ ...deps, queues: { wakeForRun: () => Promise.reject(new Error('gone')) } })).rejects.toThrow('gone')
    expect([...(await ticks(db)), ...(await runs(db))]).toEqual([])
    await beat(deps)
    expect((await runs(db)).length).toBe(1)
  })

  test('a changed schedule begins anew, a removed one is switched off', async () => {
    await using database = await testDatabase()
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '3 hours')
    await storeSchedules(db, [{ pipeline: 'p', cron: '*/2 * * * *', timezone: 'UTC', overlap: 'skip' }])
    expect(await beat(deps)).toBe(0)
    await db.execute(`update sluice.schedule set last_scheduled_for = clock_timestamp() - interval '3 hours'`)
    await storeSchedules(db, [])
    expect(await beat(deps)).toBe(0)
  })
})

describe('the queues', () => {
  test('a wake-up in a transaction is not there before its commit, and not after its rollback', async () => {
    await using database = await testDatabase()
    const { db } = database
    const queues = await openQueues(db, { supervise: false, log: silentLogger })
    try {
      await expect(
        db.transaction(async (tx) => {
          await queues.wakeForRun({ runId: 1, destinationId: 1 }, tx)
          expect(await queues.boss.fetch('run')).toEqual([])
          throw new Error('rolled back')
        }),
      ).rejects.toThrow('rolled back')
      expect(await queues.boss.fetch('run')).toEqual([])
      await db.transaction((tx) => queues.wakeForRun({ runId: 2, destinationId: 1 }, tx))
      expect((await queues.boss.fetch('run')).map((job) => job.data)).toEqual([{ runId: 2, destinationId: 1 }])
    } finally {
      await queues.close()
    }
  })

  test('W6: one job a destination, queued or at work: what comes meanwhile is told so', async () => {
    await using database = await testDatabase()
    const queues = await openQueues(database.db, { supervise: false, log: silentLogger })
    try {
      expect(await queues.wakeForRun({ runId: 1, destinationId: 1 })).toBe(true)
      expect(await queues.wakeForRun({ runId: 2, destinationId: 1 })).toBe(false)
      expect(await queues.wakeForRun({ runId: 3, destinationId: 2 })).toBe(true)
      await queues.boss.fetch('run')
      expect(await queues.wakeForRun({ runId: 4, destinationId: 1 })).toBe(false)
    } finally {
      await queues.close()
    }
  })

  test('a job that was taken over is not completed by the one who lost it', async () => {
    await using database = await testDatabase()
    const queues = await openQueues(database.db, { supervise: false, log: silentLogger })
    try {
      await queues.wakeForRun({ runId: 1, destinationId: 1 })
      const [lost] = await queues.boss.fetch('run')
      await queues.boss.fail('run', lost!.id)
      await database.db.execute(`update sluice_jobs.job set start_after = now() where name = 'run'`)
      const [held] = await queues.boss.fetch('run')
      expect(held!.id).toBe(lost!.id)
      expect(await queues.boss.complete('run', { id: lost!.id, retryCount: lost!.retryCount })).toMatchObject({ affected: 0 })
      expect(await queues.boss.complete('run', { id: held!.id, retryCount: held!.retryCount })).toMatchObject({ affected: 1 })
    } finally {
      await queues.close()
    }
  })
})
