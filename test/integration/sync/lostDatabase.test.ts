/** A run that loses the database for some seconds, as in a restart of the server. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { requestAndClaimById } from '../../../src/sync/run/requestAndClaim.ts'
import { runUnderLease } from '../../../src/sync/run/runUnderLease.ts'
import { timedStage } from '../../../src/sync/run/timedStage.ts'
import type { Database } from '../../../src/db/database.ts'
import type { ClaimedRun } from '../../../src/db/runs/claim.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { item, products, rss } from '../acceptance/products.ts'

const lost = () => new Error('Connection terminated unexpectedly')

/** Starts a run of the pipeline `shop`, which ran before. */
async function claimedRun(engine: EngineUnderTest): Promise<ClaimedRun> {
  const [destination] = await engine.db.query<{ id: number }>('select id from destination')
  const claimed = await requestAndClaimById(engine.deps, 'shop', destination!.id, { trigger: 'manual' })
  if ('report' in claimed) throw new Error('the destination is free')
  return claimed.run
}

/** `db` that fails `times` times with `error`, from the first statement on. */
function failing(db: Database, times: number, error = lost): Database {
  let left = times
  const once = <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) => {
    return (...args: Args) => (left-- > 0 ? Promise.reject(error()) : call(...args))
  }
  return { ...db, query: once(db.query) as Database['query'], execute: once(db.execute) }
}

test('a run whose database restarts ends with that error as soon as the database is back, and unlocks its destination', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(2).map((row) => item(row))))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  const claimed = await claimedRun(engine)
  const report = await runUnderLease({ ...engine.deps, db: failing(engine.db, 3) }, claimed, async () => {
    throw lost()
  })
  expect(report).toMatchObject({
    status: 'failed',
    error: { code: 'DATABASE_FAILED', message: expect.stringContaining('connection lost') as unknown },
  })
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
})

test('a run that ends with an internal error while the database restarts throws that error, and unlocks its destination', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(2).map((row) => item(row))))
  await engine.run('shop')
  const claimed = await claimedRun(engine)
  const ended = runUnderLease({ ...engine.deps, db: failing(engine.db, 3) }, claimed, async () => {
    throw new TypeError('x is not a function')
  })
  await expect(ended).rejects.toThrow('x is not a function')
  const [run] = await engine.db.query<{ error: unknown }>('select error from run order by id desc limit 1')
  expect(run?.error).toMatchObject({ code: 'INTERNAL' })
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
})

test('a database that rejects a statement is not waited for', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(2).map((row) => item(row))))
  await engine.run('shop')
  const claimed = await claimedRun(engine)
  const readOnly = { ...engine.db, execute: () => Promise.reject(Object.assign(new Error('read-only'), { code: '25006' })) }
  const ended = runUnderLease({ ...engine.deps, db: readOnly }, claimed, async () => ({ status: 'succeeded', guards: [] }))
  await expect(ended).rejects.toMatchObject({ code: '25006' })
})

test.each(['EAI_AGAIN', 'ENOTFOUND', 'ENETUNREACH', 'ENETDOWN'])(
  'a run waits for a database whose host is not found for some seconds (%s)',
  { tags: ['long'] },
  async (code) => {
    await using engine = await engineUnderTest()
    engine.pipeline('shop', catalogYaml('feed.xml'))
    engine.write('feed.xml', rss(products(2).map((row) => item(row))))
    await engine.run('shop')
    const claimed = await claimedRun(engine)
    const notFound = () => Object.assign(new Error(`getaddrinfo ${code} db.example.com`), { code })
    const report = await runUnderLease({ ...engine.deps, db: failing(engine.db, 3, notFound) }, claimed, () => Promise.reject(notFound()))
    expect(report).toMatchObject({
      status: 'failed',
      error: { code: 'DATABASE_FAILED', message: expect.stringContaining(code) as unknown },
    })
    expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  },
)

test('too many open files are not reported as an error of the database', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(2).map((row) => item(row))))
  await engine.run('shop')
  const claimed = await claimedRun(engine)
  const ended = runUnderLease(engine.deps, claimed, () =>
    Promise.reject(Object.assign(new Error('too many open files'), { code: 'EMFILE' })),
  )
  await expect(ended).rejects.toMatchObject({ code: 'EMFILE' })
  const [run] = await engine.db.query<{ error: unknown }>('select error from run order by id desc limit 1')
  expect(run?.error).toMatchObject({ code: 'INTERNAL' })
})

test('a stage that fails throws its own error, even if its duration cannot be stored', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(2).map((row) => item(row))))
  await engine.run('shop')
  const claimed = await claimedRun(engine)
  const stage = timedStage({ ...engine.deps, db: failing(engine.db, 1) }, claimed, 'read', () => Promise.reject(new Error('source failed')))
  await expect(stage).rejects.toThrow('source failed')
})

test('a run that fails beside its push ends only when its requests in flight have ended', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(2).map((row) => item(row))))
  const sent = Promise.withResolvers<void>()
  const transport: typeof engine.deps.transport = {
    ...engine.deps.transport,
    async exchange(request) {
      sent.resolve()
      await engine.deps.clock.sleep(500)
      return engine.deps.transport.exchange(request)
    },
  }
  const query = async (text: string, values?: unknown[]) => {
    // A statement beside the push.
    if (!text.includes('load_id is not null limit 1')) return engine.db.query(text, values)
    await sent.promise
    throw lost()
  }
  const deps = { ...engine.deps, transport, db: { ...engine.db, query: query as Database['query'] } }
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  expect(await runPipeline(deps, pipeline, { trigger: 'manual' })).toMatchObject({ status: 'failed', error: { code: 'DATABASE_FAILED' } })
  expect(await engine.db.query('select status from batch')).toEqual([{ status: 'settled' }])
})
