/** Several environments and folders on one database: each does its own work, and only that. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { ensureDestination, takeOverDestination } from '../../../src/db/destinations.ts'
import { claimRun } from '../../../src/db/runs/claim.ts'
import { requestRun } from '../../../src/db/runs/request.ts'
import { startWorker, type JobDeps, type Worker } from '../../../src/jobs/index.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { createTransport } from '../../../src/service/client/index.ts'
import { registerWorker } from '../../../src/db/workers.ts'
import { destinationKey } from '../../../src/sync/destinationKey.ts'
import type { EngineDeps } from '../../../src/sync/engine.ts'
import { loadRun } from '../../../src/sync/reports/history.ts'
import { applyPlan } from '../../../src/sync/run/applyPlan.ts'
import { claimAndExecute, runPipeline } from '../../../src/sync/run/run.ts'
import { rerun } from '../../../src/sync/run/rerun.ts'
import { pushPlan } from '../../../src/sync/push/push.ts'
import { recoverRunsAndCounts } from '../../../src/sync/run/recoverExpiredRuns.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { withSandbox } from '../../support/sandbox.ts'
import { goodProduct, item, rss } from '../acceptance/products.ts'

const workers: Worker[] = []
const folders: string[] = []

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()))
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const otherUser = 'user 7 of application 0123456789ab'

function jobs(deps: EngineDeps, folder: string): JobDeps {
  return { ...deps, folder, loadPipeline: (name) => loadPipeline(folder, name), loadPipelines: () => loadPipelines(folder) }
}

async function work(deps: EngineDeps, folder: string): Promise<void> {
  workers.push(await startWorker(jobs(deps, folder)))
}

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-fence-'))
  folders.push(folder)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  return folder
}

/** An engine with a catalog pipeline `shop` of three products. */
async function shop(): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  engine.write('feed.xml', rss([0, 1, 2].map((i) => item(goodProduct(i)))))
  engine.pipeline('shop', catalogYaml('feed.xml'))
  return engine
}

const pipelines = (engine: EngineUnderTest) => join(engine.folder, 'pipelines')

/** A scheduled run in the queue, as a scheduler of this environment leaves it. */
async function queued(engine: EngineUnderTest, name = 'shop'): Promise<number> {
  const pipeline = await loadPipeline(pipelines(engine), name)
  const { id: destinationId } = await ensureDestination(engine.db, destinationKey(engine.deps, pipeline))
  const runId = await requestRun(engine.db, {
    pipeline: name,
    destinationId,
    trigger: 'schedule',
    scheduledFor: new Date(),
    version: pipeline.version,
  })
  return runId ?? 0
}

const status = async (engine: EngineUnderTest, runId: number) => (await loadRun(engine.db, `r_${runId}`)).status

/** This engine's environment with another service: its own address and connection, on the same database. */
async function withOtherService(engine: EngineUnderTest, url: string): Promise<EngineDeps & AsyncDisposable> {
  const transport = createTransport({ baseUrl: url, adsBaseUrl: url, adsVersion: '12', ...engine.sandbox.credentials })
  return {
    ...engine.deps,
    transport,
    workerId: await registerWorker(engine.db, { role: 'test' }),
    service: { ...engine.deps.service, origin: url },
    async [Symbol.asyncDispose]() {
      await transport.close()
    },
  }
}

