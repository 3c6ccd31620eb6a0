/** Reasons of unconfirmed operations: at the end of a run, in `show`, and in JSON. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { customersYaml, feed, json, shopYaml, workspace } from './workspace.ts'

test('refused products are counted by reason, with the first ids', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(9))
  await shop.sandbox.control.fault({ method: 'PUT' }, { kind: 'product_error', ids: ['SKU-3', 'SKU-7'], message: 'the image is too small' })
  const ran = await shop.here(['run', 'shop'])
  const line = 'refused  2 ×  ERROR  the image is too small   SKU-3, SKU-7\n'
  expect([ran.code, ran.stdout]).toEqual([3, expect.stringContaining(line)])
  expect(ran.stdout.trimEnd().split('\n').at(-1)).toMatch(/sluice rerun r_1 --failed/)
  expect((await shop.here(['show', 'r_1'])).stdout).toContain(line)
  expect(json(await shop.here(['show', 'r_1', '--json'])).failures).toEqual([
    { outcome: 'refused', code: 'ERROR', message: 'the image is too small', count: 2, examples: ['SKU-3', 'SKU-7'] },
  ])
  const again = json(await shop.here(['run', 'shop', '--json']))
  expect([again.status, again.failures]).toEqual(['succeeded', undefined])
})

test('an unhandled rejection ends the process with an error', async () => {
  const bin = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url))
  const reject = `data:text/javascript,setTimeout(() => Promise.reject(new Error('nothing handles this')), 1000)`
  const child = spawn(process.execPath, ['--import', reject, bin, 'sandbox', '--port', '0'], { stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  expect(await once(child, 'exit')).toEqual([1, null])
  expect(stderr).toContain('nothing handles this')
})

test('failures of people show only the number and the reason', async () => {
  await using crm = await workspace()
  crm.write('pipelines/crm.yaml', customersYaml)
  crm.write('crm.csv', 'customer_id,email,phone\n1,jane@example.com,\n2,joe@example.com,\n')
  await crm.sandbox.control.fault(
    { method: 'POST', path: '/12/accounts' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'jane@example.com is not welcome' }] } },
    'always',
  )
  const ran = await crm.here(['run', 'crm', '--json'])
  expect([ran.code, json(ran).failures]).toEqual([
    3,
    [{ outcome: 'refused', code: 'INVALID_PARAMETER', message: '[email] is not welcome', count: 2, examples: [] }],
  ])
  expect((await crm.here(['show', 'r_1'])).stdout).toContain('refused  2 ×  INVALID_PARAMETER  [email] is not welcome\n')
})

test('a log at debug has a line for every request, without a key; by default it says nothing', { tags: ['long'] }, async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(3))
  const env = { SLUICE_LOG_LEVEL: 'debug', SLUICE_LOG_FORMAT: 'json' }
  await shop.sandbox.control.fault({ method: 'PUT' }, { kind: 'status', status: 503 })
  const logged = (await shop.run(['run', 'shop', '--full'], { env })).stderr
  const lines = logged.split('\n').filter((line) => line.startsWith('{'))
  const requests = lines.map((line) => JSON.parse(line) as { readonly attempt?: number }).filter(({ attempt }) => attempt !== undefined)
  expect(requests).toEqual([
    expect.objectContaining({ level: 'info', runId: 'r_1', attempt: 1, status: 503, outcome: 'ambiguous', code: 'http-503' }),
    expect.objectContaining({ level: 'debug', runId: 'r_1', attempt: 2, status: 200, outcome: 'confirmed', operation: 'upsert' }),
  ])
  expect(lines.join()).not.toContain('SKU')
  expect((await shop.run(['run', 'shop', '--full'])).stderr).not.toContain('request')
})
