/** Pause, resume and cancel from the command line, and who did what in `show`. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ended, printed } from './support.ts'
import { customersYaml, feed, json, shopYaml, workspace } from './workspace.ts'

const { username } = userInfo()

// Ten processes, one after the other.
test('a paused pipeline skips its runs with the reason, and show names who ran and who approved', { timeout: 150_000 }, async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(60))
  expect(json(await shop.here(['pause', 'shop', '--reason', 'feed is rebuilt', '--json']))).toEqual([
    { pipeline: 'shop', state: 'paused', changed: true },
  ])
  const skipped = await shop.here(['run', 'shop'])
  expect(skipped.code).toBe(5)
  expect(skipped.stdout).toContain('feed is rebuilt')
  expect(skipped.stdout).toContain('sluice resume shop')
  expect((await shop.here(['resume', 'shop'])).stdout).toBe('shop is resumed   sluice run shop\n')
  expect((await shop.here(['run', 'shop'])).code).toBe(0)
  shop.write('feed.csv', feed(40))
  expect((await shop.here(['run', 'shop'])).code).toBe(4)
  expect((await shop.here(['show', 'r_3'])).stdout).toContain('Next  sluice run shop --approve-deletes 20\n')
  const approved = json(await shop.here(['run', 'shop', '--approve-deletes', '20', '--json']))
  expect(approved.counts.deletes).toBe(20)
  const replaced = await shop.here(['show', 'r_3'])
  expect(replaced.stdout).toMatch(/^A newer run has read the source again, .*: sluice show r_4$/m)
  expect(replaced.stdout).not.toContain('Next  ')
  expect((await shop.here(['show', approved.runId])).stdout).toContain(`deletes.approved   ${username}`)
  expect(json(await shop.here(['show', approved.runId, '--json'])).actions).toMatchObject([
    { actor: expect.stringContaining(username), what: 'deletes.approved', detail: { approveDeletes: 20 } },
  ])
})

test('a long reason is not cut within a surrogate pair', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  expect((await shop.here(['pause', 'shop', '--reason', `${'x'.repeat(499)}😀`])).code).toBe(0)
  expect(await shop.db.query('select reason from sluice.pipeline_pause')).toEqual([{ reason: 'x'.repeat(499) }])
})

test('a process is registered with its maximum number of requests in flight', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(1))
  expect((await shop.here(['plan', 'shop'])).code).toBe(0)
  expect(await shop.db.query('select role, concurrency from sluice.worker')).toEqual([{ role: 'command', concurrency: 64 }])
})

test('serve is not started for other machines without a token', async () => {
  await using shop = await workspace()
  const { code, stdout } = await shop.run(['serve', '--host', '0.0.0.0', '--port', '0', '--json'])
  expect([code, JSON.parse(stdout)]).toMatchObject([2, { error: { code: 'TOKEN_REQUIRED', where: '--host 0.0.0.0' } }])
  // Pasted into a shell, the hint writes a token that cannot be guessed.
  const [command = ''] = JSON.parse(stdout).error.hint.split('   (')
  execFileSync('sh', ['-c', command], { cwd: shop.folder })
  expect(readFileSync(join(shop.folder, '.env'), 'utf8')).toMatch(/^SLUICE_API_TOKEN=[0-9a-f]{64}$/m)
})

test('runs and show name the environment of a run of another user, and show offers no command for it', async () => {
  await using shop = await workspace()
  const other = { env: { SLUICE_ACCESS_TOKEN: '7-other' } }
  const here = (...args: string[]) => shop.here(args)
  const there = (...args: string[]) => shop.here([...args, '--pipelines', 'other'], other)
  shop.write('pipelines/shop.yaml', shopYaml)
  mkdirSync(join(shop.folder, 'other'))
  shop.write('other/shop.yaml', customersYaml)
  shop.write('feed.csv', feed(60))
  await here('run', 'shop')
  expect((await here('runs')).stdout).not.toContain('user')
  shop.write('feed.csv', feed(20))
  expect(await here('run', 'shop')).toMatchObject({ code: 4 })
  // Its source is missing.
  expect(await there('run', 'shop')).toMatchObject({ code: 1 })
  const lines = (await here('runs', 'shop')).stdout.split('\n')
  expect(lines.slice(0, 3)).toEqual([
    expect.stringMatching(/^r_3 .* as user 7 of application /),
    expect.stringMatching(/^r_2 .* as user 1001 of application /),
    expect.stringMatching(/^r_1 .* as user 1001 of application /),
  ])
  expect((await here('show', 'r_2')).stdout).toContain('--approve-deletes 40')
  // The same command would approve deletes of the other environment.
  const { stdout } = await there('show', 'r_2')
  expect(stdout).toMatch(/This run belongs to another environment: http:\S+ as user 1001 of application/)
  expect(stdout).not.toContain('--approve-deletes')
  expect((await there('show', 'r_3')).stdout).not.toContain('another environment')
  // The last pipeline has the destination of the first one, and belongs to another user.
  shop.write('other/shop.yaml', shopYaml)
  expect(await there('pause', 'shop')).toMatchObject({ code: 1, stderr: expect.stringContaining('OTHER_CREDENTIALS') as string })
  // With several pipelines, none is paused.
  shop.write('other/first.yaml', customersYaml)
  expect(await there('pause', 'first', 'shop')).toMatchObject({ code: 1, stderr: expect.stringContaining('OTHER_CREDENTIALS') as string })
  expect((await there('resume', 'first')).stdout).toContain('first was not paused')
  expect((await shop.here(['pause', 'shop'], { env: { SLUICE_ACCESS_TOKEN: '' } })).stdout).toContain('shop is paused')
  // Without credentials the environment of the command is unknown.
  expect((await shop.here(['show', 'r_3'], { env: { SLUICE_ACCESS_TOKEN: '' } })).stdout).not.toContain('another environment')
})

test('a pipeline with an invalid file is paused and resumed at the destination of its last run, also beside valid ones', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('pipelines/more.yaml', shopYaml.replace('4001', '4002'))
  shop.write('feed.csv', feed(1))
  await shop.here(['run', 'shop'])
  shop.write('pipelines/shop.yaml', `${shopYaml}nonsense: 1\n`)
  const paused = await shop.here(['pause', '*'])
  expect(paused).toMatchObject({ code: 0, stdout: expect.stringMatching(/^more is paused .*\nshop is paused .*\n$/) as string })
  expect(paused.stderr).toContain('the file of shop is invalid, so this applies to the destination of its last run')
  shop.write('pipelines/shop.yaml', shopYaml)
  expect(await shop.here(['run', 'shop'])).toMatchObject({ code: 5 })
  shop.write('pipelines/shop.yaml', `${shopYaml}nonsense: 1\n`)
  expect(await shop.here(['resume', '*'])).toMatchObject({ code: 0 })
  // Without a run its destination is not known. Then nothing is paused.
  shop.write('pipelines/more.yaml', 'nonsense: 1\n')
  expect(await shop.here(['pause', '*'])).toMatchObject({ code: 2, stderr: expect.stringContaining('PIPELINE_INVALID') as string })
  expect(await shop.db.query('select from sluice.pipeline_pause')).toEqual([])
})

test('a worker logs at its start which pipelines it cannot run, and a scheduler logs a problem once', { tags: ['long'] }, async () => {
  await using shop = await workspace()
  const env = { SLUICE_LOG_FORMAT: 'json' }
  const logOf = async (args: readonly string[], options: { readonly waitMs?: number } = {}) => {
    const child = shop.start(args, { env })
    const outcome = ended(child)
    await printed(child, /(?:is up|serving on)/)
    await sleep(options.waitMs ?? 0)
    child.kill('SIGTERM')
    return (await outcome).stderr
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line): unknown => JSON.parse(line))
  }
  rmSync(join(shop.folder, 'pipelines'), { recursive: true })
  expect(await logOf(['worker'])).toMatchObject([{ code: 'PIPELINES_MISSING', msg: expect.stringContaining('takes no run') as string }])

  // A machine of a worker often lacks a variable that the machine of `serve` has.
  shop.write('sluice.yaml', credentialsYaml)
  mkdirSync(join(shop.folder, 'pipelines'))
  shop.write('pipelines/shop.yaml', `${shopYaml}credentials: staging\n`)
  const missing = [{ code: 'PIPELINE_INVALID', msg: expect.stringContaining('STAGING_TOKEN') as string }]
  expect(await logOf(['worker'])).toMatchObject(missing)
  expect(await logOf(['serve', '--port', '0'], { waitMs: 16_000 })).toMatchObject(missing)
})

test('if one set of credentials cannot start, a worker ends the runs of the others before it fails', { tags: ['long'] }, async () => {
  await using shop = await workspace()
  const second = credentialsYaml.replaceAll('"${STAGING_TOKEN}"', '1002-token')
  shop.write('sluice.yaml', second)
  shop.write('feed.csv', feed(2))
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('pipelines/other.yaml', `${shopYaml.replace('4001', '4002')}credentials: staging\n`)
  expect((await shop.here(['run', 'shop'])).code).toBe(0)
  // The second registration of the process fails after three seconds. Until then the first worker takes the queued run.
  await shop.db.execute(
    `create function refuse() returns trigger language plpgsql as $$ begin
       if (select count(*) from worker where role = 'worker') > 0 then perform pg_sleep(3); raise exception 'no' using errcode = '53300'; end if;
       return new; end $$`,
  )
  await shop.db.execute('create trigger refuse before insert on worker for each row execute function refuse()')
  await shop.db.execute(
    `insert into run (pipeline, destination_id, trigger, status, options)
     select pipeline, destination_id, 'manual', 'queued', '{"anyWorker": true, "full": true}' from run`,
  )
  await shop.sandbox.control.fault({ path: '/12/' }, { kind: 'delay', ms: 8_000 }, 'always')
  expect((await shop.run(['worker'])).code).toBe(1)
  const [run] = await shop.db.query<{ status: string }>('select status from run order by id desc limit 1')
  expect(run?.status).not.toMatch(/queued|running/)
})

const credentialsYaml = `credentials:
  staging: { consumer_key: key, consumer_secret: secret, access_token: "\${STAGING_TOKEN}", access_token_secret: secret }
`
