/** Findings that need no run id: in the log of serve, in status, in doctor. */
import { expect, test } from 'vitest'
import { ended } from './support.ts'
import { customersYaml, feed, json, shopYaml, workspace } from './workspace.ts'

test('status shows each pipeline on one screen: first what needs action, with the next command', async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', `schedule: "0 3 * * *"\n${shopYaml}`)
  space.write('pipelines/customers.yaml', customersYaml)
  space.write('feed.csv', feed(40))
  expect((await space.here(['status'])).stdout).toMatch(/NO_SCHEDULER .*\n +sluice serve\n[^]*shop +never ran/)
  await space.here(['run', 'shop'])
  space.write('feed.csv', feed(20))
  await space.here(['run', 'shop'])
  await space.here(['run', 'customers'])

  const { code, stdout } = await space.here(['status'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Action needed: 3 items\n/)
  expect(stdout).toMatch(/! shop {2}GUARD_DELETES {2}r_2 withheld: 20 of 40 synced products .*\n +sluice run shop --approve-deletes 20\n/)
  expect(stdout).toMatch(/! customers {2}SOURCE_MISSING {2}r_3 failed: /)
  expect(stdout).toMatch(/shop +withheld r_2 +\S+Z +last success \d+ s ago +next \S+T03:00:00Z/)

  const status = json(await space.here(['status', 'shop', '--json']))
  expect(status.pipelines).toEqual([
    expect.objectContaining({
      pipeline: 'shop',
      lastSuccessAgeS: expect.any(Number) as number,
      nextRunAt: expect.stringMatching(/T03:00:00/) as string,
      needs: [expect.objectContaining({ code: 'GUARD_DELETES', hint: 'sluice run shop --approve-deletes 20' })],
    }),
  ])
  const doctor = json(await space.here(['doctor', '--json']))
  expect(doctor.checks).toContainEqual(
    expect.objectContaining({ check: 'runs', state: 'warning', hint: 'sluice run shop --approve-deletes 20' }),
  )
  expect(doctor.checks).toContainEqual({
    check: 'runs',
    state: 'warning',
    message: 'NO_SCHEDULER: pipelines have schedules, and no serve process is running',
    hint: 'sluice serve',
  })
}, 60_000)

test('without access tokens, status names the environments whose runs of one pipeline it shows', async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', shopYaml)
  space.write('feed.csv', feed(2))
  await space.here(['run', 'shop'])
  const env = { SLUICE_ACCESS_TOKEN: '', SLUICE_ACCESS_TOKEN_SECRET: '' }
  const needs = async (options = {}) => json(await space.here(['status', '--json'], options)).pipelines[0].needs
  expect(await needs({ env })).toEqual([])
  await space.db.execute(
    `with other as (insert into destination (service, credentials, kind, account_id, target_id)
       values ('https://api.example.com', 'user 7', 'catalog', '', '4001') returning id)
     insert into run (pipeline, destination_id, trigger, status, started_at, finished_at)
       select 'shop', id, 'manual', 'succeeded', now(), now() from other`,
  )
  expect(await needs({ env })).toMatchObject([
    {
      code: 'SEVERAL_ENVIRONMENTS',
      message: expect.stringMatching(/ user 7 at https:\/\/api.example.com; .*1001.* at http:\/\/127/) as string,
    },
  ])
  expect(await needs()).toEqual([])
}, 60_000)

test('status names each invalid file', async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', 'source: [')
  const { stdout } = await space.here(['status'])
  expect(stdout).toMatch(/^Action needed: 1 item\n +! \S*shop\.yaml.* {2}PIPELINE_INVALID /)
  expect(stdout).not.toContain('no pipelines yet')
  expect(json(await space.here(['status', '--json'])).needs).toMatchObject([{ where: expect.stringContaining('shop.yaml') as string }])
}, 60_000)

test('the doctor reports an error of the check of the runs, and names an invalid file once', async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', 'source: [')
  const runsOf = async () => {
    const { code, stdout } = await space.here(['doctor', '--json'])
    const { checks } = JSON.parse(stdout) as { checks: { check: string; state: string; message: string }[] }
    return [code, checks.filter(({ check }) => check === 'runs'), checks.filter(({ check }) => check === 'pipelines').length]
  }
  expect(await runsOf()).toEqual([1, [], 1])
  await space.db.execute('alter table pipeline_pause rename to pipeline_pause_away')
  expect(await runsOf()).toEqual([1, [expect.objectContaining({ state: 'failed' })], 1])
}, 60_000)

