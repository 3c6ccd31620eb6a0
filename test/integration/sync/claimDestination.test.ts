/** The claim of a requested run fails, and the error names the cause. Triggers replace the other process. */
import { expect, test } from 'vitest'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { goodProduct, item, rss } from '../acceptance/products.ts'

/** Starts an engine with the pipeline `shop`. `change`: SQL that is executed between the request of a run and its claim. */
async function shop(change: string): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  engine.write('feed.xml', rss([item(goodProduct(0))]))
  engine.pipeline('shop', catalogYaml('feed.xml'))
  await engine.db.execute(`create function sluice.meanwhile() returns trigger language plpgsql as $$ begin ${change}; return null; end $$`)
  await engine.db.execute('create trigger meanwhile after insert on sluice.run for each row execute function sluice.meanwhile()')
  return engine
}

test('a run that is cancelled before it is claimed reports the cancellation, and not a lock', async () => {
  await using engine = await shop(
    `update sluice.run set status = 'cancelled', started_at = created_at, finished_at = statement_timestamp(),
       error = '{"code": "RUN_CANCELLED", "message": "cancelled by an operator", "where": "shop", "hint": "sluice run shop"}' where id = new.id`,
  )
  expect(await engine.run('shop')).toMatchObject({ status: 'cancelled', error: { code: 'RUN_CANCELLED' } })
  await expect(engine.plan('shop')).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
  await expect(engine.audit('shop')).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
})

test('a run whose destination is taken over before it is claimed reports the other credentials, and not a lock', async () => {
  const otherUser = 'user 7 of application 0123456789ab'
  await using engine = await shop(`update sluice.destination set credentials = '${otherUser}' where id = new.destination_id`)
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
