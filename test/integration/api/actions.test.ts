/** Actions of the dashboard as operators repeat them: twice, from an old page, after a sign-in, on a phone. */
import { expect, test } from 'vitest'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { startServer, type ServerUnderTest } from '../../support/server.ts'
import { item, products, rss } from '../acceptance/products.ts'

const write = (engine: EngineUnderTest, count: number) => engine.write('feed.xml', rss(products(count).map((row) => item(row))))

const form = (server: ServerUnderTest, path: string, body = '') =>
  server.call('POST', path, { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body })

/** Sends 40 products, then withholds 20 deletes. */
async function withheldPlan(engine: EngineUnderTest): Promise<{ readonly planId: string; readonly approval: string }> {
  engine.pipeline('shop', catalogYaml('feed.xml'))
  write(engine, 40)
  await engine.run('shop')
  write(engine, 20)
  const { planId = '' } = await engine.run('shop')
  const [plan] = await engine.db.query<{ digest: string }>('select digest from plan where id = $1', [planId])
  return { planId, approval: `number=20&digest=${plan?.digest ?? ''}` }
}


