/**
 * Actions of the dashboard on runs and plans of a pipeline that now writes to another destination. None of them may change that
 * destination.
 */
import { expect, test } from 'vitest'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { startServer, type ServerUnderTest } from '../../support/server.ts'
import { item, products, rss } from '../acceptance/products.ts'

/** Edits the file of `shop`, so that it writes to another catalog. */
function moveShop(engine: EngineUnderTest): void {
  engine.pipeline('shop', catalogYaml('feed.xml').replace('4001', '4002'))
}

function write(engine: EngineUnderTest, count: number): void {
  engine.write('feed.xml', rss(products(count).map((row) => item(row))))
}

const form = (server: ServerUnderTest, path: string, body = '') =>
  server.call('POST', path, { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body })

const queuedRuns = (engine: EngineUnderTest) => engine.db.query(`select id from run where status = 'queued'`)

test('the dashboard does not rerun a run of another destination', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  write(engine, 3)
  const { runId } = await engine.run('shop')
  moveShop(engine)
  const rerun = await form(server, `/runs/${runId}/rerun`)
  expect(await queuedRuns(engine)).toEqual([])
  expect(rerun.status).toBe(409)
  expect(rerun.text).toContain(`run ${runId} went to another service or destination`)
})

/** Sends 40 products. Then a guard withholds the deletes of all but `left`. */
async function withheldPlan(
  engine: EngineUnderTest,
  left: number,
): Promise<{ readonly planId: string; readonly digest: string | undefined }> {
  engine.pipeline('shop', catalogYaml('feed.xml'))
  write(engine, 40)
  await engine.run('shop')
  write(engine, left)
  const { planId = '' } = await engine.run('shop')
  const [plan] = await engine.db.query<{ digest: string }>('select digest from plan where id = $1', [planId])
  return { planId, digest: plan?.digest }
}

test('an approval in the dashboard does not release deletes of another destination', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  const { planId, digest } = await withheldPlan(engine, 20)
  moveShop(engine)
  const approval = await form(server, `/plans/${planId}/approve`, `number=20&digest=${digest}`)
  expect(await queuedRuns(engine)).toEqual([])
  expect(approval.status).toBe(409)
  expect(approval.text).toContain(`plan ${planId} was made for another service or destination`)
})

test('a run of a destination that belongs to other credentials is not queued, and the answer is a conflict', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine, {
    deps: { serviceFor: async () => ({ ...engine.deps.service, credentials: 'another user' }) },
  })
  engine.pipeline('shop', catalogYaml('feed.xml'))
  write(engine, 3)
  await engine.run('shop')
  expect(await server.call('POST', '/api/pipelines/shop/runs')).toMatchObject({
    status: 409,
    json: { error: { code: 'OTHER_CREDENTIALS' } },
  })
  expect(await queuedRuns(engine)).toEqual([])
  // Nor does the other user pause it, or end a pause of its owner.
  const refused = { status: 409, json: { error: { code: 'OTHER_CREDENTIALS' } } }
  expect(await server.call('POST', '/api/pipelines/shop/pause')).toMatchObject(refused)
  await using own = await startServer(engine)
  expect(await own.call('POST', '/api/pipelines/shop/pause')).toMatchObject({ status: 200, json: { changed: true } })
  expect(await server.call('POST', '/api/pipelines/shop/resume')).toMatchObject(refused)
  expect(await engine.run('shop')).toMatchObject({ status: 'skipped', error: { code: 'PIPELINE_PAUSED' } })
})

test('an approval in the dashboard must repeat the number of deletes, with or without separators of thousands', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  const { planId, digest } = await withheldPlan(engine, 25)
  const approve = (number: string) => form(server, `/plans/${planId}/approve`, `number=${number}&digest=${digest}`)
  for (const number of ['1.5', '1,5', '14', '']) expect([number, (await approve(number)).status]).toEqual([number, 422])
  expect(await queuedRuns(engine)).toEqual([])
  expect((await approve('+15+')).status).toBe(303)
})

test('every page of a pipeline with other credentials names its own service, and not that of the environment', async () => {
  await using engine = await engineUnderTest()
  const live = 'https://ads.example.com'
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const { planId } = await withheldPlan(engine, 25)
  const sandbox = new URL(engine.deps.service.origin).host
  const headOf = async (server: ServerUnderTest, path: string) =>
    /<p class="service">.*?<\/p>/s.exec((await server.call('GET', path)).text)?.[0]
  // The environment has the live service, and the pipeline of these runs the sandbox.
  await using server = await startServer(engine, { deps: { service: { ...engine.deps.service, origin: live } } })
  const [ids] = await engine.db.query<{ id: string; batch: string }>(
    'select max(r.id) as id, (select max(id) from batch) as batch from run r',
  )
  for (const path of [`/runs/r_${ids?.id}`, `/runs/r_${ids?.id}/rejects`, `/plans/${planId}`, `/batches/${ids?.batch}`]) {
    expect(await headOf(server, path), path).toMatch(/local.*127\.0\.0\.1/s)
    expect(await headOf(server, path), path).toContain(sandbox)
  }
  expect(await headOf(server, '/')).toContain('ads.example.com')
  // The environment has the sandbox, and one pipeline the live service.
  engine.write(
    'sluice.yaml',
    `credentials: { live: { base_url: "${live}", consumer_key: k, consumer_secret: s, access_token: 1-t, access_token_secret: a } }\n`,
  )
  engine.pipeline('shop-live', `credentials: live\n${catalogYaml('feed.xml')}`)
  await using local = await startServer(engine, {
    deps: { serviceFor: async ({ credentials }) => ({ ...engine.deps.service, ...(credentials === undefined ? {} : { origin: live }) }) },
  })
  expect(await headOf(local, '/pipelines/shop')).toContain(sandbox)
  expect(await headOf(local, '/pipelines/shop-live')).toContain('ads.example.com')
  expect(await headOf(local, '/pipelines/shop-live')).not.toContain('local')
  const { text } = await local.call('GET', '/')
  expect(/href="\/pipelines\/shop-live".*?<\/td>/s.exec(text)?.[0]).toContain('ads.example.com')
  expect(/href="\/pipelines\/shop".*?<\/td>/s.exec(text)?.[0]).not.toContain('127.0.0.1')
  const record = await form(local, '/records', 'pipeline=shop-live&key=SKU-1')
  expect(/<p class="service">.*?<\/p>/s.exec(record.text)?.[0]).toContain('ads.example.com')
  // While no file can be used, the page names the service of the last run.
  engine.write('sluice.yaml', 'alerts: [\n')
  expect(await headOf(server, '/pipelines/shop')).toContain(sandbox)
})