describe('a worker of another environment', () => {
  test('does not run a queued run of another service', { timeout: 60_000 }, async () => {
    await using engine = await shop()
    await using other = await withSandbox()
    await using deps = await withOtherService(engine, other.url)
    const runId = await queued(engine)
    await work(deps, pipelines(engine))
    // It has polled for work once it has claimed its own.
    const own = await requestOwn(engine, deps)
    await expect.poll(() => status(engine, own), { timeout: 20_000 }).toBe('succeeded')
    expect(await status(engine, runId)).toBe('queued')
    expect((await other.control.catalog()).products).toBe(3)
    expect(await engine.writes()).toEqual([])
    await work(engine.deps, pipelines(engine))
    await expect.poll(() => status(engine, runId), { timeout: 20_000 }).toBe('succeeded')
    expect((await engine.sandbox.control.catalog()).products).toBe(3)
  })

  test('sends no batch of a plan for another service', async () => {
    await using engine = await shop()
    await using other = await withSandbox()
    await using deps = await withOtherService(engine, other.url)
    const { planId } = await engine.plan('shop')
    await engine.db.execute(`update sluice.plan set status = 'applying' where id = $1`, [planId])
    await pushPlan(deps, planId)
    expect((await other.control.ledger()).filter((line: { method: string }) => line.method !== 'GET')).toEqual([])
    await expect(applyPlan(deps, planId)).rejects.toMatchObject({ code: 'PLAN_OF_ANOTHER_SERVICE' })
    await pushPlan(engine.deps, planId)
    expect((await engine.sandbox.control.catalog()).products).toBe(3)
  })

  test('claims no run and no batch of other credentials, and its commands are rejected with a hint', async () => {
    await using engine = await shop()
    await engine.run('shop')
    const mark = await engine.mark()
    engine.write('feed.xml', rss([0, 1].map((i) => item(goodProduct(i, 9)))))
    const runId = await queued(engine)
    const { planId } = await plannedBeside(engine, runId)
    const deps: EngineDeps = { ...engine.deps, service: { ...engine.deps.service, credentials: otherUser } }
    const pipeline = await loadPipeline(pipelines(engine), 'shop')
    expect(await claimRun(engine.db, runId, { workerId: 'w', leaseMs: 1_000, fence: deps.service })).toBe('not_claimable')
    await pushPlan(deps, planId)
    await expect(runPipeline(deps, pipeline, { trigger: 'manual' })).rejects.toMatchObject({
      code: 'OTHER_CREDENTIALS',
      hint: expect.stringContaining('sluice run shop --take-over') as unknown,
    })
    await expect(applyPlan(deps, planId)).rejects.toMatchObject({ code: 'OTHER_CREDENTIALS' })
    expect(await engine.writes(mark)).toEqual([])

    expect(await runPipeline({ ...deps, actor: 'jane' }, pipeline, { trigger: 'manual', takeOver: true })).toMatchObject({
      counts: { updates: 2, deletes: 1 },
    })
    expect(await engine.db.query(`select actor from audit where what = 'destination.taken_over'`)).toEqual([{ actor: 'jane' }])
    await expect(engine.run('shop')).rejects.toMatchObject({ code: 'OTHER_CREDENTIALS' })
  })

  test('does not recover a run of another environment; that environment ends and reports it', async () => {
    await using engine = await shop()
    const runId = await queued(engine)
    const claim = { workerId: engine.deps.workerId, leaseMs: 60_000, fence: engine.deps.service }
    expect(await claimRun(engine.db, runId, claim)).toMatchObject({ id: runId })
    await engine.db.execute(`update run set lease_until = clock_timestamp() - interval '1 minute' where id = $1`, [runId])
    for (const other of [{ credentials: otherUser }, { origin: 'https://other.example' }])
      expect(await recoverRunsAndCounts(engine.db, { ...engine.deps.service, ...other })).toEqual([])
    expect(await status(engine, runId)).toBe('running')
    expect(await recoverRunsAndCounts(engine.db, engine.deps.service)).toEqual([runId])
    expect(await loadRun(engine.db, `r_${runId}`)).toMatchObject({ status: 'failed', error: { code: 'RUN_INTERRUPTED' } })
  })

  test('a run whose lease expired is not reported as died while its process may be alive', async () => {
    await using engine = await shop()
    const runId = await queued(engine)
    const claim = { workerId: engine.deps.workerId, leaseMs: 60_000, fence: engine.deps.service }
    await claimRun(engine.db, runId, claim)
    await engine.db.execute(`update run set lease_until = clock_timestamp() - interval '1 minute' where id = $1`, [runId])
    await recoverRunsAndCounts(engine.db, engine.deps.service)
    const { error } = await loadRun(engine.db, `r_${runId}`)
    expect(error?.message).toBe(
      `the process of this run did not renew its lease: it died, was stopped, or could not reach the database; what was confirmed is kept; r_${runId + 1} repeats it`,
    )
  })

  test('a destination is not taken over during a run', async () => {
    await using engine = await shop()
    const runId = await queued(engine)
    const run = await claimRun(engine.db, runId, { workerId: engine.deps.workerId, leaseMs: 60_000, fence: engine.deps.service })
    if (typeof run === 'string') throw new Error(run)
    expect(await takeOverDestination(engine.db, run.destinationId, otherUser, 'jane')).toBe(false)
  })

  test('rerun rejects a run of another environment', async () => {
    await using engine = await shop()
    await using other = await withSandbox()
    await using deps = await withOtherService(engine, other.url)
    const { runId } = await engine.run('shop')
    await expect(rerun(deps, runId, { failedOnly: false, pipelines: pipelines(engine) })).rejects.toMatchObject({
      code: 'RUN_OF_ANOTHER_DESTINATION',
    })
  })
})

/** A queued run of the same folder in the other environment. */
async function requestOwn(engine: EngineUnderTest, deps: EngineDeps): Promise<number> {
  const pipeline = await loadPipeline(pipelines(engine), 'shop')
  const { id: destinationId } = await ensureDestination(engine.db, destinationKey(deps, pipeline))
  return (await requestRun(engine.db, { pipeline: 'shop', destinationId, trigger: 'schedule', scheduledFor: new Date(0) })) ?? 0
}

/** A plan in application, beside a waiting run. */
async function plannedBeside(engine: EngineUnderTest, runId: number): Promise<{ readonly planId: string }> {
  await engine.db.execute(`update sluice.run set created_at = clock_timestamp() where id = $1`, [runId])
  return engine.plan('shop')
}

