/** Behaviour of whole processes: closed pipes, killed launchers, terminals, remaining files, addresses and checks. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { emptyFolder, ended, launcher, printed, sluice, sluiceHere, start, type Outcome } from './support.ts'
import { customersYaml, feed, json, product, shopYaml, workspace } from './workspace.ts'

test('a closed pipe ends quietly', () => {
  const { stdout, stderr, status } = spawnSync(
    'sh',
    ['-c', `node "${launcher}" --help | head -1; node "${launcher}" help environment | true`],
    { encoding: 'utf8' },
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toBe('sluice syncs product catalogs and audiences from your own data.\n')
})

test('a launcher that is killed takes the command with it', async () => {
  const child = start(['sandbox', '--port', '0'])
  const text = await printed(child, /ready on \S+/)
  const url = /ready on (\S+)/.exec(text)?.[1] ?? ''
  child.kill('SIGKILL')
  const answers = async () =>
    fetch(`${url}/_sandbox/health`).then(
      () => true,
      () => false,
    )
  while (await answers()) await new Promise((resolve) => setImmediate(resolve))
  expect(await answers()).toBe(false)
})

test('under npm a launcher whose parent has ended stops its command, because npm passes no signal on', async () => {
  const { PATH = '', HOME = '' } = process.env
  // The shell of npm is in between and ends by the signal that npm gets.
  const shell = spawn('sh', ['-c', `node "${launcher}" sandbox --port 0; true`], {
    cwd: emptyFolder(),
    env: { PATH, HOME, npm_command: 'exec' },
    stdio: 'pipe',
  })
  const text = await printed(shell, /ready on \S+/)
  const url = /ready on (\S+)/.exec(text)?.[1] ?? ''
  shell.kill('SIGTERM')
  const answers = () =>
    fetch(`${url}/_sandbox/health`).then(
      () => true,
      () => false,
    )
  await expect.poll(answers, { timeout: 10_000 }).toBe(false)
}, 20_000)

test('a port in use is an error, the default port too', async () => {
  await using shop = await workspace()
  let isServing = false
  let outcome: Outcome
  do {
    using stack = new DisposableStack()
    const server = stack.adopt(createServer(), (it) => void it.close())
    // Another program may have the port already. If it ends before the command starts, the command serves, and the next try takes the port.
    await new Promise<void>((done) => server.once('error', () => done()).listen(8080, '127.0.0.1', done))
    const child = start(['serve'], { cwd: shop.folder, env: shop.env }, process.execPath)
    const over = ended(child)
    isServing = await printed(child, /serving on /).then(
      () => !server.listening,
      () => false,
    )
    child.kill('SIGKILL')
    outcome = await over
  } while (isServing)
  expect([outcome.code, outcome.stderr]).toEqual([1, expect.stringMatching(/error {2}PORT_IN_USE .*\nhint {3}.*--port/)])
})

test('2>/dev/null leaves only results, and progress is plain lines on stderr', { tags: ['long'] }, async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(2))
  const { stdout, stderr } = await shop.run(['run', 'shop'])
  expect(stdout).toMatch(/^\S+Z shop r_1 succeeded confirmed=2\n$/)
  expect(stderr).toMatch(/Z shop r_1 read rows=2\n/)
  for (const text of [stdout, stderr]) {
    expect(text).not.toContain('\r')
    expect(text).not.toContain('\u001b')
  }
})

// `script` gives a command a terminal; without it only the unit tests check the output for terminals.
const hasScript = spawnSync('script', ['--version']).status === 0
test.skipIf(!hasScript)('a terminal gets a bar, colours and a result (needs "script" of util-linux)', { tags: ['long'] }, async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(60))
  await shop.sandbox.control.fault({ method: 'PUT' }, { kind: 'delay', ms: 400 }, 'always')
  const { PATH = '', HOME = '' } = process.env
  const onTerminal = (env: Record<string, string>) => {
    const child = spawn('script', ['-qec', `stty cols 60 rows 20; node "${launcher}" run shop --full`, '/dev/null'], {
      cwd: shop.folder,
      env: { PATH, HOME, TERM: 'xterm', ...shop.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    return ended(child)
  }
  const shown = await onTerminal({})
  expect(shown.stdout).toContain('push')
  expect(shown.stdout).toMatch(/█|░/)
  expect(shown.stdout).toContain('\u001b[')
  // The share of the stage before is not shown for this stage.
  expect(shown.stdout).not.toMatch(/(?:begin|diff|plan) +[█░]/)
  expect(shown.stdout).toMatch(/DONE.*60 confirmed/)
  const plain = await onTerminal({ NO_COLOR: '1' })
  for (const colour of ['\u001b[32m', '\u001b[1m', '\u001b[31m']) expect(plain.stdout).not.toContain(colour)
})

test.skipIf(!hasScript)('a terminal of unknown size gets whole lines (needs "script" of util-linux)', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(1))
  await shop.here(['run', 'shop'])
  const { PATH = '', HOME = '' } = process.env
  const child = spawn('script', ['-qec', `stty cols 0 rows 0; node "${launcher}" runs`, '/dev/null'], {
    cwd: shop.folder,
    env: { PATH, HOME, ...shop.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  expect((await ended(child)).stdout).toMatch(/r_1 {2}shop {2}succeeded .* read 1 {2}sent 1 {2}rejected 0/)
})

test.skipIf(!hasScript)('a terminal never gets the app-only token, also as JSON (needs "script" of util-linux)', async () => {
  await using shop = await workspace()
  const { PATH = '', HOME = '' } = process.env
  const child = spawn('script', ['-qec', `node "${launcher}" auth bearer --json`, '/dev/null'], {
    cwd: shop.folder,
    env: { PATH, HOME, ...shop.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { stdout } = await ended(child)
  expect(JSON.parse(stdout)).toEqual({ tokenType: 'bearer', hint: 'pipe it, or: sluice auth bearer --out FILE' })
})

test('the embedded server stops after a command, keeps running after db url, and stops with db stop', { tags: ['long'] }, async () => {
  const cwd = emptyFolder()
  const stopped = { running: false }
  expect(json(await sluice(['runs', '--json'], { cwd }))).toEqual([])
  expect(json(await sluiceHere(['db', 'status', '--json'], { cwd }))).toMatchObject(stopped)
  const { stdout } = await sluice(['db', 'url'], { cwd })
  expect(stdout).toMatch(/^postgres(ql)?:\/\/\S+\n$/)
  expect(json(await sluiceHere(['db', 'status', '--json'], { cwd }))).toMatchObject({
    running: true,
    kind: 'embedded',
    migrations: { applied: expect.any(Number), known: expect.any(Number) },
  })
  expect(json(await sluice(['db', 'migrate', '--json'], { cwd })).applied).toBeGreaterThan(0)
  expect(json(await sluice(['db', 'stop', '--json'], { cwd }))).toMatchObject({ stopped: true })
  expect((await sluice(['db', 'stop'], { cwd })).stdout).toContain('nothing to do')
  expect(json(await sluiceHere(['db', 'status', '--json'], { cwd }))).toMatchObject(stopped)
})

test('the address of an own database is shown without its password', async () => {
  await using shop = await workspace()
  const url = new URL(shop.env['DATABASE_URL'] ?? '')
  const text = (await shop.here(['db', 'url'])).stdout + (await shop.here(['db', 'status'])).stdout
  expect(text).toContain(url.host)
  expect(text).not.toContain(`:${url.password}@`)
})

test('an unreachable database is reported with a hint and without its password', async () => {
  const { code, stderr } = await sluiceHere(['runs'], { env: { DATABASE_URL: 'postgres://me:hunter2hunter2@127.0.0.1:9/x' } })
  expect(code).toBe(1)
  expect(stderr).toMatch(/error {2}DATABASE_UNREACHABLE /)
  expect(stderr).not.toContain('hunter2hunter2')
})

test('all problems of the environment are listed together, also as JSON', async () => {
  const env = { SLUICE_BASE_URL: 'nonsense', SLUICE_LOG_LEVEL: 'loud' }
  const plain = await sluiceHere(['runs'], { env })
  expect(plain.code).toBe(2)
  expect(plain.stderr).toMatch(/SLUICE_BASE_URL[\s\S]*SLUICE_LOG_LEVEL/)
  const { error } = json(await sluiceHere(['runs', '--json'], { env }))
  expect(error.problems.map((problem: { path: string }) => problem.path)).toEqual(['SLUICE_BASE_URL', 'SLUICE_LOG_LEVEL'])
})

test('check needs no database and no service, and writes nothing to the folder', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(4, { rows: ['broken'] }))
  const checked = await sluiceHere(['check', '--json'], { cwd: shop.folder })
  expect(checked.code).toBe(0)
  const [{ sources }] = json(checked)
  expect(sources[0]).toMatchObject({ rows: 5, valid: 4, whole: true, rejects: [{ line: 6 }] })
  expect(sources[0].records).toHaveLength(3)
  expect(existsSync(join(shop.folder, '.sluice'))).toBe(false)
  expect((await sluiceHere(['check', '--rows', '2', '--json'], { cwd: shop.folder })).stdout).toContain('"rows":2')
  // An error after the first rows: the source was not read to its end.
  const [header, ...products] = feed(4000).split('\n')
  shop.write('feed.csv', `${[header, product(1, '29.99 EUR'), ...products].join('\n')}"unclosed`)
  const [broken] = json(await sluiceHere(['check', '--rows', '9999', '--json'], { cwd: shop.folder }))
  const [source] = broken.sources
  expect(source).toMatchObject({ whole: false, error: { code: expect.stringMatching(/^FILE_/) } })
  // The two rows with one id are conflicting.
  expect(source.valid).toBe(source.rows - 2)
  expect(source.rows).toBeGreaterThan(2)
})

test('check counts every row of a key as suppressed if one of its rows is opted out', async () => {
  await using space = await workspace()
  space.write('pipelines/customers.yaml', `${customersYaml}consent: { column: ok, values: ["yes"] }\n`)
  const row = (key: string, ok: string) => `${key},${key}@example.com,,${ok}`
  space.write('crm.csv', ['customer_id,email,phone,ok', row('C-1', 'yes'), row('C-1', 'no'), row('C-2', 'yes'), ''].join('\n'))
  const [{ sources }] = json(await space.here(['check', '--json']))
  const { counts } = json(await space.here(['run', 'customers', '--json']))
  const { read, valid, suppressed, duplicates, rejected } = counts
  expect({ read, valid, suppressed, duplicates, rejected }).toEqual({ read: 3, valid: 1, suppressed: 2, duplicates: 0, rejected: 0 })
  expect(sources[0]).toMatchObject({ rows: 3, valid: 1, suppressed: 2, duplicates: 0, rejected: 0 })
}, 60_000)

test('check applies the guard for rejects to all sources together, as a run does', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', `${shopYaml.replace('{ url: feed.csv }', '[{ url: a.csv }, { url: b.csv }]')}`)
  const broken = (n: number) => Array.from({ length: n }, (_, i) => `broken-${i}`)
  const checked = async (a: string, b: string) => {
    shop.write('a.csv', a)
    shop.write('b.csv', b)
    const here = (command: string) => sluiceHere([command, 'shop', '--json'], { cwd: shop.folder, env: shop.env })
    const { code, stdout } = await here('check')
    const holds = JSON.parse(stdout)[0].sources.map((source: { holds: { message: string }[] }) =>
      source.holds.map(({ message }) => message),
    )
    return { code, holds, planned: (await here('plan')).code }
  }
  expect(await checked(feed(1, { rows: broken(2) }), feed(4))).toEqual({ code: 0, holds: [[], []], planned: 0 })
  expect(await checked(feed(1, { rows: broken(2) }), feed(2, { rows: broken(3) }))).toEqual({
    code: 4,
    holds: [[], [expect.stringMatching(/^5 of 8 rows were rejected \(62\.5 %\), above 50 %/)]],
    planned: 4,
  })
}, 30_000)

test('check masks a partner id except for its first character, whatever its number of bytes', async () => {
  await using space = await workspace()
  space.write('pipelines/customers.yaml', customersYaml.replace('  email: email', '  partner_user_id: email'))
  space.write('crm.csv', 'customer_id,email,phone\nC-1,élan-42,\n')
  const [{ sources }] = json(await space.here(['check', '--json']))
  expect(sources[0].records[0].identifiers).toEqual([{ type: 'partner_user_id', value: 'é***' }])
})

test('check names the place in every unreadable file', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', 'source: [{ url: quote.csv }, { url: gone.csv }]\ndestination: { kind: catalog, catalog_id: "4001" }\n')
  shop.write('quote.csv', `${feed(2).trimEnd()}\nz,"never closed,in stock\n`)
  const { code, stdout } = await sluiceHere(['check'], { cwd: shop.folder })
  expect(code).toBe(1)
  expect(stdout).toMatch(/where .*quote\.csv, line 4\nerror {2}FILE_TRUNCATED/)
  expect(stdout).toMatch(/gone\.csv[\s\S]*hint/)
  expect(stdout.match(/^error {2}/gm)).toHaveLength(2)
})

test('serve runs its schedule, and ends on SIGTERM without losing state', { tags: ['long'] }, async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', `schedule: "*/1 * * * * *"\n${shopYaml}`)
  shop.write('feed.csv', feed(3))
  const child = shop.start(['serve', '--port', '0'])
  const over = ended(child)
  const url = /http\S+/.exec(await printed(child, /serving on \S+/))?.[0] ?? ''
  expect(await (await fetch(`${url}/health`)).json()).toEqual({ ok: true })
  while ((await shop.sandbox.control.catalog()).products < 3) await new Promise((resolve) => setImmediate(resolve))
  child.kill('SIGTERM')
  expect((await over).code).toBe(143)
  const [newest] = json(await shop.here(['runs', '--json']))
  expect(newest).toMatchObject({ pipeline: 'shop', trigger: 'schedule' })
  expect(await shop.sandbox.control.violations()).toEqual([])
})

