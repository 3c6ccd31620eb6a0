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

test('a plan that is approved twice makes one run, also while this run reads its source', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  const { planId, approval } = await withheldPlan(engine)
  const approve = async () => (await form(server, `/plans/${planId}/approve`, approval)).headers.location
  expect([await approve(), await approve()]).toEqual(['/runs/r_3', '/runs/r_3'])
  await engine.db.execute(`update run set status = 'running', started_at = statement_timestamp() where id = 3`)
  expect(await approve()).toBe('/runs/r_3')
  expect(await engine.db.query(`select what from audit where plan_id = $1 and what = 'deletes.approved'`, [planId])).toHaveLength(2)
  // A run that failed before its plan has deleted nothing, so its approval can be repeated.
  await engine.db.execute(`update run set status = 'failed', finished_at = statement_timestamp() where id = 3`)
  expect(await approve()).toBe('/runs/r_4')
})

test('the page of a replaced plan links to the plan that replaced it', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  const { planId, approval } = await withheldPlan(engine)
  const { planId: newer } = await engine.plan('shop')
  const page = await server.call('GET', `/plans/${planId}`)
  expect(page.text).toMatch(new RegExp(`replaced.*href="/plans/${newer}"`, 's'))
  expect(await form(server, `/plans/${planId}/approve`, approval)).toMatchObject({ status: 409 })
  expect((await server.call('GET', `/plans/${newer}`)).text).toContain('name="number"')
})

test('the address of an action leads to the page with its form, for example after a sign-in', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine, { access: { host: '0.0.0.0', token: 'correct-horse' } })
  const { planId } = await withheldPlan(engine)
  const headers = { authorization: 'Bearer correct-horse' }
  for (const [path, page] of [
    ['/pipelines/shop/run', '/pipelines/shop'],
    ['/pipelines/shop/full', '/pipelines/shop'],
    ['/pipelines/shop/pause', '/pipelines/shop'],
    ['/pipelines/shop/resume', '/pipelines/shop'],
    ['/runs/r_1/cancel', '/runs/r_1'],
    ['/runs/r_1/rerun', '/runs/r_1'],
    [`/plans/${planId}/approve`, `/plans/${planId}`],
  ] as const) {
    const signIn = await form(server, path)
    expect([path, signIn.headers.location]).toEqual([path, `/sign-in?next=${encodeURIComponent(path)}`])
    expect([path, (await server.call('GET', path, { headers })).headers.location]).toEqual([path, page])
    expect([page, (await server.call('GET', page, { headers })).status]).toEqual([page, 200])
  }
  expect((await server.call('GET', '/pipelines/shop/none', { headers })).status).toBe(404)
})

test('the name that confirms a full refresh may have spaces around it, and phones do not capitalize it', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  expect((await form(server, '/pipelines/shop/full', 'name=Shop')).status).toBe(409)
  expect((await form(server, '/pipelines/shop/full', 'name=shop+')).headers.location).toBe('/runs/r_1')
  expect((await server.call('GET', '/pipelines/shop')).text).toMatch(/<input\s+id="full-name"[^>]*autocapitalize="none"/)
  expect((await server.call('GET', '/records')).text).toMatch(/<input\s+id="key"[^>]*autocapitalize="none"/)
})