describe('a worker with another folder', () => {
  test('does not run a pipeline that it does not have, or has in another version', { timeout: 60_000 }, async () => {
    await using engine = await shop()
    const runId = await queued(engine)
    const yaml = catalogYaml('feed.xml').replaceAll('{folder}', engine.folder)
    const otherFolder = folderOf({ 'other.yaml': yaml.replace('4001', '4002'), 'shop.yaml': 'source: [' })
    await work(engine.deps, otherFolder)
    // It has polled for work once it has claimed its own.
    const other = await loadPipeline(otherFolder, 'other')
    const { id: destinationId } = await ensureDestination(engine.db, destinationKey(engine.deps, other))
    const own = await requestRun(engine.db, { pipeline: 'other', destinationId, trigger: 'schedule', scheduledFor: new Date() })
    await expect.poll(() => status(engine, own ?? 0), { timeout: 20_000 }).not.toBe('queued')
    expect(await status(engine, runId)).toBe('queued')
    for (const text of [`${yaml}guards: { max_delete_count: 3 }\n`, yaml.replace('4001', '4002')]) {
      const pipeline = await loadPipeline(folderOf({ 'shop.yaml': text }), 'shop')
      expect(await claimAndExecute(engine.deps, runId, pipeline)).toBe('not_claimable')
    }
    expect(await status(engine, runId)).toBe('queued')
    // The same file in another folder has the same version.
    await work(engine.deps, folderOf({ 'shop.yaml': yaml }))
    await expect.poll(() => status(engine, runId), { timeout: 20_000 }).toBe('succeeded')
    expect((await engine.sandbox.control.catalog()).products).toBe(3)
  })

  test('a worker executes its own run behind more than 50 queued runs of other folders', { timeout: 60_000 }, async () => {
    await using engine = await shop()
    await engine.db.execute(
      `with other as (
         insert into sluice.destination (service, kind, account_id, target_id)
         select $1, 'catalog', '', 'other' || i from generate_series(1, 60) as i returning id)
       insert into sluice.run (pipeline, destination_id, trigger, status, options) select 'other' || id, id, 'schedule', 'queued', '{}' from other`,
      [engine.deps.service.origin],
    )
    const runId = await queued(engine)
    await work(engine.deps, pipelines(engine))
    await expect.poll(() => status(engine, runId), { timeout: 20_000 }).toBe('succeeded')
  })

  test('a worker loads the whole folder only if runs of other folders may hide its own', { timeout: 60_000 }, async () => {
    await using engine = await shop()
    const runId = await queued(engine)
    let loads = 0
    const deps = jobs(engine.deps, pipelines(engine))
    const loadAll = () => {
      loads++
      return deps.loadPipelines()
    }
    workers.push(await startWorker({ ...deps, loadPipelines: loadAll }))
    await expect.poll(() => status(engine, runId), { timeout: 20_000 }).toBe('succeeded')
    expect(loads).toBe(0)
  })

  test('a run that no worker can take is skipped with the reason', { tags: ['long'], timeout: 60_000 }, async () => {
    await using engine = await shop()
    const runId = await queued(engine)
    const folder = folderOf({})
    mkdirSync(folder, { recursive: true })
    await work({ ...engine.deps, settings: { ...engine.deps.settings, unclaimedAfterMs: 100 } }, folder)
    await expect.poll(() => status(engine, runId), { timeout: 20_000 }).toBe('skipped')
    expect(await loadRun(engine.db, `r_${runId}`)).toMatchObject({
      error: {
        code: 'RUN_UNCLAIMED',
        message: 'no running worker has the requested version of shop. Nothing was sent.',
        hint: 'start or update a worker; or sluice run shop, which runs the current version',
      },
    })
    expect(await engine.writes()).toEqual([])
  })

  test('a run is not skipped as unclaimed while its worker has no room for it', { tags: ['long'], timeout: 60_000 }, async () => {
    await using engine = await shop()
    await engine.sandbox.control.fault({ path: '/12/product_catalogs/' }, { kind: 'delay', ms: 6_500 }, 'always')
    const runIds: number[] = []
    for (const name of ['1', '2', '3', '4', '5']) {
      engine.pipeline(name, catalogYaml('feed.xml').replace('4001', `500${name}`))
      runIds.push(await queued(engine, name))
    }
    await work({ ...engine.deps, settings: { ...engine.deps.settings, unclaimedAfterMs: 1_000, maxAttempts: 1 } }, pipelines(engine))
    const statuses = () => Promise.all(runIds.map((runId) => status(engine, runId)))
    await expect.poll(async () => (await statuses()).join(), { timeout: 50_000 }).not.toMatch(/queued|running/)
    expect(await statuses()).not.toContain('skipped')
  })

  test('a run that a worker can take is not skipped first, although it waited long, as during a pause', { timeout: 60_000 }, async () => {
    await using engine = await shop()
    const runId = await queued(engine)
    await work({ ...engine.deps, settings: { ...engine.deps.settings, unclaimedAfterMs: 0 } }, pipelines(engine))
    await expect.poll(() => status(engine, runId), { timeout: 20_000 }).not.toMatch(/queued|running/)
    expect(await status(engine, runId)).toBe('succeeded')
  })
})