test(
  'serve does not wait for its own standard input, and two pipelines do not share one',
  { tags: ['long'], timeout: 60_000 },
  async () => {
    await using shop = await workspace()
    for (const [name, catalog] of [
      ['piped', '4001'],
      ['second', '4002'],
    ] as const)
      shop.write(`pipelines/${name}.yaml`, `source: "-"\ndestination: { kind: catalog, catalog_id: "${catalog}" }\n`)
    const child = shop.start(['serve', '--port', '0'])
    const over = ended(child)
    const url = /http\S+/.exec(await printed(child, /serving on \S+/))?.[0] ?? ''
    const { runId } = (await (await fetch(`${url}/api/pipelines/piped/runs?wait=30`, { method: 'POST' })).json()) as { runId: string }
    expect(await (await fetch(`${url}/api/runs/${runId}`)).json()).toMatchObject({
      status: 'failed',
      error: { code: 'SOURCE_UNAVAILABLE', hint: expect.stringContaining('sluice run') },
    })
    child.kill('SIGTERM')
    await over
    const both = await sluice(['run', 'piped', 'second', '--json'], { cwd: shop.folder, env: shop.env, input: feed(2) })
    expect(json(both)).toMatchObject([{ status: 'succeeded' }, { status: 'failed', error: { code: 'SOURCE_UNAVAILABLE' } }])
  },
)