test(
  'a scheduled run that fails or is withheld is logged with code, reason, counts and the next command',
  { tags: ['long'], timeout: 60_000 },
  async () => {
    await using space = await workspace()
    space.write('pipelines/shop.yaml', shopYaml)
    space.write('feed.csv', feed(40))
    await space.here(['run', 'shop'])
    space.write('feed.csv', feed(20))
    space.write('pipelines/shop.yaml', `schedule: "* * * * * *"\n${shopYaml}`)
    space.write('pipelines/customers.yaml', `schedule: "* * * * * *"\n${customersYaml}`)
    const serve = space.start(['serve', '--port', '0'], { env: { SLUICE_LOG_FORMAT: 'json' } })
    const all = ended(serve)
    const lines: Record<string, unknown>[] = []
    await new Promise<void>((done) => {
      let rest = ''
      serve.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
        const parts = (rest + chunk).split('\n')
        rest = parts.pop() ?? ''
        for (const part of parts) if (part.startsWith('{')) lines.push(JSON.parse(part) as Record<string, unknown>)
        if (['shop', 'customers'].every((name) => lines.some((line) => line['pipeline'] === name && line['level'] !== 'info'))) done()
      })
      serve.once('close', () => done())
    })
    serve.kill('SIGTERM')
    await all
    expect(lines.find((line) => line['pipeline'] === 'shop')).toMatchObject({
      level: 'warn',
      code: 'GUARD_DELETES',
      reason: expect.stringContaining('20 of 40 synced products') as string,
      counts: expect.stringContaining('withheld:20') as string,
      next: 'sluice run shop --approve-deletes 20',
    })
    expect(lines.find((line) => line['pipeline'] === 'customers')).toMatchObject({
      level: 'error',
      code: 'SOURCE_MISSING',
      next: expect.stringContaining('sluice') as string,
    })
  },
)

test('status shows the pause of a pipeline in place of its next run', async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', `schedule: "0 3 * * *"\n${shopYaml}`)
  space.write('feed.csv', feed(2))
  await space.here(['pause', 'shop'])
  expect((await space.here(['status'])).stdout).toMatch(/shop +never ran .*no success yet +paused since \S+Z/)
  const paused = json(await space.here(['status', '--json']))
  expect(paused.pipelines).toEqual([expect.objectContaining({ pausedAt: expect.stringMatching(/Z$/) as string, nextRunAt: null })])
  // A pause belongs to the destination. It does not apply to another catalog under the same name. It applies to the same catalog under
  // another name.
  const shown = async () => json(await space.here(['status', '--json'])).pipelines as unknown[]
  const active = { pausedAt: null, nextRunAt: expect.stringMatching(/T03:00:00/) as string }
  space.write('pipelines/store.yaml', `schedule: "0 3 * * *"\n${shopYaml}`)
  space.write('pipelines/shop.yaml', `schedule: "0 3 * * *"\n${shopYaml.replace('"4001"', '"4002"')}`)
  expect(await shown()).toEqual([
    expect.objectContaining({ pipeline: 'shop', ...active }),
    expect.objectContaining({ pipeline: 'store', pausedAt: expect.stringMatching(/Z$/) as string, nextRunAt: null }),
  ])
  await space.here(['resume', 'store'])
  const resumed = json(await space.here(['status', '--json']))
  expect(resumed.pipelines).toEqual([expect.objectContaining(active), expect.objectContaining(active)])
}, 60_000)

test('status reads a pipeline whose values come from the environment', async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', shopYaml.replace('feed.csv', '"${SHOP_FEED}"'))
  space.write('feed.csv', feed(2))
  const env = { SHOP_FEED: 'feed.csv' }
  expect((await space.here(['run', 'shop'], { env })).code).toBe(0)
  const status = json(await space.here(['status', '--json'], { env }))
  expect(status.needs).toEqual([])
  expect(status.pipelines).toEqual([expect.objectContaining({ pipeline: 'shop' })])
}, 60_000)

test('status without the tokens of the user still shows the last runs', async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', shopYaml)
  space.write('feed.csv', feed(2))
  await space.here(['run', 'shop'])
  const { stdout } = await space.here(['status'], { env: { SLUICE_ACCESS_TOKEN: '', SLUICE_ACCESS_TOKEN_SECRET: '' } })
  expect(stdout).toMatch(/shop +succeeded r_1 /)
})

test('status reports a missing scheduler, also if serve runs for another environment', { tags: ['long'], timeout: 60_000 }, async () => {
  await using space = await workspace()
  space.write('pipelines/shop.yaml', `schedule: "0 3 * * *"\n${shopYaml}`)
  const schedulers = async () => json(await space.here(['status', '--json'])).needs.map(({ message }: { message: string }) => message)
  const serving = (env: Readonly<Record<string, string>>) => space.start(['serve', '--port', '0'], { env })
  const other = serving({ SLUICE_ACCESS_TOKEN: '7-other' })
  await expect
    .poll(schedulers, { timeout: 20_000 })
    .toEqual(['pipelines have schedules, and no running serve process schedules them: each has another environment, folder or version'])
  const own = serving({})
  await expect.poll(schedulers, { timeout: 20_000 }).toEqual([])
  for (const child of [other, own]) child.kill('SIGTERM')
  await Promise.all([ended(other), ended(own)])
})
