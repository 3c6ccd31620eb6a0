/** `credentials:` of pipelines: each uses its own service, in commands and in a worker. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withSandbox } from '../../support/sandbox.ts'
import { shortenWaits } from '../../support/shortWaits.ts'
import { ended, printed } from './support.ts'
import { customersYaml, feed, json, shopYaml, workspace, type Workspace } from './workspace.ts'

const staging = (url: string) => `credentials:
  staging:
    base_url: "${url}"
    consumer_key: "\${STAGING_KEY}"
    consumer_secret: sandbox-consumer-secret
    access_token: 1001-sandbox-access-token
    access_token_secret: sandbox-access-token-secret
`

/** Writes the credentials `staging` with their variable. */
function writeStaging(shop: Workspace, url: string): void {
  shop.write('sluice.yaml', staging(url))
  shop.write('.env', 'STAGING_KEY=sandbox-consumer-key\n')
}

test('a pipeline with named credentials goes to their service, the others to that of the environment', async () => {
  await using shop = await workspace()
  await using other = await withSandbox()
  writeStaging(shop, other.url)
  shop.write('feed.csv', feed(3))
  shop.write('small.csv', feed(2))
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('pipelines/trial.yaml', `${shopYaml.replace('feed.csv', 'small.csv')}credentials: staging\n`)
  const runs = json(await shop.here(['run', '*', '--json']))
  expect(runs).toMatchObject([
    { pipeline: 'shop', status: 'succeeded', counts: { confirmed: 3 } },
    { pipeline: 'trial', status: 'succeeded', counts: { confirmed: 2 } },
  ])
  const products = async () => [(await shop.sandbox.control.catalog()).products, (await other.control.catalog()).products]
  expect(await products()).toEqual([3, 2])

  shop.write('small.csv', feed(4))
  const plan = json(await shop.here(['plan', 'trial', '--json']))
  expect(json(await shop.here(['apply', plan.planId, '--json']))).toMatchObject({ status: 'succeeded', counts: { confirmed: 2 } })
  expect(json(await shop.here(['rerun', runs[1].runId, '--json']))).toMatchObject({ pipeline: 'trial', status: 'succeeded' })
  expect(await products()).toEqual([3, 4])
})

test('one file syncs a catalog for each market, with prices from a file of each', async () => {
  await using shop = await workspace()
  await using other = await withSandbox()
  writeStaging(shop, other.url)
  shop.write('feed.csv', feed(3))
  shop.write('ch.csv', 'sku,price\nSKU-1,21.00 CHF\nSKU-2,22.00 CHF\nSKU-3,23.00 CHF\n')
  shop.write(
    'pipelines/shop.yaml',
    `source: feed.csv
markets:
  de: { destination: { kind: catalog, catalog_id: "4001" } }
  ch: { destination: { kind: catalog, catalog_id: "4001" }, credentials: staging, join: { url: ch.csv, on: { source: id, file: sku } } }
`,
  )
  expect(json(await shop.here(['run', 'shop', '--json']))).toMatchObject([
    { pipeline: 'shop-ch', status: 'succeeded', counts: { confirmed: 3 } },
    { pipeline: 'shop-de', status: 'succeeded', counts: { confirmed: 3 } },
  ])
  const prices = async (sandbox: { readonly control: typeof other.control }) =>
    (await sandbox.control.products('4001')).map(({ price }) => price as string)
  expect(await prices(shop.sandbox)).toEqual(['19.99 EUR', '19.99 EUR', '19.99 EUR'])
  expect(await prices(other)).toEqual(['21.00 CHF', '22.00 CHF', '23.00 CHF'])
  const checked = await shop.here(['check', 'shop-ch'])
  expect(checked.stdout).toContain('joined with ch.csv by sku: 3 rows')
  expect((await shop.here(['run', 'shop-at'])).stderr).toContain('shop-')
})

