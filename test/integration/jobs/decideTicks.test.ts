import { describe, expect, test } from 'vitest'
import { decideDueTicks, type DecideTicksDeps } from '../../../src/jobs/decideTicks.ts'
import { openQueues } from '../../../src/jobs/queues.ts'
import { silentLogger } from '../../../src/log.ts'
import type { Database } from '../../../src/db/database.ts'
import { requestRun } from '../../../src/db/runs/request.ts'
import { declareSchedules, type DeclaredSchedule } from '../../../src/db/schedules.ts'
import { testDatabase } from '../../support/postgres.ts'
import { testService } from '../../support/service.ts'
import { plantDestination } from '../push/planted.ts'

const noQueues = { wakeForRun: async () => true }
const everyMinute = { pipeline: 'p', cron: '* * * * *', timezone: 'UTC', overlap: 'skip' } as const

async function scheduled(
  db: Database,
  cron: string,
  overlap: 'skip' | 'queue' = 'skip',
  pausedFor = '0 seconds',
): Promise<DecideTicksDeps & { readonly destinationId: number }> {
  const destinationId = await plantDestination(db)
  const deps = declaring([{ ...everyMinute, destinationId, cron, overlap }])
  await declareSchedules(db, deps.declaration)
  await db.execute(`update sluice.pipeline_schedule set last_scheduled_for = clock_timestamp() - $1::interval`, [pausedFor])
  return { db, destinationId, ...deps }
}

function declaring(
  schedules: readonly DeclaredSchedule[],
  brokenNames: readonly string[] = [],
  folder = '/pipelines',
): Omit<DecideTicksDeps, 'db'> {
  return {
    queues: noQueues,
    log: silentLogger,
    declaration: { credentials: testService.credentials, folder, schedules, brokenNames },
    versionOf: () => 'version',
    reasonOf: () => 'line 3: nonsense',
  }
}

const ticks = (db: Database) =>
  db.query<{ outcome: string; reason: string | null; run_id: string | null }>(
    'select outcome, reason, run_id from sluice.tick order by scheduled_for',
  )
const runs = (db: Database) => db.query<{ status: string; trigger: string }>('select status, trigger from sluice.run order by id')

