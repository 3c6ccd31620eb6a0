/** Messages for faults that wake an operator: each names its one cause. */
import { expect, test } from 'vitest'
import { examineAll } from '../../../src/cli/commands/doctor/examine.ts'
import { styleFor } from '../../../src/cli/terminal/style.ts'
import { systemClock } from '../../../src/clock.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { silentLogger } from '../../../src/log.ts'
import type { Progress } from '../../../src/model/report.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'
import { item, products, rss } from '../acceptance/products.ts'
import { customersYaml, feed, json, shopYaml, workspace } from './workspace.ts'

test.each([
  ['SLUICE_ACCESS_TOKEN', 'SLUICE_ACCESS_TOKEN refused'],
  ['SLUICE_ACCESS_TOKEN_SECRET', 'SLUICE_ACCESS_TOKEN_SECRET refused'],
  ['SLUICE_CONSUMER_SECRET', 'SLUICE_CONSUMER_KEY or SLUICE_CONSUMER_SECRET refused'],
])(
  'a wrong %s is named by run and doctor',
  async (variable, named) => {
    await using space = await workspace()
    space.write('pipelines/shop.yaml', shopYaml)
    space.write('feed.csv', feed(1))
    const env = { [variable]: 'planted-wrong-value' }
    const run = await space.here(['run', 'shop', '--json'], { env })
    expect([run.code, json(run).error]).toEqual([
      1,
      expect.objectContaining({
        code: 'CREDENTIALS_REFUSED',
        message: expect.stringContaining(`refuses ${named.replace(' refused', ' ')}`) as string,
        hint: 'sluice doctor',
      }),
    ])
    const doctor = json(await space.here(['doctor', '--json'], { env }))
    expect(doctor.checks).toContainEqual(
      expect.objectContaining({ check: 'credentials', message: expect.stringContaining(named) as string }),
    )
  },
  30_000,
)

test('a wrong PIN is reported as such', async () => {
  await using space = await workspace()
  expect((await space.here(['auth', 'login'])).stderr).toContain('PIN_NEEDED')
  const { code, stderr } = await space.here(['auth', 'login', '--pin', '0000000'])
  expect([code, stderr]).toEqual([1, expect.stringMatching(/error {2}PIN_REFUSED .*\nhint {3}sluice auth login/)])
}, 30_000)

test('doctor shows no secret of the environment, whatever the finding', async () => {
  await using space = await workspace()
  const env = { SLUICE_ALERT_SECRET: 'planted-canary-4711' }
  const { stdout } = await space.here(['doctor', '--json', '--pipelines', 'planted-canary-4711'], { env })
  expect(stdout).not.toContain('planted-canary')
  expect(json({ code: 0, stdout, stderr: '' }).checks).toContainEqual(
    expect.objectContaining({ check: 'pipelines', message: expect.stringContaining('[secret]') as string }),
  )
})

test('doctor reports a service that fails as such, and not as refused credentials', async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', shopYaml)
  for (const [fault, hint] of [
    [{ kind: 'status', status: 503 }, /^the service fails at the moment/],
    [{ kind: 'rate_limit', retry_after: 1 }, /^too many requests/],
    [{ kind: 'status', status: 404 }, /SLUICE_ADS_BASE_URL/],
    [{ kind: 'html', status: 200 }, /SLUICE_ADS_BASE_URL/],
  ] as const) {
    await space.sandbox.control.clearFaults()
    await space.sandbox.control.fault({ path: '/12/accounts' }, fault, 'always')
    const { checks } = json(await space.here(['doctor', '--json']))
    const failed = checks.filter(({ state }: { state: string }) => state === 'failed')
    expect(failed).toMatchObject([
      { check: 'service', message: expect.stringMatching(/answers \/12\/accounts with \d+$/), hint: expect.stringMatching(hint) },
    ])
  }
}, 30_000)

test('doctor finds an account that is not on the first page of accounts', async () => {
  await using space = await workspace()
  space.write('pipelines/customers.yaml', customersYaml)
  await space.sandbox.control.switches({ rate_limits: 'off' })
  for (let n = 0; n < 201; n++) await space.sandbox.call('POST', '/12/accounts')
  const { checks } = json(await space.here(['doctor', '--json']))
  expect(checks).toContainEqual(expect.objectContaining({ check: 'credentials', message: 'more than 200 accessible advertising accounts' }))
  expect(checks).toContainEqual(expect.objectContaining({ check: 'pipeline customers', state: 'ok' }))
}, 30_000)

test('a clock that is off by 900 s causes one warning of doctor, and fails no run', async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', shopYaml)
  space.write('feed.csv', feed(200))
  await space.sandbox.control.fault({}, { kind: 'clock_skew', s: 900 }, 'always')
  const doctor = json(await space.here(['doctor', '--json']))
  // The Date header has whole seconds.
  expect(doctor.checks.filter(({ state }: { state: string }) => state !== 'ok')).toEqual([
    expect.objectContaining({
      check: 'clock',
      state: 'warning',
      message: expect.stringMatching(/^(899|900) s from the clock of the service/) as string,
    }),
  ])
  expect(json(await space.here(['run', 'shop', '--json']))).toMatchObject({ status: 'succeeded', counts: { confirmed: 200 } })
}, 30_000)

test('a doctor whose own checks take minutes finds no fault in the clock', async () => {
  await using space = await workspace()
  let checksMs = 0
  const output = { write: () => undefined, isTTY: false, columns: undefined, style: styleFor({}, {}) }
  const findings = await examineAll(
    {
      stdout: output,
      stderr: output,
      env: space.env,
      argv: ['doctor', '--json'],
      command: 'doctor',
      json: true,
      pipelines: `${space.folder}/pipelines`,
      config: () => loadConfig(space.env, {}),
      log: () => silentLogger,
      clock: { ...systemClock, now: () => systemClock.now() + checksMs },
      inFlight: { requests: 0 },
      signal: new AbortController().signal,
    },
    ({ check }) => {
      // The last check of the database and the check of the service take 60 s. Every other check continues at the real time.
      checksMs = check === 'queue' || check === 'service' ? 60_000 : 0
    },
  )
  expect(findings.filter(({ check }) => check === 'clock')).toEqual([
    { check: 'clock', state: 'ok', message: expect.stringMatching(/ s from the clock of the service$/) as string },
  ])
}, 30_000)

test('a service that is down is reported with its host, and no remaining time is shown', async () => {
  // Long enough that a busy machine reaches the wait before it is over.
  await using engine = await engineUnderTest({ settings: { backoffMinMs: 50, backoffMaxMs: 100 } })
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(1).map((row) => item(row))))
  await engine.sandbox.control.fault({ method: 'PUT' }, { kind: 'status', status: 503 }, 8)
  const seen: Progress[] = []
  const report = await runPipeline(
    { ...engine.deps, onProgress: (progress) => seen.push(progress) },
    await loadPipeline(`${engine.folder}/pipelines`, 'shop'),
    { trigger: 'manual' },
  )
  const { origin } = engine.deps.service
  expect(seen.map(({ waiting }) => waiting)).toContainEqual(expect.stringContaining(`service down (${origin}), retrying in`))
  expect(report.counts.requests).toBeGreaterThan(2)
}, 30_000)