test('pauses and requests over HTTP go to the service of the pipeline', { tags: ['long'] }, async () => {
  await using shop = await workspace()
  await using other = await withSandbox()
  writeStaging(shop, other.url)
  shop.write('feed.csv', feed(2))
  shop.write('pipelines/trial.yaml', `${shopYaml}credentials: staging\n`)
  expect((await shop.here(['pause', 'trial'])).code).toBe(0)
  expect(json(await shop.here(['run', 'trial', '--json']))).toMatchObject({ status: 'skipped', error: { code: 'PIPELINE_PAUSED' } })
  const server = shop.start(['serve', '--port', '0'])
  const over = ended(server)
  try {
    const [, url = ''] = /serving on (\S+)/.exec(await printed(server, /serving on .*\n/)) ?? []
    const call = async (path: string) => (await fetch(`${url}/api/pipelines/trial/${path}`, { method: 'POST' })).json()
    expect(await call('resume')).toMatchObject({ changed: true })
    expect(await call('runs?wait=30')).toMatchObject({ status: 'succeeded' })
    expect((await other.control.catalog()).products).toBe(2)
    const form = { method: 'POST', headers: { origin: url }, body: new URLSearchParams({ reason: 'test' }), redirect: 'manual' } as const
    expect((await fetch(`${url}/pipelines/trial/pause`, form)).status).toBe(303)
    expect(await call('resume')).toMatchObject({ changed: true })
  } finally {
    server.kill('SIGTERM')
    await over
  }
})

test('credentials that sluice.yaml does not have stop the pipeline before anything is read', async () => {
  await using shop = await workspace()
  shop.write('feed.csv', feed(1))
  shop.write('pipelines/shop.yaml', `${shopYaml}credentials: stagging\n`)
  const { code, stderr } = await shop.here(['run', 'shop'])
  expect(code).toBe(2)
  expect(stderr).toMatch(/PIPELINE_INVALID.*"stagging" is not in .*sluice\.yaml/)
})

/** Writes pipeline `a` of a named service, and `b` of the service of the environment. */
function writeTwoServices(shop: Workspace): void {
  shop.write('sluice.yaml', staging(shop.sandbox.url))
  shop.write('.env', 'STAGING_KEY=sandbox-consumer-key\n')
  shop.write('feed.csv', feed(2))
  shop.write('pipelines/a.yaml', `${shopYaml}credentials: staging\n`)
  shop.write('pipelines/b.yaml', shopYaml.replace('4001', '4002'))
}

test('an incomplete service of one pipeline stops the command before another one is sent', async () => {
  await using shop = await workspace()
  writeTwoServices(shop)
  for (const command of ['run', 'plan']) {
    const outcome = await shop.here([command, 'a', 'b', '--json'], { env: { SLUICE_CONSUMER_KEY: '' } })
    expect(outcome.code).toBe(2)
    expect(json(outcome)).toMatchObject({ error: { code: 'SERVICE_NOT_CONFIGURED' } })
  }
  expect(await shop.sandbox.control.ledger()).toEqual([])
  expect(json(await shop.here(['runs', '--json']))).toEqual([])
})

test('an error of one pipeline is its report, and the other pipelines run', async () => {
  await using shop = await workspace()
  shop.write('feed.csv', feed(2))
  for (const [name, catalog] of [
    ['a', '4001'],
    ['b', '4002'],
    ['c', '4003'],
  ] as const)
    shop.write(`pipelines/${name}.yaml`, shopYaml.replace('4001', catalog))
  const otherApplication = { SLUICE_CONSUMER_KEY: 'other-key' }
  await shop.here(['run', 'b'], { env: otherApplication })
  const failed = { pipeline: 'b', status: 'failed', counts: { confirmed: 0 }, error: { code: 'OTHER_CREDENTIALS' } }

  const planned = await shop.here(['plan', '*', '--out', 'plans.json', '--json'])
  expect(planned.code).toBe(1)
  expect(json(planned)).toMatchObject([
    { pipeline: 'a', counts: { creates: 2 } },
    { ...failed, planId: '' },
    { pipeline: 'c', counts: { creates: 2 } },
  ])
  expect(JSON.parse(readFileSync(join(shop.folder, 'plans.json'), 'utf8'))).toMatchObject([{ pipeline: 'a' }, failed, { pipeline: 'c' }])

  const ran = await shop.here(['run', '*', '--json'])
  expect(ran.code).toBe(1)
  expect(json(ran)).toMatchObject([
    { pipeline: 'a', counts: { creates: 2 } },
    { ...failed, runId: '' },
    { pipeline: 'c', counts: { creates: 2 } },
  ])
  const { stderr, stdout } = await shop.here(['run', '*'])
  expect(stderr).toContain('error  OTHER_CREDENTIALS')
  expect(stdout).toMatch(/ a r_\d+ succeeded[^]* c r_\d+ /)
  // Alone, the error is the document.
  expect(json(await shop.here(['run', 'b', '--json']))).toMatchObject({ error: { code: 'OTHER_CREDENTIALS' } })
})

