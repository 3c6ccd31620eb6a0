/** The claim of a requested run fails, and the error names the cause. Triggers replace the other process. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { changePause, queueRun } from '../../../src/jobs/index.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { claimAndExecute } from '../../../src/sync/run/run.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { goodProduct, item, rss } from '../acceptance/products.ts'

/** Starts an engine with the pipeline `shop`. `change`: SQL that is executed between the request of a run and its claim. */
async function shop(change: string): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  engine.write('feed.xml', rss([item(goodProduct(0))]))
  engine.pipeline('shop', catalogYaml('feed.xml'))
  await engine.db.execute(`create function sluice.meanwhile() returns trigger language plpgsql as $$ begin ${change} return null; end $$`)
  await engine.db.execute('create trigger meanwhile after insert on sluice.run for each row execute function sluice.meanwhile()')
  return engine
}

test('a run that is cancelled before it is claimed reports the cancellation, and not a lock', async () => {
  await using engine = await shop(
    `update sluice.run set status = 'cancelled', started_at = created_at, finished_at = statement_timestamp(),
       error = '{"code": "RUN_CANCELLED", "message": "cancelled by an operator", "where": "shop", "hint": "sluice run shop"}' where id = new.id;`,
  )
  expect(await engine.run('shop')).toMatchObject({ status: 'cancelled', error: { code: 'RUN_CANCELLED' } })
  await expect(engine.plan('shop')).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
  await expect(engine.audit('shop')).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
})

test('a run whose destination is taken over before it is claimed reports the other credentials, and not a lock', async () => {
  const otherUser = 'user 7 of application 0123456789ab'
  await using engine = await shop(`update sluice.destination set credentials = '${otherUser}' where id = new.destination_id;`)
  for (const attempt of [engine.run, engine.plan, engine.audit]) {
    await engine.db.execute('update sluice.destination set credentials = null')
    await expect(attempt('shop')).rejects.toMatchObject({
      code: 'OTHER_CREDENTIALS',
      message: expect.stringContaining(`belongs to ${otherUser}`) as unknown,
    })
  }
  const runs = await engine.db.query(`select status, error ->> 'code' as code from sluice.run order by id`)
  expect(runs).toEqual(Array.from({ length: 3 }, () => ({ status: 'skipped', code: 'OTHER_CREDENTIALS' })))
})

test('a run whose pipeline is paused immediately before its claim is skipped', async () => {
  await using engine = await shop('')
  // The claim of the first run stores the credentials of the destination, after the check for a pause.
  await engine.db.execute(`create function sluice.pause() returns trigger language plpgsql as
    $$ begin insert into sluice.pipeline_pause (destination_id, pipeline, actor) values (new.id, 'shop', 'jane'); return null; end $$`)
  await engine.db.execute(
    'create trigger pause after update of credentials on sluice.destination for each row execute function sluice.pause()',
  )
  expect(await engine.run('shop')).toMatchObject({ status: 'skipped', error: { code: 'PIPELINE_PAUSED' } })
  expect(await engine.writes()).toEqual([])
  expect((await engine.plan('shop')).counts.creates).toBe(1)
})

test('a queued run does not start if its pipeline is paused while a worker loads the file', async () => {
  await using engine = await shop('')
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  const { runId } = await queueRun(engine.deps, pipeline, { actor: 'jane' })
  const start = () => claimAndExecute(engine.deps, Number(runId.slice(2)), pipeline)
  await changePause(engine.deps, pipeline, 'pause', { actor: 'jane' })
  expect(await start()).toBe('not_claimable')
  await changePause(engine.deps, pipeline, 'resume', { actor: 'jane' })
  expect(await start()).toMatchObject({ status: 'succeeded' })
})
