/** A run of a schedule that was interrupted is repeated by a worker, without waiting for the next tick. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { claimRun } from '../../../src/db/runs/claim.ts'
import { requestRun } from '../../../src/db/runs/request.ts'
import { registerWorker } from '../../../src/db/workers.ts'
import { startWorker, type Worker } from '../../../src/jobs/index.ts'
import { queueRun } from '../../../src/jobs/requests.ts'
import type { RunTrigger } from '../../../src/model/report.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { recoverRunsAndCounts } from '../../../src/sync/run/recoverExpiredRuns.ts'
import { cancel } from '../../../src/sync/run/run.ts'
import { catalogDigest } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { item, products, rss, expectedProduct } from '../acceptance/products.ts'

const rows = products(200)

async function shop(): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(rows.slice(0, 1).map((row) => item(row))))
  await engine.run('shop')
  engine.write('feed.xml', rss(rows.map((row) => item(row))))
  return engine
}

async function worker(engine: EngineUnderTest): Promise<Worker> {
  const folder = join(engine.folder, 'pipelines')
  return startWorker({
    ...engine.deps,
    workerId: await registerWorker(engine.db, { role: 'worker' }),
    folder,
    loadPipeline: (name) => loadPipeline(folder, name),
    loadPipelines: () => loadPipelines(folder),
  })
}

async function queue(engine: EngineUnderTest, trigger: RunTrigger, rerunOf?: number): Promise<number> {
  const [destination] = await engine.db.query<{ id: number }>('select id from destination')
  const id = await requestRun(engine.db, {
    pipeline: 'shop',
    destinationId: destination?.id ?? 0,
    trigger,
    ...(rerunOf === undefined ? {} : { rerunOf }),
    ...(trigger === 'schedule' ? { scheduledFor: new Date('2026-11-28T03:00:00Z') } : { options: { anyWorker: true } }),
  })
  return id ?? 0
}

/** The runs after `first`, without the ids of their processes. */
const runsFrom = ({ db }: EngineUnderTest, first: number) =>
  db.query(
    `select trigger, status, rerun_of - $1::bigint as of, error ->> 'code' as code, error ->> 'hint' as hint from run where id >= $1 order by id`,
    [first],
  )

/** Claims the run as a process that then dies without a further sign. */
async function claimAndDie(engine: EngineUnderTest, runId: number): Promise<void> {
  const fence = engine.deps.service
  expect(await claimRun(engine.db, runId, { workerId: 'gone', leaseMs: 60_000, fence })).toMatchObject({ id: runId })
  await engine.db.execute(`update run set lease_until = clock_timestamp() - interval '1 minute' where id = $1`, [runId])
}

async function expectSynced({ sandbox }: EngineUnderTest): Promise<void> {
  const digest = async () => (await sandbox.control.catalog()).digest
  await expect.poll(digest, { timeout: 30_000 }).toBe(catalogDigest(rows.map(expectedProduct)))
}

test('stopped by a signal: a worker that starts later sends the rest', { timeout: 90_000 }, async () => {
  await using engine = await shop()
  const { control } = engine.sandbox
  await control.fault({ path: '/12/product_catalogs' }, { kind: 'delay', ms: 500 }, 'always')
  const first = await worker(engine)
  const runId = await queue(engine, 'schedule')
  await expect.poll(() => engine.db.query('select from attempt where run_id = $1', [runId]), { timeout: 30_000 }).not.toEqual([])
  await first.stop()
  const interrupted = { trigger: 'schedule', status: 'cancelled', code: 'RUN_INTERRUPTED', hint: `sluice show r_${runId + 1}` }
  expect(await runsFrom(engine, runId)).toMatchObject([interrupted, { trigger: 'rerun', status: 'queued', of: '0' }])
  await control.clearFaults()
  const second = await worker(engine)
  try {
    await expectSynced(engine)
    await expect.poll(() => runsFrom(engine, runId)).toMatchObject([interrupted, { trigger: 'rerun', status: 'succeeded' }])
  } finally {
    await second.stop()
  }
  expect(await control.violations()).toEqual([])
})

test('of a request for a full refresh that joined the tick: the repetition is one too, without its approved deletes', async () => {
  await using engine = await shop()
  const runId = await queue(engine, 'schedule')
  await queueRun(engine.deps, await loadPipeline(join(engine.folder, 'pipelines'), 'shop'), {
    actor: 'jane',
    full: true,
    approveDeletes: 3,
  })
  await claimAndDie(engine, runId)
  await recoverRunsAndCounts(engine.db, engine.deps.service)
  expect(await engine.db.query('select rerun_of, options from run where id > $1', [runId])).toEqual([
    { rerun_of: String(runId), options: { full: true, anyWorker: true } },
  ])
})

