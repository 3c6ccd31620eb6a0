/** Exit codes of a cancelled prompt, of a run that is stopped before its start, and of several pipelines. */
import { spawn, spawnSync } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import type { Context } from '../../../src/cli/context.ts'
import { run } from '../../../src/cli/commands/run.ts'
import { styleFor } from '../../../src/cli/terminal/style.ts'
import { systemClock } from '../../../src/clock.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { silentLogger } from '../../../src/log.ts'
import { ended, launcher } from './support.ts'
import { customersYaml, feed, json, shopYaml, workspace } from './workspace.ts'

/** Time for other processes on a busy machine. */
const waiting = { timeout: 30_000, interval: 50 }

// `script` gives a command a terminal.
const hasScript = spawnSync('script', ['--version']).status === 0
test.skipIf(!hasScript).for([
  ['\u0003', 130, /Stopping… [\s\S]*error {2}INTERRUPTED /],
  ['\u0004', 2, /error {2}PIN_NEEDED {2}no PIN was given\. Nothing was kept\./],
  ['\r', 2, /error {2}PIN_NEEDED /],
] as const)('the prompt for a PIN that is answered %j exits %i (needs "script" of util-linux)', async ([key, code, words]) => {
  await using shop = await workspace()
  const { PATH = '', HOME = '' } = process.env
  const child = spawn('script', ['-qec', `node "${launcher}" auth login`, '/dev/null'], {
    cwd: shop.folder,
    env: { PATH, HOME, TERM: 'xterm', ...shop.env },
    stdio: 'pipe',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let asked = ''
  child.stdout.on('data', (chunk: Buffer) => {
    if (asked.includes('PIN: ')) return
    asked += String(chunk)
    if (asked.includes('PIN: ')) child.stdin.write(key)
  })
  const outcome = await ended(child)
  expect(outcome.stdout).toMatch(words)
  expect(outcome.stdout).not.toMatch(/INTERNAL|at \S+ \(/)
  expect(outcome.code).toBe(code)
})

test('a run that is stopped before its start is interrupted, and prints no report', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  const printed: string[] = []
  const output = { write: (text: string) => void printed.push(text), isTTY: false, columns: undefined, style: styleFor({}, {}) }
  const context: Context = {
    stdout: output,
    stderr: output,
    env: shop.env,
    argv: ['run', 'shop', '--json'],
    command: 'run',
    json: true,
    pipelines: `${shop.folder}/pipelines`,
    config: () => loadConfig(shop.env, {}),
    log: () => silentLogger,
    clock: systemClock,
    inFlight: { requests: 0 },
    signal: AbortSignal.abort(),
  }
  await expect(run(context, { args: [['shop']], options: {} })).rejects.toThrow(/aborted/)
  expect(printed).toEqual([])
  expect(await shop.sandbox.control.ledger()).toEqual([])
})

test('the last two lines of every failure name a valid command (manner 20)', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('pipelines/gone.yaml', 'source: { url: nowhere.csv }\ndestination: { kind: catalog, catalog_id: "4002" }\n')
  shop.write('feed.csv', feed(3))
  const taken = String(new URL(shop.sandbox.url).port)
  const calls = [
    ['check'],
    ['check', 'gone'],
    ['run', 'gone'],
    ['run', 'nope'],
    ['plan', 'gone'],
    ['show', 'r_9'],
    ['apply', 'p_9'],
    ['backfill', 'shop', '--source', 'nowhere.csv'],
    ['init', '--source', 'nowhere.csv', '--catalog', '1'],
    ['init', 'shop', '--source', 'feed.csv', '--catalog', '1'],
    ['sandbox', '--port', taken],
    ['api', 'GET', '/12/nope'],
    ['api', 'GET', '/12/accounts', '--data', '{'],
    ['webhooks', 'check', '9'],
    ['rejects', 'r_9', '--csv', '/nowhere/x.csv'],
    ['auth', 'login', '--pin', '1'],
    ['runs', '--limit', 'x'],
    ['runs', '--pipelines', 'none', 'nope'],
    ['check', '--pipelines', 'none'],
  ]
  for (const call of calls) {
    const { code, stdout, stderr } = await shop.here(call)
    expect(code, call.join(' ')).not.toBe(0)
    const last = (stderr === '' || code === 3 || /Next/.test(stdout) ? stdout : stderr).trimEnd().split('\n').slice(-2).join('\n')
    const command = /sluice ([a-z]+[^\n(]*)/.exec(last)?.[1] ?? ''
    expect({ call, last, names: command !== '' }).toEqual({ call, last, names: true })
  }
})

test('a stack is shown only with SLUICE_LOG_LEVEL=debug (manner 6)', async () => {
  await using shop = await workspace()
  shop.write('pipelines/gone.yaml', 'source: { url: nowhere.csv }\ndestination: { kind: catalog, catalog_id: "4002" }\n')
  for (const call of [
    ['plan', 'nope'],
    ['show', 'r_9'],
    ['api', 'GET', '/12/nope'],
  ]) {
    expect((await shop.here(call)).stderr).not.toMatch(/^ +at /m)
    expect((await shop.here(call, { env: { SLUICE_LOG_LEVEL: 'debug' } })).stderr).toMatch(/^ +at /m)
  }
  shop.write('.env', 'SLUICE_LOG_LEVEL=debug\n')
  expect((await shop.here(['plan', 'nope'])).stderr).toMatch(/^ +at /m)
})

test('a backfill from an empty shell variable is a wrong call, not a failed run', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  const { code, stderr } = await shop.here(['backfill', 'shop', '--source', ''])
  expect([code, stderr]).toEqual([2, expect.stringContaining('MISSING_OPTION')])
  expect((await shop.here(['runs', '--json'])).stdout).toBe('[]\n')
})

test('several pipelines exit with the worst of 1, 5, 4, 3, 0, and a run that is terminated with 143', { tags: ['long'] }, async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('pipelines/customers.yaml', customersYaml)
  shop.write('pipelines/gone.yaml', 'source: { url: nowhere.csv }\ndestination: { kind: catalog, catalog_id: "4002" }\n')
  shop.write('feed.csv', feed(40))
  shop.write('crm.csv', 'customer_id,email,phone\n1,jane@example.com,\n')
  const worst = async (...names: string[]) => {
    const outcome = await shop.here(['run', ...names, '--json'])
    const statuses = json(outcome).map(({ pipeline, status }: { pipeline: string; status: string }) => `${pipeline} ${status}`)
    return [outcome.code, ...statuses.toSorted()]
  }
  expect(await worst('shop', 'customers')).toEqual([0, 'customers succeeded', 'shop succeeded'])
  shop.write('crm.csv', 'customer_id,email,phone\n1,jane@example.com,\n2,joe@example.com,\n')
  const refusal = { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'not now' }] } }
  await shop.sandbox.control.fault({ method: 'POST', path: '/12/accounts' }, refusal, 'always')
  expect(await worst('shop', 'customers')).toEqual([3, 'customers partial', 'shop succeeded'])
  shop.write('feed.csv', feed(20))
  expect(await worst('customers', 'shop')).toEqual([4, 'customers partial', 'shop withheld'])
  shop.write('feed.csv', feed(140))
  const { control } = shop.sandbox
  await control.fault({ method: 'PUT' }, { kind: 'hold', name: 'put' }, 'always')
  const sent = (await control.ledger()).length
  const first = shop.start(['run', 'shop'])
  const over = ended(first)
  await expect.poll(control.holds, waiting).not.toEqual([])
  expect(await worst('customers', 'shop')).toEqual([5, 'customers partial', 'shop skipped'])
  expect(await worst('customers', 'gone', 'shop')).toEqual([1, 'customers partial', 'gone failed', 'shop skipped'])
  let stderr = ''
  first.stderr?.on('data', (chunk) => void (stderr += String(chunk)))
  first.kill('SIGTERM')
  await expect.poll(() => stderr, waiting).toContain('Stopping')
  await control.clearFaults()
  await control.release('put')
  expect((await over).code).toBe(143)
  expect((await shop.here(['run', 'shop', 'customers'])).code).toBe(0)
  expect((await shop.sandbox.control.catalog()).products).toBe(140)
  expect((await shop.sandbox.control.ledger()).length).toBeGreaterThan(sent)
})

test('serve with a missing folder of pipelines reports that, and ends', async () => {
  await using shop = await workspace()
  const { code, stderr } = await shop.run(['serve', '--port', '0', '--pipelines', 'nowhere'])
  expect(stderr).toContain('PIPELINES_MISSING')
  expect(code).toBe(2)
})
