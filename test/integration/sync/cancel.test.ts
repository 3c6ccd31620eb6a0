/** Cancelled runs: they stop in any stage, report it, and the next run continues. */
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { catalogDigest } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { ensureDestination } from '../../../src/db/destinations.ts'
import { requestRun } from '../../../src/db/runs/request.ts'
import { recoverRuns, type ClaimedRun } from '../../../src/db/runs/claim.ts'
import { createProgressStorer } from '../../../src/sync/run/liveProgress.ts'
import { cancel } from '../../../src/sync/run/run.ts'
import { loadRun } from '../../../src/sync/reports/history.ts'
import { nextCommands } from '../../../src/sync/reports/nextCommands.ts'
import { item, products, rss, expectedProduct } from '../acceptance/products.ts'

async function running(engine: EngineUnderTest): Promise<string> {
  for (;;) {
    const [row] = await engine.db.query<{ id: string }>(`select id from sluice.run where status = 'running' and plan_id is not null`)
    if (row !== undefined) return `r_${row.id}`
    await wait(20)
  }
}

test('a cancelled run sends no further request, keeps confirmed records, and the next run continues its plan', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const rows = products(800)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(rows.map((row) => item(row))))
  await control.fault({ path: '/12/product_catalogs' }, { kind: 'delay', ms: 300 }, 'always')
  const report = engine.run('shop')
  const runId = await running(engine)
  // The counts so far are shown while it runs.
  while ((await loadRun(engine.db, runId)).counts.confirmed === 0) await wait(20)
  expect(await cancel(engine.deps, runId, { actor: 'jane' })).toEqual({ runId, state: 'stopping' })
  // From now on no worker starts another request, long before the run notices the cancellation.
  const after = await engine.mark()
  const ended = await report
  expect((await engine.writes(after)).length).toBeLessThanOrEqual(engine.deps.settings.concurrency)
  expect(ended).toMatchObject({ runId, status: 'cancelled', error: { code: 'RUN_CANCELLED', hint: 'sluice run shop' } })
  expect(await engine.db.query(`select actor from audit where what = 'destination.paused'`)).toEqual([{ actor: 'jane' }])
  expect(ended.counts.confirmed).toBeGreaterThan(0)
  expect(ended.counts.pending).toBeGreaterThan(0)
  expect(imbalance(ended.counts)).toEqual([])
  await control.clearFaults()
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  expect((await control.catalog()).digest).toBe(catalogDigest(rows.map(expectedProduct)))
  expect(await cancel(engine.deps, runId, { actor: 'jane' })).toEqual({ runId, state: 'ended' })
  expect(await loadRun(engine.db, runId)).toMatchObject({ status: 'cancelled' })
})

test('a run can be cancelled while it plans', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(5).map((row) => item(row))))
  const lock = await engine.db.connect()
  try {
    await engine.run('shop')
    await lock.query('begin')
    await lock.query('select from sluice.destination for no key update')
    engine.write('feed.xml', rss(products(6).map((row) => item(row))))
    // Waits at the beginning of its plan.
    const report = engine.run('shop')
    let runId: string | undefined
    while (runId === undefined) {
      const [row] = await engine.db.query<{ id: string }>(`select id from sluice.run where status = 'running' and snapshot_id is not null`)
      runId = row === undefined ? undefined : `r_${row.id}`
    }
    const cancelled = cancel(engine.deps, runId, { actor: 'jane' })
    expect(await report).toMatchObject({ status: 'cancelled', counts: { confirmed: 0, requests: 0 } })
    await lock.query('commit')
    expect(await cancelled).toEqual({ runId, state: 'stopping' })
  } finally {
    lock.release(true)
  }
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { creates: 1 } })
})

test('the next command of a stopped backfill from standard input does not read a stored source', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(1).map((row) => item(row))))
  await engine.run('shop')
  const queue = async () => {
    const request = { pipeline: 'shop', destinationId: 1, trigger: 'backfill', options: { source: '-' } } as const
    return `r_${await requestRun(engine.db, request)}`
  }
  const command = 'sluice backfill shop --source -'
  const cancelled = await queue()
  await cancel(engine.deps, cancelled, { actor: 'jane' })
  expect(await loadRun(engine.db, cancelled)).toMatchObject({ status: 'cancelled', error: { hint: command } })
  expect(nextCommands(await loadRun(engine.db, cancelled))).toEqual([[command, 'with the same input, continues where it stopped']])
  const killed = await queue()
  await engine.db.execute(`update run set status = 'running', started_at = now(), lease_until = '-infinity' where status = 'queued'`)
  await recoverRuns(engine.db, [], engine.deps.service)
  expect(await loadRun(engine.db, killed)).toMatchObject({ status: 'failed', error: { code: 'RUN_INTERRUPTED', hint: command } })
})

test('cancelling a queued run removes it from the queue', async () => {
  await using engine = await engineUnderTest()
  const { id } = await ensureDestination(engine.db, {
    service: engine.deps.service.origin,
    kind: 'catalog',
    accountId: '',
    targetId: '4001',
  })
  const runId = await requestRun(engine.db, { pipeline: 'shop', destinationId: id, trigger: 'schedule', scheduledFor: new Date() })
  expect(await cancel(engine.deps, `r_${runId}`, { actor: 'jane' })).toEqual({ runId: `r_${runId}`, state: 'cancelled' })
  expect(await loadRun(engine.db, `r_${runId}`)).toMatchObject({ status: 'cancelled', error: { code: 'RUN_CANCELLED' } })
  await expect(cancel(engine.deps, 'r_999', { actor: 'jane' })).rejects.toMatchObject({ code: 'UNKNOWN_RUN' })
})

test('the stored progress of a run is of its present stage, although the stage began during a write', async () => {
  await using engine = await engineUnderTest()
  const [row] = await engine.db.query<{ id: string; epoch: number }>(
    `insert into run (pipeline, trigger, status, worker_id, started_at, lease_until)
     values ('shop', 'manual', 'running', $1, now(), now() + interval '1 minute') returning id, epoch`,
    [engine.deps.workerId],
  )
  const run = { id: Number(row?.id), epoch: row?.epoch } as ClaimedRun
  const lock = await engine.db.connect()
  try {
    await lock.query('begin')
    await lock.query('select from sluice.run for update')
    const onProgress = createProgressStorer(engine.deps, run)
    onProgress({ stage: 'read', done: 1 })
    onProgress({ stage: 'diff', done: 0 })
    onProgress({ stage: 'plan', done: 0 })
    await lock.query('commit')
    const stage = async () => (await engine.db.query<{ stage: string }>(`select progress ->> 'stage' as stage from run`))[0]?.stage
    await expect.poll(stage).toBe('plan')
  } finally {
    lock.release()
  }
})
