/** Two environments in one schema with a pipeline of the same name. Pages and metrics do not mix their runs, and lists name each. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listRuns } from '../../../src/sync/reports/history.ts'
import { changePause } from '../../../src/jobs/index.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { startServer } from '../../support/server.ts'
import { item, products, rss } from '../acceptance/products.ts'

const otherUser = 'user 7 of application 0123456789ab'
const audience = 'destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n'

/** Another user of the same service, with another folder. Its pipeline `shop` writes to an audience. */
function otherEnvironment(engine: EngineUnderTest) {
  const folder = join(engine.folder, 'other')
  mkdirSync(folder)
  writeFileSync(join(folder, 'shop.yaml'), `source: { url: "${engine.folder}/crm.csv" }\nmap: { key: id, email: email }\n${audience}`)
  const service = { ...engine.deps.service, credentials: otherUser }
  const deps = { ...engine.deps, service }
  const load = () => loadPipeline(folder, 'shop')
  return {
    run: async () => runPipeline(deps, await load(), { trigger: 'manual' }),
    pause: async () => changePause(deps, await load(), 'pause', { actor: 'bob' }),
    server: () =>
      startServer(engine, {
        deps: {
          service,
          serviceFor: async () => service,
          loadPipeline: (name) => loadPipeline(folder, name),
          async loadPipelines() {
            const { pipelines } = await loadPipelines(folder)
            return { pipelines, problems: [] }
          },
        },
      }),
  }
}

async function withShop(): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(3).map((row) => item(row))))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  return engine
}

/** Lines of a metric, without its name. */
const linesOf = (metrics: string, name: string) =>
  metrics
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .map((line) => line.slice(name.length))

test('metrics have the labels of the environment only if several environments have a pipeline of the name', async () => {
  await using engine = await withShop()
  await using server = await startServer(engine)
  const other = otherEnvironment(engine)
  const scrape = async () => (await server.call('GET', '/metrics')).text
  expect(linesOf(await scrape(), 'sluice_runs_total')).toContain('{pipeline="shop",status="succeeded"} 1')
  // Fails, because its source is missing.
  await other.run()
  engine.pipeline('only-here', catalogYaml('feed.xml').replace('4001', '4002'))
  await engine.run('only-here')
  const { origin, credentials } = engine.deps.service
  const [own, others] = [credentials, otherUser].map((user) => `pipeline="shop",service="${origin}",credentials="${user}"`)
  for (const text of [await scrape(), await scrape()]) {
    const runs = linesOf(text, 'sluice_runs_total').filter((line) => line.endsWith(' 1'))
    expect(runs).toHaveLength(3)
    expect(runs).toEqual(
      expect.arrayContaining([
        `{${own},status="succeeded"} 1`,
        `{${others},status="failed"} 1`,
        expect.stringMatching(/^\{pipeline="only-here",status="\w+"\} 1$/),
      ]),
    )
    expect(linesOf(text, 'sluice_last_success_timestamp_seconds')).toEqual([expect.stringContaining(`{${own}} `)])
    expect(linesOf(text, 'sluice_unsettled_operations')).toEqual(
      expect.arrayContaining([`{${own}} 0`, `{${others}} 0`, '{pipeline="only-here"} 0']),
    )
    expect(text).not.toContain('{pipeline="shop",status')
  }
  // After a take-over one environment has all runs of the name.
  await engine.db.execute('update destination set credentials = $1 where credentials = $2', [credentials, otherUser])
  const runs = linesOf(await scrape(), 'sluice_runs_total')
  expect(runs).toEqual(expect.arrayContaining(['{pipeline="shop",status="succeeded"} 1', '{pipeline="shop",status="failed"} 1']))
  expect(runs.join('\n')).not.toContain('credentials')
})

