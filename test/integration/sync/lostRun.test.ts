/** A process that lost its run, because it was stopped for longer than its lease, and continues. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import type { EngineDeps } from '../../../src/sync/engine.ts'
import type { RunReport } from '../../../src/model/report.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { goodProduct, item, rss } from '../acceptance/products.ts'

const people = (...names: string[]) => `id,mail\n${names.map((name) => `${name},${name}@example.com\n`).join('')}`

const yaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`

/** Starts a run that stops between the read and the plan, in the wait for a late request. */
async function stopBeforePlan(engine: EngineUnderTest): Promise<{ readonly resume: () => Promise<RunReport> }> {
  const stopped = Promise.withResolvers<void>()
  const resumed = Promise.withResolvers<void>()
  const clock = {
    ...engine.deps.clock,
    sleep: async () => {
      stopped.resolve()
      await resumed.promise
    },
  }
  await engine.db.execute(`insert into remote (destination_id, key, ref_count, late_until)
    select id, '\\x00', 0, statement_timestamp() + interval '1 hour' from destination`)
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'people')
  const run = runPipeline({ ...engine.deps, clock }, pipeline, { trigger: 'manual' })
  await stopped.promise
  await engine.db.execute(`delete from remote where key = '\\x00'`)
  return {
    resume: () => {
      resumed.resolve()
      return run
    },
  }
}

test('a process that read the source before it lost its run changes nothing that a later run did', async () => {
  // No heartbeat notices the loss before the plan is stored.
  await using engine = await engineUnderTest({ settings: { heartbeatMs: 600_000 } })
  engine.pipeline('people', yaml)
  engine.write('people.csv', people('ann'))
  await engine.run('people')
  engine.write('people.csv', people('ann', 'ben'))
  const first = await stopBeforePlan(engine)
  await engine.db.execute(`update run set lease_until = statement_timestamp() - interval '1 second' where status = 'running'`)
  // Ben opted out.
  engine.write('people.csv', people('ann', 'cat'))
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { creates: 1 } })
  const { digest } = await engine.sandbox.control.audience()

  const after = await engine.mark()
  expect(await first.resume()).toMatchObject({ status: 'failed', error: { code: 'RUN_INTERRUPTED' } })
  expect(await engine.writes(after)).toEqual([])
  expect((await engine.sandbox.control.audience()).digest).toBe(digest)
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { unchanged: 2, requests: 0 } })
})

test('a run whose connections are lost between two statements names the database, not an internal error', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', yaml)
  engine.write('people.csv', people('ann'))
  await engine.run('people')
  engine.write('people.csv', people('ann', 'ben'))
  const run = await stopBeforePlan(engine)
  await engine.db.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
  )
  expect(await run.resume()).toMatchObject({
    status: 'failed',
    // The process may read the last message of the server first, or find the connection closed.
    error: {
      code: 'DATABASE_FAILED',
      message: expect.stringMatching(/^the database failed \((?:connection lost|57P01)\)/),
      hint: 'sluice doctor',
    },
  })
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { creates: 1 } })
})

test('the server ends a transaction of a process that stopped in it, so that its destination is not locked for good', async () => {
  await using engine = await engineUnderTest()
  expect(await engine.db.query('show idle_in_transaction_session_timeout')).toEqual([{ idle_in_transaction_session_timeout: '2min' }])
})

test('a process that lost its run before it changed the product sets leaves those of a later run', async () => {
  await using engine = await engineUnderTest({ settings: { heartbeatMs: 600_000 } })
  const shop = (set: string) =>
    engine.pipeline('shop', catalogYaml('feed.xml', `, product_sets: [{ name: ${set}, where: { brand: Acme } }]`))
  const load = () => loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  engine.write('feed.xml', rss([item(goodProduct(1))]))
  shop('Old')
  const pipeline = await load()
  const stopped = Promise.withResolvers<void>()
  const resumed = Promise.withResolvers<void>()
  const transport: EngineDeps['transport'] = {
    ...engine.deps.transport,
    exchange: async (request) => {
      if (request.path.endsWith('/product_sets')) {
        stopped.resolve()
        await resumed.promise
      }
      return engine.deps.transport.exchange(request)
    },
  }
  const first = runPipeline({ ...engine.deps, transport }, pipeline, { trigger: 'manual' })
  await stopped.promise
  await engine.db.execute(`update run set lease_until = statement_timestamp() - interval '1 second' where status = 'running'`)
  shop('New')
  expect((await engine.run('shop')).status).toBe('succeeded')
  const after = await engine.mark()
  resumed.resolve()
  expect(await first).toMatchObject({ status: 'failed', error: { code: 'RUN_INTERRUPTED' } })
  expect(await engine.writes(after)).toEqual([])
})