describe('a tick of the scheduler', () => {
  test('K1: is decided once by many concurrent schedulers', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '90 seconds')
    await Promise.all(Array.from({ length: 8 }, () => decideDueTicks(deps)))
    await Promise.all(Array.from({ length: 8 }, () => decideDueTicks(deps)))
    expect((await runs(db)).filter((run) => run.status === 'queued').length).toBe(1)
    const decided = await ticks(db)
    expect(decided.filter((tick) => tick.outcome === 'ran').length).toBe(1)
    expect(new Set(decided.map((tick) => tick.outcome))).toEqual(decided.length > 1 ? new Set(['missed', 'ran']) : new Set(['ran']))
  })

  test('K3: runs once after a long pause, and every missed tick is recorded', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    await decideDueTicks(await scheduled(db, '0 * * * *', 'skip', '26 hours'))
    const decided = await ticks(db)
    expect(decided.length).toBeGreaterThanOrEqual(26)
    expect(decided.slice(0, -1).every((tick) => tick.outcome === 'missed' && tick.reason !== null)).toBe(true)
    expect(decided.at(-1)).toMatchObject({ outcome: 'ran' })
    expect((await runs(db)).length).toBe(1)
  })

  test('K4: a schedule runs again after the clock of the database was ahead, and no tick has two runs', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const deps = await scheduled(db, '* * * * * *', 'queue', '-2 days')
    // The clock of the scheduler does not agree with that of the database. The database may be the wrong one now.
    expect(await declareSchedules(db, deps.declaration, new Date(Date.now() - 3_600_000))).toEqual([])
    await decideDueTicks(deps)
    expect(await runs(db)).toEqual([])
    expect(await declareSchedules(db, deps.declaration)).toEqual(['p'])
    expect(await declareSchedules(db, deps.declaration)).toEqual([])
    const decideOne = async () => {
      while ((await decideDueTicks(deps)).decidedCount === 0) await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await decideOne()
    expect(await runs(db)).toHaveLength(1)
    // Ticks that were decided before the clock was moved back keep their run.
    await db.execute(`update sluice.pipeline_schedule set last_scheduled_for = last_scheduled_for - interval '1 second'`)
    await decideOne()
    const times = await db.query<{ n: string; distinct_n: string }>(
      'select count(*) as n, count(distinct scheduled_for) as distinct_n from sluice.run where scheduled_for is not null',
    )
    expect(times[0]?.n).toBe(times[0]?.distinct_n)
  })

  test.for([
    ['another version', 'before the edit', 'ran'],
    ['the same version', 'version', 'skipped'],
    ['no version', null, 'skipped'],
  ] as const)('a tick behind a waiting run that was requested for %s', async ([, version, outcome]) => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '61 seconds')
    const requested = { pipeline: 'p', destinationId: deps.destinationId, trigger: 'manual', options: { anyWorker: true } } as const
    await requestRun(db, version === null ? requested : { ...requested, version })
    await decideDueTicks(deps)
    expect((await ticks(db)).at(-1)).toMatchObject({ outcome })
  })

  test('does not wait for the plan of a run, which would delay the ticks of all schedules', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '61 seconds')
    await db.transaction(async (plan) => {
      await plan.query('select from destination for update')
      expect(await decideDueTicks(deps)).toEqual({ decidedCount: 0, quietMs: 0 })
    })
    await decideDueTicks(deps)
    expect((await ticks(db)).at(-1)).toMatchObject({ outcome: 'ran' })
  })

  test('with overlap: skip, a tick during a run is recorded and starts nothing', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '61 seconds')
    await db.execute(
      `insert into sluice.run (pipeline, destination_id, trigger, status, lease_until) values ('p', $1, 'manual', 'running', clock_timestamp() + interval '1 minute')`,
      [deps.destinationId],
    )
    await decideDueTicks(deps)
    expect((await ticks(db)).at(-1)).toMatchObject({ outcome: 'skipped', reason: expect.stringContaining('still in progress') as unknown })
    expect((await runs(db)).map((run) => run.status)).toEqual(['running', 'skipped'])
  })

  test('with overlap: skip, a tick behind a queued run of another pipeline gives that run as waiting', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '61 seconds')
    const [other] = await db.query<{ id: string }>(
      `insert into sluice.run (pipeline, destination_id, trigger, status) values ('other', $1, 'manual', 'queued') returning id`,
      [deps.destinationId],
    )
    await decideDueTicks(deps)
    expect((await ticks(db)).at(-1)).toMatchObject({ outcome: 'skipped', reason: `run r_${other?.id} was already waiting` })
  })

  test('with overlap: queue, one run waits for the run in progress, and a second is skipped', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'queue', '61 seconds')
    await db.execute(
      `insert into sluice.run (pipeline, destination_id, trigger, status, lease_until) values ('p', $1, 'manual', 'running', clock_timestamp() + interval '1 minute')`,
      [deps.destinationId],
    )
    await decideDueTicks(deps)
    await db.execute(`update sluice.pipeline_schedule set last_scheduled_for = last_scheduled_for - interval '1 minute'`)
    await db.execute(`update sluice.tick set scheduled_for = scheduled_for - interval '1 day'`)
    await db.execute(`update sluice.run set scheduled_for = scheduled_for - interval '1 day'`)
    await decideDueTicks(deps)
    expect((await ticks(db)).map((tick) => tick.outcome).slice(-2)).toEqual(['queued', 'skipped'])
    expect((await runs(db)).map((run) => run.status)).toEqual(['running', 'queued', 'skipped'])
    // The setting is `overlap: queue` already.
    const [waiting] = await db.query<{ id: string }>(`select id from sluice.run where status = 'queued'`)
    expect(await db.query(`select error ->> 'hint' as hint from sluice.run where status = 'skipped'`)).toEqual([
      { hint: `sluice show r_${waiting?.id}` },
    ])
  })

  test('with overlap: queue, a tick waits behind the run of a command, which may end as skipped', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'queue', '61 seconds')
    // As `sluice run` requests it: the command claims the run itself, or ends it.
    const command = await requestRun(db, { pipeline: 'p', destinationId: deps.destinationId, trigger: 'manual' })
    await decideDueTicks(deps)
    expect((await ticks(db)).at(-1)).toMatchObject({ outcome: 'queued', reason: `behind run r_${command}` })
  })

  test('leaves no trace if it fails before its commit', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '61 seconds')
    await expect(decideDueTicks({ ...deps, queues: { wakeForRun: () => Promise.reject(new Error('gone')) } })).rejects.toThrow('gone')
    expect([...(await ticks(db)), ...(await runs(db))]).toEqual([])
    await decideDueTicks(deps)
    expect((await runs(db)).length).toBe(1)
  })

  test('a changed schedule starts at its change, and a removed one has no ticks', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '3 hours')
    const changed = declaring([{ ...everyMinute, destinationId: deps.destinationId, cron: '*/2 * * * *' }])
    await declareSchedules(db, changed.declaration)
    expect(await decideDueTicks({ db, ...changed })).toMatchObject({ decidedCount: 0 })
    const removed = declaring([])
    await declareSchedules(db, removed.declaration)
    expect(await decideDueTicks({ db, ...removed })).toMatchObject({ decidedCount: 0 })
  })

  test('a removed schedule starts when it is declared again', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '3 hours')
    const old = `update sluice.pipeline_schedule set declared_at = clock_timestamp() - interval '1 hour'`
    await db.execute(old)
    await declareSchedules(db, declaring([]).declaration)
    await declareSchedules(db, deps.declaration)
    expect(await decideDueTicks(deps)).toMatchObject({ decidedCount: 0 })
  })

  test("another folder leaves a folder's schedules alone", async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '90 seconds')
    const other = declaring([], ['p'], '/other')
    await db.execute(`update sluice.pipeline_schedule set declared_at = clock_timestamp() - interval '1 hour'`)
    await declareSchedules(db, other.declaration)
    expect(await decideDueTicks({ db, ...other })).toMatchObject({ decidedCount: 0 })
    // As its own scheduler does when it reads its files again: an undeclared schedule would begin now.
    await declareSchedules(db, deps.declaration)
    await decideDueTicks(deps)
    expect((await ticks(db)).at(-1)).toMatchObject({ outcome: 'ran' })
  })

  test('each tick of a pipeline with an invalid file is recorded with the error', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    await scheduled(db, '* * * * *', 'skip', '61 seconds')
    await db.execute(`update sluice.pipeline_schedule set declared_at = clock_timestamp() - interval '1 minute'`)
    const broken = declaring([], ['p'])
    await declareSchedules(db, broken.declaration)
    await decideDueTicks({ db, ...broken })
    expect((await ticks(db)).at(-1)).toMatchObject({
      outcome: 'skipped',
      reason: 'the pipeline file cannot be used: line 3: nonsense',
      run_id: null,
    })
    expect(await runs(db)).toEqual([])
  })

  test('a tick for a destination of other credentials starts nothing, and names them', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const { db } = database
    const deps = await scheduled(db, '* * * * *', 'skip', '61 seconds')
    await db.execute(`update sluice.destination set credentials = 'user 7 of application x'`)
    await decideDueTicks(deps)
    expect((await ticks(db)).at(-1)).toMatchObject({ outcome: 'skipped', reason: expect.stringContaining('user 7') as unknown })
    expect(await runs(db)).toEqual([])
  })
})

describe('the queues', () => {
  test('a wake-up in a transaction is sent at its commit, and never after a rollback', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
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

  test('W6: a destination has one job, queued or active; another request reports that', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
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

  test('a worker cannot complete a job that another worker took over', async () => {
    await using database = await testDatabase({ mayBeUsed: true })
    const queues = await openQueues(database.db, { supervise: false, log: silentLogger })
    try {
      await queues.wakeForRun({ runId: 1, destinationId: 1 })
      const [lost] = await queues.boss.fetch('run')
      await queues.boss.fail('run', lost!.id)
      await database.db.execute(`update sluice.job set start_after = now() where name = 'run'`)
      const [held] = await queues.boss.fetch('run')
      expect(held!.id).toBe(lost!.id)
      expect(await queues.boss.complete('run', { id: lost!.id, retryCount: lost!.retryCount })).toMatchObject({ affected: 0 })
      expect(await queues.boss.complete('run', { id: held!.id, retryCount: held!.retryCount })).toMatchObject({ affected: 1 })
    } finally {
      await queues.close()
    }
  })
})