test('the report of a plan that failed has the id of its run', async () => {
  await using shop = await workspace()
  shop.write('feed.csv', feed(2))
  shop.write('pipelines/a.yaml', shopYaml)
  shop.write('pipelines/b.yaml', shopYaml.replace('4001', '4002').replace('feed.csv', 'missing.csv'))
  const [a, b] = json(await shop.here(['plan', '*', '--json']))
  expect([a, b]).toMatchObject([
    { pipeline: 'a', status: 'succeeded' },
    { pipeline: 'b', status: 'failed', error: { code: 'SOURCE_MISSING' } },
  ])
  expect(json(await shop.here(['show', b.runId, '--json']))).toMatchObject({ pipeline: 'b', trigger: 'plan', status: 'failed' })
})

test('credentials of other pipelines with a variable that is not set do not stop a command', async () => {
  await using shop = await workspace()
  shop.write('sluice.yaml', staging('http://127.0.0.1:1'))
  shop.write('feed.csv', feed(2))
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('pipelines/trial.yaml', `${shopYaml.replace('4001', '4002')}credentials: staging\n`)
  expect(await shop.here(['pause', 'shop'])).toMatchObject({ code: 0 })
  const rejected = await shop.here(['pause', 'trial', '--json'])
  expect([rejected.code, json(rejected).error.problems]).toMatchObject([2, [{ path: 'credentials' }]])
})

test('an invalid pipeline is paused at the destination of its last run, also with named credentials', async () => {
  await using shop = await workspace()
  await using other = await withSandbox()
  writeStaging(shop, other.url)
  shop.write('feed.csv', feed(2))
  shop.write('pipelines/shop.yaml', shopYaml)
  await shop.here(['run', 'shop'])
  const moved = `${shopYaml}credentials: staging\n`
  shop.write('pipelines/shop.yaml', moved)
  await shop.here(['run', 'shop'])
  shop.write('pipelines/shop.yaml', `${moved}nonsense: 1\n`)
  expect(await shop.here(['pause', 'shop'])).toMatchObject({ code: 0 })
  shop.write('pipelines/shop.yaml', moved)
  expect(json(await shop.here(['run', 'shop', '--json']))).toMatchObject({ status: 'skipped' })
  // With an unusable set, it is unknown whether the newest run is the one of this pipeline.
  shop.write('.env', '')
  shop.write('pipelines/shop.yaml', `${moved}nonsense: 1\n`)
  expect(await shop.here(['resume', 'shop'])).toMatchObject({ code: 2 })
})

test('an incomplete service of one pipeline stops a pause of several before the first one is paused', async () => {
  await using shop = await workspace()
  writeTwoServices(shop)
  const outcome = await shop.here(['pause', '*', '--json'], { env: { SLUICE_CONSUMER_KEY: '' } })
  expect([outcome.code, json(outcome).error.code]).toEqual([2, 'SERVICE_NOT_CONFIGURED'])
  expect(json(await shop.here(['run', 'a', '--json']))).toMatchObject({ status: 'succeeded' })
})

