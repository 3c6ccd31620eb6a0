/** The scheduler of a folder with an invalid `sluice.yaml`. Every tick is recorded as skipped. Runs start again once the file is valid. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { undeclaredPipelines } from '../../../src/db/schedules.ts'
import { systemClock } from '../../../src/clock.ts'
import { startScheduler } from '../../../src/jobs/scheduler.ts'
import { silentLogger } from '../../../src/log.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'

test(
  'ticks are skipped with the error of sluice.yaml until it is corrected, and the error is logged once',
  { timeout: 30_000 },
  async () => {
    await using engine = await engineUnderTest()
    const folder = join(engine.folder, 'pipelines')
    mkdirSync(folder, { recursive: true })
    engine.pipeline('shop', `schedule: "* * * * * *"\n${catalogYaml('feed.xml')}`)
    const errors: unknown[] = []
    let passedMs = 0
    /** Advances the time, so that the files are read again and other schedulers would declare the schedule. */
    const pass = async () => {
      passedMs += 60_000
      await engine.db.execute(`update pipeline_schedule set declared_at = declared_at - interval '1 minute'`)
    }
    const newest = async () =>
      (
        await engine.db.query<{ outcome: string; reason: string | null }>(
          'select outcome, reason from tick order by scheduled_for desc limit 1',
        )
      )[0]
    const scheduler = await startScheduler({
      ...engine.deps,
      log: { ...silentLogger, error: (fields: unknown) => errors.push(fields) },
      clock: { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs },
      folder,
      loadPipeline: (name) => loadPipeline(folder, name),
      loadPipelines: () => loadPipelines(folder),
    })
    try {
      await expect.poll(newest, { timeout: 5_000 }).toMatchObject({ outcome: 'ran' })
      const file = join(engine.folder, 'sluice.yaml')
      writeFileSync(file, 'defaults:\n  nonsense: 1\n')
      await pass()
      await expect
        .poll(newest, { timeout: 5_000 })
        .toMatchObject({ outcome: 'skipped', reason: expect.stringMatching(/sluice\.yaml.*nonsense/) as string })
      await pass()
      await engine.db.execute('delete from tick')
      await expect
        .poll(newest, { timeout: 5_000 })
        .toMatchObject({ outcome: 'skipped', reason: expect.stringContaining('sluice.yaml') as string })
      expect(errors).toEqual([expect.objectContaining({ code: 'PROJECT_INVALID', hint: expect.stringMatching(/./) as string })])

      rmSync(file)
      await engine.db.execute(`update run set status = 'succeeded', finished_at = clock_timestamp() where status = 'queued'`)
      await pass()
      await expect.poll(newest, { timeout: 5_000 }).toMatchObject({ outcome: 'ran' })
    } finally {
      await scheduler.stop()
    }
  },
)

test('ticks of a market are skipped while its file is invalid, and the market does not count as removed', { timeout: 30_000 }, async () => {
  await using engine = await engineUnderTest()
  const folder = join(engine.folder, 'pipelines')
  mkdirSync(folder, { recursive: true })
  const markets =
    'schedule: "* * * * * *"\nsource: { url: feed.xml }\nmarkets: { de: { destination: { kind: catalog, catalog_id: "4002" } } }\n'
  engine.pipeline('shop', markets)
  let passedMs = 0
  const scheduler = await startScheduler({
    ...engine.deps,
    log: silentLogger,
    clock: { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs },
    folder,
    loadPipeline: (name) => loadPipeline(folder, name),
    loadPipelines: () => loadPipelines(folder),
  })
  const skipped = () =>
    engine.db.query<{ pipeline: string; reason: string }>(
      `select pipeline, reason from tick where outcome = 'skipped' and reason like '%guard%' order by scheduled_for desc limit 1`,
    )
  try {
    await expect.poll(() => engine.db.query('select from tick'), { timeout: 5_000 }).not.toEqual([])
    engine.pipeline('shop', `${markets}guard: {}\n`)
    passedMs = 60_000
    await engine.db.execute(`update pipeline_schedule set declared_at = declared_at - interval '2 minutes'`)
    await expect.poll(skipped, { timeout: 10_000 }).toMatchObject([{ pipeline: 'shop-de' }])
    expect(await undeclaredPipelines(engine.db, folder)).toEqual([])
  } finally {
    await scheduler.stop()
  }
})