test('a queued rerun of failed operations does not replace the repetition, because it sends nothing of the rest', async () => {
  await using engine = await shop()
  const runId = await queue(engine, 'schedule')
  await queueRun(engine.deps, await loadPipeline(join(engine.folder, 'pipelines'), 'shop'), { actor: 'jane', rerunFailedOf: runId })
  await claimAndDie(engine, runId)
  await recoverRunsAndCounts(engine.db, engine.deps.service)
  expect(await engine.db.query('select options from run where rerun_of = $1 order by id', [runId])).toEqual([
    { options: { failedOnly: true, anyWorker: true } },
    { options: { anyWorker: true } },
  ])
})

test.for(['running', 'queued'])('a rerun of a backfill does not replace the repetition, because it reads other rows: %s', async (state) => {
  await using engine = await shop()
  engine.write('old.xml', rss(rows.slice(0, 2).map((row) => item(row))))
  const backfill = await engine.backfill('shop', 'old.xml')
  const runId = await queue(engine, 'schedule')
  await claimAndDie(engine, runId)
  if (state === 'queued') {
    const [old] = await engine.db.query<{ destination_id: number; options: object }>(
      `select destination_id, options from run where trigger = 'backfill'`,
    )
    await requestRun(engine.db, { pipeline: 'shop', destinationId: old!.destination_id, trigger: 'rerun', options: old!.options })
    await recoverRunsAndCounts(engine.db, engine.deps.service)
  } else await engine.rerun(backfill.runId)
  expect(await runsFrom(engine, runId)).toContainEqual(
    expect.objectContaining({ trigger: 'schedule', code: 'RUN_INTERRUPTED', hint: expect.stringMatching(/^sluice show r_/) as string }),
  )
  expect(await engine.db.query(`select options from run where rerun_of = $1`, [runId])).toEqual([{ options: { anyWorker: true } }])
})

test('its process died: a worker ends it and repeats it once', { timeout: 90_000 }, async () => {
  await using engine = await shop()
  const runId = await queue(engine, 'schedule')
  await claimAndDie(engine, runId)
  const running = await worker(engine)
  const interrupted = { trigger: 'schedule', status: 'failed', code: 'RUN_INTERRUPTED', hint: `sluice show r_${runId + 1}` }
  try {
    await expectSynced(engine)
    await expect.poll(() => runsFrom(engine, runId)).toMatchObject([interrupted, { trigger: 'rerun', status: 'succeeded', of: '0' }])
  } finally {
    await running.stop()
  }
})

test.for<[string, (engine: EngineUnderTest) => Promise<number>, (runId: number) => string]>([
  [
    'a repetition, because its run may end each process',
    async (engine) => queue(engine, 'rerun', await queue(engine, 'schedule').then(async (id) => (await claimAndDie(engine, id), id))),
    (runId) => `sluice rerun r_${runId}`,
  ],
  ['a run that was not of a schedule', (engine) => queue(engine, 'manual'), () => 'sluice run shop'],
])('not repeated: %s', { timeout: 90_000 }, async ([, queued, hint]) => {
  await using engine = await shop()
  const runId = await queued(engine)
  await engine.db.execute(
    `update run set status = 'failed', finished_at = statement_timestamp(), lease_until = null where status = 'running'`,
  )
  await claimAndDie(engine, runId)
  const running = await worker(engine)
  try {
    await expect.poll(() => runsFrom(engine, runId)).toMatchObject([{ status: 'failed', code: 'RUN_INTERRUPTED', hint: hint(runId) }])
  } finally {
    await running.stop()
  }
  expect(await runsFrom(engine, runId)).toHaveLength(1)
})

test('its process died, and a command that does not send the rest ends it: its repetition is queued', async () => {
  await using engine = await shop()
  const runId = await queue(engine, 'schedule')
  await claimAndDie(engine, runId)
  await engine.plan('shop')
  expect(await runsFrom(engine, runId)).toMatchObject([
    { trigger: 'schedule', status: 'failed', code: 'RUN_INTERRUPTED', hint: `sluice show r_${runId + 1}` },
    { trigger: 'rerun', status: 'queued', of: '0' },
    { trigger: 'plan', status: 'succeeded' },
  ])
})

test('not repeated: a run that an operator had cancelled, and one whose pipeline a command runs', { timeout: 90_000 }, async () => {
  await using engine = await shop()
  const cancelled = await queue(engine, 'schedule')
  await claimAndDie(engine, cancelled)
  await cancel(engine.deps, `r_${cancelled}`, { actor: 'jane' })
  const running = await worker(engine)
  try {
    await expect.poll(() => runsFrom(engine, cancelled)).toMatchObject([{ status: 'failed', code: 'RUN_INTERRUPTED' }])
  } finally {
    await running.stop()
  }
  await engine.db.execute(`update run set scheduled_for = null where id = $1`, [cancelled])
  const killed = await queue(engine, 'schedule')
  await claimAndDie(engine, killed)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  expect(await runsFrom(engine, cancelled)).toMatchObject([
    { trigger: 'schedule', status: 'failed' },
    { trigger: 'schedule', status: 'failed' },
    { trigger: 'manual', status: 'succeeded' },
  ])
})
