/** The older version of the interface, and the headers of every answer (docs/spec-notes.md#echoes-and-cursors). */
import { expect, test } from 'vitest'
import { silentLogger } from '../../src/log.ts'
import { createClient } from '../../src/service/client/index.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'
import { sandboxCredentials } from '../support/signer.ts'

const sandbox = sharedSandbox()

const trio = ['x-rate-limit-limit', 'x-rate-limit-remaining', 'x-rate-limit-reset']

test('version 11 serves the same resources as 12, reads and writes, with a warning (docs/spec-notes.md#echoes-and-cursors Versions)', async () => {
  const created = await sandbox.call('POST', '/11/accounts/18ce54d4x5t/custom_audiences', { query: { name: 'By the older version' } })
  expect([created.status, created.headers.get('x-current-api-version')]).toEqual([200, '12'])
  expect(created.headers.get('x-api-warn')).toMatch(/deprecated/)
  const read = await sandbox.call('GET', `/12/accounts/18ce54d4x5t/custom_audiences/${created.body.data.id}`)
  expect([read.body.data.name, read.headers.get('x-api-warn')]).toEqual(['By the older version', null])
  expect((await sandbox.call('GET', '/11/nothing')).headers.get('x-api-warn')).toMatch(/deprecated/)
})

test('a client with version 11 works, and reports the warning', async () => {
  const warnings: string[] = []
  const log = { ...silentLogger, warn: (fields: Readonly<Record<string, unknown>>) => void warnings.push(String(fields['warning'])) }
  const client = createClient({ baseUrl: sandbox.url, adsVersion: '11', ...sandboxCredentials }, { log })
  const ids: string[] = []
  for await (const { id } of client.catalogs.list()) ids.push(id)
  expect(ids).toEqual(['4001'])
  expect(warnings.join()).toMatch(/deprecated/)
})

test.for(['/5/accounts', '/10/accounts', '/13/accounts', '/110/accounts', '/1/accounts', '/accounts'])(
  '%s is no version that lives: refused, with version and rate headers as on every answer',
  async (path) => {
    const answer = await sandbox.call('GET', path)
    expect([answer.status, answer.body.errors[0].code, answer.headers.get('x-current-api-version')]).toEqual([404, 'ROUTE_NOT_FOUND', '12'])
    for (const name of trio) expect(Number(answer.headers.get(name)), name).toBeGreaterThan(0)
  },
)

test.for([
  ['GET', '/5/accounts/18ce54d4x5t/tailored_audiences/1nmth/permissions'],
  ['GET', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/permissions'],
  ['GET', '/11/accounts/18ce54d4x5t/custom_audiences/1nmth/permissions'],
] as const)('permissions are read at %s %s', async ([method, path]) => {
  expect((await sandbox.call(method, path)).body.data).toHaveLength(1)
})

test('every refusal has the rate headers: no route, no method, no signature, core and advertising', async () => {
  for (const [method, path] of [
    ['GET', '/12/nothing'],
    ['PATCH', '/12/accounts'],
    ['GET', '/1.1/nothing'],
    ['GET', '/2/nothing'],
    ['GET', '/12/accounts'],
  ] as const) {
    const answer = await fetch(sandbox.url + path, { method })
    expect(answer.status, path).toBeGreaterThan(399)
    for (const name of trio) expect(Number(answer.headers.get(name)), `${name} of ${path}`).toBeGreaterThan(0)
    expect(answer.headers.get('x-current-api-version'), path).toBe(path.startsWith('/12') ? '12' : null)
  }
})

test('a user looks up posts on a budget of 5,000, an app on one of 3,500 (docs/spec-notes.md#limits)', async () => {
  const asUser = await sandbox.call('GET', '/2/tweets', { query: { ids: '1166476031668015104' } })
  const basic = Buffer.from(`${sandboxCredentials.consumerKey}:${sandboxCredentials.consumerSecret}`).toString('base64')
  const token = await sandbox.call('POST', '/oauth2/token', {
    form: { grant_type: 'client_credentials' },
    headers: { authorization: `Basic ${basic}` },
  })
  const asApp = await sandbox.call('GET', '/2/tweets', { query: { ids: '1166476031668015104' }, bearer: token.body.access_token })
  expect([asUser, asApp].map((one) => [one.status, one.headers.get('x-rate-limit-limit')])).toEqual([
    [200, '5000'],
    [200, '3500'],
  ])
})

test('the page takes an address that a client signed in its query', async () => {
  const signed = 'oauth_consumer_key=k&oauth_nonce=n&oauth_signature=s&oauth_signature_method=HMAC-SHA1&oauth_timestamp=1&oauth_version=1.0'
  for (const path of ['/oauth/authorize', '/oauth/authenticate']) {
    // Answers with the page for an unknown token, not with an error of parameters.
    const answer = await fetch(`${sandbox.url}${path}?oauth_token=x&${signed}`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([403, 'text/html;charset=utf-8'])
  }
})

test.for(['oauth_callback=oob', 'colour=blue', 'oauth_verifier=1'])(
  'the page of oauth/authorize and oauth/authenticate refuses %s aloud',
  async (extra) => {
    for (const path of ['/oauth/authorize', '/oauth/authenticate']) {
      const answer = await fetch(`${sandbox.url}${path}?oauth_token=x&${extra}`, { redirect: 'manual' })
      const body = (await answer.json()) as { errors: { code: number; message: string }[] }
      expect([answer.status, body.errors[0]?.code]).toEqual([400, 214])
      expect(body.errors[0]?.message).toContain(extra.split('=')[0])
    }
  },
)