test('the page of a pipeline shows runs, plots, source and actions of its environment', async () => {
  await using engine = await withShop()
  const other = otherEnvironment(engine)
  engine.write('crm.csv', 'id,email\n1,a@example.com\n2,b@example.com\n')
  const { runId } = await other.run()
  await other.pause()
  await using server = await startServer(engine)
  await using otherServer = await other.server()
  const [page, otherPage] = [await server.call('GET', '/pipelines/shop'), await otherServer.call('GET', '/pipelines/shop')]
  expect([page.status, otherPage.status]).toEqual([200, 200])
  const shown = (text: string) => ['r_1', runId, 'feed.xml', 'crm.csv', 'paused the pipeline'].filter((word) => text.includes(word))
  expect(shown(page.text)).toEqual(['r_1', 'feed.xml'])
  expect(shown(otherPage.text)).toEqual([runId, 'crm.csv', 'paused the pipeline'])
  expect(page.text).not.toContain('memberships')
  // The page of a run of the other environment names its user.
  expect((await server.call('GET', `/runs/${runId}`)).text).toContain(otherUser)
  expect((await server.call('GET', '/runs/r_1')).text).not.toContain(engine.deps.service.credentials)
})

test('the page of a pipeline without a file shows the pause of its last destination only', async () => {
  await using engine = await withShop()
  const other = otherEnvironment(engine)
  await other.run()
  await other.pause()
  const load = async () => loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  await runPipeline(engine.deps, await load(), { trigger: 'manual' })
  const shop = await load()
  rmSync(join(engine.folder, 'pipelines', 'shop.yaml'))
  await using server = await startServer(engine)
  expect((await server.call('GET', '/pipelines/shop')).text).not.toContain('<strong>Paused</strong>')
  await changePause(engine.deps, shop, 'pause', { actor: 'anna' })
  expect((await server.call('GET', '/pipelines/shop')).text).toContain('<strong>Paused</strong> by anna')
})

test('the pages of a run and a plan of another environment have no action and no command', async () => {
  await using engine = await withShop()
  const other = otherEnvironment(engine)
  const crm = (count: number) =>
    engine.write('crm.csv', `id,email\n${Array.from({ length: count }, (_, i) => `${i},p${i}@example.com\n`).join('')}`)
  crm(40)
  const first = await other.run()
  crm(20)
  const { runId, planId } = await other.run()
  await using server = await startServer(engine)
  await using otherServer = await other.server()
  const found = async (of: typeof server) => {
    const pages = await Promise.all([of.call('GET', `/runs/${runId}`), of.call('GET', `/plans/${planId}`)])
    return pages.map(({ text }) =>
      ['Another environment', '--approve-deletes', '<form method="post"', 'Approve deletes', '<title>Approve'].filter((word) =>
        text.includes(word),
      ),
    )
  }
  expect(await found(otherServer)).toEqual([
    ['--approve-deletes', '<form method="post"'],
    ['--approve-deletes', 'Approve deletes', '<title>Approve'],
  ])
  expect(await found(server)).toEqual([['Another environment'], ['Another environment']])
  expect((await server.call('GET', '/runs/r_1')).text).not.toContain('Another environment')
  // The page of a batch has commands, and says where they belong.
  const [batch = ''] = /\/batches\/\d+/.exec((await server.call('GET', `/plans/${first.planId}`)).text) ?? []
  expect((await server.call('GET', batch)).text).toContain('Another environment')
  expect((await otherServer.call('GET', batch)).text).not.toContain('Another environment')
})

test('lists of runs have the environment of each run', async () => {
  await using engine = await withShop()
  await otherEnvironment(engine).run()
  const { origin: service, credentials } = engine.deps.service
  const expected = [
    { runId: 'r_2', service, credentials: otherUser },
    { runId: 'r_1', service, credentials },
  ]
  expect(await listRuns(engine.db, { limit: 10 })).toMatchObject(expected)
  await using server = await startServer(engine)
  expect((await server.call('GET', '/api/runs?pipeline=shop')).json).toMatchObject(expected)
})