test('the demo with --keep prints every address, accepts commands, and removes everything on Ctrl-C', { tags: ['long'] }, async () => {
  const tmp = emptyFolder()
  const child = start(['demo', '--keep'], { env: { TMPDIR: tmp } })
  const over = ended(child)
  const text = await printed(child, /Ctrl-C stops dashboard, sandbox and database/)
  const folder = /cd "(.+)"; alias/.exec(text)?.[1] ?? ''
  const url = /the sandbox +(\S+)/.exec(text)?.[1] ?? ''
  expect(text).not.toMatch(/postgres(ql)?:\/\//)
  expect(await (await fetch(`${url}/_sandbox/health`)).json()).toMatchObject({ ok: true })
  const ran = await sluice(['run', 'demo-catalog', '--json'], { cwd: folder })
  expect([ran.code, json(ran).status, json(ran).counts.requests]).toEqual([0, 'succeeded', 0])
  child.kill('SIGINT')
  expect((await over).code).toBe(130)
  expect(existsSync(folder)).toBe(false)
  await expect(fetch(url)).rejects.toThrow('fetch failed')
})

test(
  'the demo ends on its own, sends only differences, has no API rule violation and leaves nothing behind',
  { tags: ['long'] },
  async () => {
    const tmp = emptyFolder()
    const { code, stdout } = await sluice(['demo'], { env: { TMPDIR: tmp, SLUICE_BASE_URL: 'nonsense' } })
    expect(code).toBe(0)
    expect(stdout).toMatch(/once more +[\d,]+ rows read +0 changes +0 requests/)
    expect(stdout).toContain('API rule violations: 0')
    expect(readdirSync(tmp)).toEqual([])
    const processes = () =>
      readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map((pid) => {
          try {
            return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
          } catch {
            return ''
          }
        })
        .filter((line) => line.includes(tmp))
    // Children of Postgres may outlive it for a moment on a busy machine.
    await expect.poll(processes, { timeout: 5_000 }).toEqual([])
  },
)

test('commands in hints and Next lines act on the folder of their call', async () => {
  await using space = await workspace()
  mkdirSync(join(space.folder, 'other shop'))
  space.write('pipelines/shop.yaml', shopYaml.replace('feed.csv', 'gone.csv'))
  space.write('other shop/shop.yaml', shopYaml)
  space.write('feed.csv', feed(40))
  const there = (...args: readonly string[]) => space.here(['--pipelines', 'other shop', ...args])
  expect((await there('check')).stdout).toMatch(/^Next {2}sluice plan --pipelines 'other shop' shop$/m)
  expect((await there('pause', 'shop')).stdout).toBe("shop is paused   sluice resume --pipelines 'other shop' shop\n")
  expect((await there('run', 'shop')).stdout).toMatch(/^Next {2}sluice resume --pipelines 'other shop' shop$/m)
  await there('resume', 'shop')
  await there('run', 'shop')
  space.write('feed.csv', feed(4))
  const withheld = await there('run', 'shop')
  expect(withheld.stdout).toMatch(/^Next {2}sluice run --pipelines 'other shop' shop --approve-deletes 36$/m)
  expect(json(await there('run', 'shop', '--json')).guards[0].hint).toBe("sluice run --pipelines 'other shop' shop --approve-deletes 36")
  expect((await there('run', 'shpo')).stderr).toMatch(/^hint {3}sluice --pipelines 'other shop' run shop$/m)
  expect(json(await there('apply', 'p_none', '--json')).error.hint).toBe("sluice plan --pipelines 'other shop' PIPELINE")
}, 60_000)