test('an erasure by customer key goes to the service of the named pipeline', async () => {
  await using shop = await workspace()
  await shortenWaits(shop.db)
  await using other = await withSandbox()
  writeStaging(shop, other.url)
  shop.write('crm.csv', 'customer_id,email,phone\nC-1,one@example.com,\nC-2,two@example.com,\n')
  shop.write('pipelines/customers.yaml', `${customersYaml}credentials: staging\n`)
  expect(json(await shop.here(['run', 'customers', '--json']))).toMatchObject({ counts: { confirmed: 2 } })
  const { identifiers, deletes } = json(await shop.here(['forget', '--key', 'C-1', '--pipeline', 'customers', '--json']))
  expect(identifiers).toBe(1)
  expect(deletes.confirmed).toBe(deletes.planned)
  expect((await other.control.audience('1nmth')).members).toBe(1)
}, 60_000)

test('the doctor checks each pipeline with its own credentials, and those of the environment only if a pipeline uses them', async () => {
  await using shop = await workspace()
  await using other = await withSandbox()
  shop.write('sluice.yaml', staging(other.url))
  shop.write('pipelines/trial.yaml', `${shopYaml}credentials: staging\n`)
  const env = { STAGING_KEY: 'sandbox-consumer-key' }
  const unused = await shop.here(['doctor', '--json'], { env: { ...env, SLUICE_BASE_URL: 'http://127.0.0.1:9' } })
  expect(json(unused)).toMatchObject({ ok: true, failed: 0 })
  expect(json(unused).checks).toContainEqual(expect.objectContaining({ check: 'credentials staging', state: 'ok' }))
  shop.write('pipelines/shop.yaml', shopYaml)
  const used = json(await shop.here(['doctor', '--json'], { env: { ...env, SLUICE_ACCESS_TOKEN_SECRET: 'wrong-secret' } }))
  const failed = ({ state }: { state: string }) => state === 'failed'
  expect(used.checks.filter(failed)).toMatchObject([
    { check: 'credentials', message: expect.stringContaining('SLUICE_ACCESS_TOKEN_SECRET') },
  ])
  expect(used.checks).toContainEqual(expect.objectContaining({ check: 'pipeline trial', state: 'ok' }))
  shop.write('sluice.yaml', staging(other.url).replace('access_token_secret: sandbox', 'access_token_secret: wrong'))
  const wrong = json(await shop.here(['doctor', '--json'], { env }))
  expect(wrong.checks.filter(failed)).toEqual([
    {
      check: 'credentials staging',
      state: 'failed',
      message: 'credentials.staging.access_token_secret refused (401, code UNAUTHORIZED_ACCESS)',
      hint: 'correct credentials.staging in sluice.yaml, then: sluice doctor',
    },
  ])
  // An invalid file does not hide the refused credentials of another pipeline.
  shop.write('pipelines/broken.yaml', `${shopYaml}guard: {}\n`)
  const both = json(await shop.here(['doctor', '--json'], { env }))
  expect(both.checks.filter(failed)).toMatchObject([{ check: 'pipelines' }, { check: 'credentials staging' }])
})

test('a run names the setting of sluice.yaml that the service refuses', async () => {
  await using shop = await workspace()
  shop.write('sluice.yaml', staging(shop.sandbox.url))
  shop.write('feed.csv', feed(1))
  shop.write('pipelines/trial.yaml', `${shopYaml}credentials: staging\n`)
  const env = { STAGING_KEY: 'wrong-key' }
  const refused = 'the service refuses credentials.staging.consumer_key or credentials.staging.consumer_secret '
  const failed = json(await shop.here(['run', 'trial', '--json'], { env }))
  expect(failed.error).toMatchObject({ code: 'CREDENTIALS_REFUSED', message: expect.stringContaining(refused) })
  expect(json(await shop.here(['rerun', failed.runId, '--json'], { env })).error.message).toContain(refused)
  // `auth status` would examine the credentials of the environment, which are valid.
  const { pipelines } = json(await shop.here(['status', '--json'], { env }))
  expect(pipelines[0].needs).toMatchObject([{ code: 'CREDENTIALS_REFUSED', hint: 'sluice doctor' }])
})
