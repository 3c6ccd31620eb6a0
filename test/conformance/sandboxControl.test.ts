/** The control API: ledger, violations, clock, rates, reset and snapshots (docs/sandbox.md). */
import { beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { product } from '../support/product.ts'
import { type CallResult } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

let shiftMs = 0
const sandbox = sharedSandbox({ clock: { ...systemClock, now: () => Date.now() + shiftMs } })
beforeEach(() => {
  shiftMs = 0
})

const put = (id: string): Promise<CallResult> =>
  sandbox.call('PUT', '/12/product_catalogs/4001/products', {
    json: { products: [product(id)] },
    timestamp: Math.floor((Date.now() + shiftMs) / 1000),
  })

test('is ready immediately and has only the state of its calls', async () => {
  expect((await sandbox.control.request('GET', 'health')).body).toEqual({ ok: true })
  expect((await sandbox.control.request('GET', 'instance')).body).toEqual({ instance: expect.any(String) as string })
  expect((await sandbox.control.request('GET', 'nothing')).status).toBe(404)
  expect((await sandbox.control.request('GET', 'audiences/none')).status).toBe(404)
  expect((await sandbox.control.request('GET', 'features/none')).status).toBe(404)
  expect(await sandbox.control.ledger()).toEqual([])
})

test('the ledger lists each request in order, after is exclusive', async () => {
  await put('a')
  await sandbox.call('GET', '/12/product_catalogs')
  const [first, second] = await sandbox.control.ledger()
  expect(first).toMatchObject({
    seq: 1,
    method: 'PUT',
    path: '/12/product_catalogs/4001/products',
    status: 200,
    items: 1,
    applied: true,
    fault: null,
    body_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect(first.bytes).toBeGreaterThan(100)
  expect(new Date(first.time).toISOString()).toBe(first.time)
  expect(second).toMatchObject({ seq: 2, bytes: 0, items: 0 })
  expect((await sandbox.control.ledger(1)).map(({ seq }) => seq)).toEqual([2])
})

test('the ledger names keys and the hash of their entries on demand', async () => {
  await sandbox.control.switches({ ledger_keys: 'on' })
  await put('a')
  await put('a')
  const [first, second] = (await sandbox.control.ledger()).map(({ keys }) => keys)
  expect(first).toEqual([{ key: 'p 4001 a', value: expect.stringMatching(/^[0-9a-f]{64}$/) }])
  expect(second).toEqual(first)
})

test('reset goes back to the first state and clears faults, ledger, violations, clock and switches', async () => {
  await put('a')
  await sandbox.control.fault({}, { kind: 'html' }, 'always')
  await sandbox.control.advance(1000)
  await sandbox.control.switches({ product_put: 'merge' })
  await sandbox.control.reset()
  expect((await sandbox.control.catalog()).products).toBe(0)
  expect(await sandbox.control.ledger()).toEqual([])
  expect((await sandbox.control.request('GET', 'faults')).body).toEqual([])
  expect((await sandbox.control.request('GET', 'switches')).body.product_put).toBe('replace')
  expect(Math.abs(Date.parse((await sandbox.control.request('GET', 'clock')).body.now) - Date.now())).toBeLessThan(5000)
})

test('the clock is set and advanced', async () => {
  await sandbox.control.setClock('2030-01-01T00:00:00Z')
  await sandbox.control.advance(86_400)
  expect((await sandbox.control.request('GET', 'clock')).body.now).toMatch(/^2030-01-02T00:00:0/)
  expect((await sandbox.control.request('PUT', 'clock', { now: 'soon' })).status).toBe(400)
  const answer = (await sandbox.control.request('PUT', 'clock', { advance_s: 0 })).body
  expect((await sandbox.control.request('PUT', 'clock', answer)).status).toBe(200)
  const { error } = (await sandbox.control.request('PUT', 'clock', { advance: 5 })).body
  expect(error).toBe('advance is unknown; there are: now, advance_s')
})

test('uploads work up to the last time of the clock', async () => {
  await sandbox.control.setClock('2104-12-31T23:00:00Z')
  const answer = await sandbox.call('POST', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users', {
    json: [{ operation_type: 'Update', params: { users: [{ email: ['a'.repeat(64)] }] } }],
  })
  expect(answer.status).toBe(200)
  expect(await sandbox.control.identifiers()).toBe(`email\t${'a'.repeat(64)}\t2106-01-31T23:00:00Z\n`)
})

test('an unknown switch or value is refused and changes nothing', async () => {
  expect((await sandbox.control.request('PUT', 'switches', { product_put: 'merge', nonsense: 1 })).status).toBe(400)
  expect((await sandbox.control.request('PUT', 'switches', { product_put: 'both' })).status).toBe(400)
  expect((await sandbox.control.request('GET', 'switches')).body.product_put).toBe('replace')
})

test.for([
  ['GET', '%zz', undefined],
  ['GET', 'audiences/%E0%A4%A', undefined],
  ['GET', 'ledger?after=x', undefined],
  ['PUT', 'clock', '{"advance_s":1e300}'],
  ['PUT', 'clock', '{"now":"1969-12-31T23:59:59Z"}'],
  ['PUT', 'clock', '{"now":"2105-01-01T00:00:00Z"}'],
  ['PUT', 'clock', '{"now":"2027-01-01T00:00:00Z","advance_s":10}'],
  ['POST', 'events', '[null]'],
  ['POST', 'events', '{"event_type":5}'],
  ['POST', 'events', '{"times":1e9}'],
  ['POST', 'events', '{"event_tpye":"post.create"}'],
  ['PUT', 'clock', '{"advance_s":1,"by":"s"}'],
  ['PUT', 'features', '{"account_id":"18ce54d4x5t","added":["DR_TAP"]}'],
  ['POST', 'users', '{"screen_name":"anna","account":[]}'],
  ['POST', 'tls', '{"kinds":"good"}'],
  ['POST', 'reset', '{"seeds":1}'],
  ['POST', 'reset', '{"seed":"1"}'],
  ['POST', 'restore', '{"name":"s1"}'],
  ['POST', 'restore', '{"id":5}'],
  ['POST', 'users', '{"screen_name":"anna","id":{"toString":1,"valueOf":1}}'],
  ['POST', 'users', '{"screen_name":"anna","accounts":[{"id":{"toString":1,"valueOf":1}}]}'],
  ['PUT', 'features', '{"account_id":{"toString":1,"valueOf":1}}'],
  ['PUT', 'switches', '{"card_response":{"toString":1,"valueOf":1}}'],
  ['PUT', 'switches', '{"undefined":"array"}'],
] as const)('a malformed control call is refused, and the sandbox stays up: %s %s %s', async ([method, path, body]) => {
  const answer = await fetch(`${sandbox.url}/_sandbox/${path}`, { method, ...(body === undefined ? {} : { body }) })
  expect([answer.status, await answer.json()]).toEqual([400, { error: expect.any(String) as string }])
  expect((await fetch(`${sandbox.url}/_sandbox/health`, { method: 'HEAD' })).status).toBe(200)
  const clock = (await (await fetch(`${sandbox.url}/_sandbox/clock`)).json()) as { now: string }
  expect(Date.parse(clock.now)).toBeGreaterThan(0)
})

const UNTYPED = '{"toString":1,"valueOf":1}'
test.for([
  ['DELETE', '/12/product_catalogs/4001/products', `{"product_keys":[${UNTYPED}]}`],
  ['POST', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users', uploadOf(`{"email":[${UNTYPED}]}`)],
  ['POST', '/12/batch/accounts/18ce54d4x5t/do_not_reach_lists/2dnr/users', uploadOf(`{"email":[${UNTYPED}]}`)],
] as const)('an object as key or identifier is refused, and the sandbox stays up: %s %s', async ([method, path, body]) => {
  const unsigned = await fetch(`${sandbox.url}${path}`, { method, headers: { 'content-type': 'application/json' }, body })
  expect(unsigned.status).toBe(401)
  expect((await sandbox.call(method, path, { json: body })).status).toBe(400)
  expect((await sandbox.control.ledger()).map(({ items }) => items)).toEqual([1, 1])
})

function uploadOf(user: string): string {
  return `[{"operation_type":"Update","params":{"users":[${user}]}}]`
}

// JSON.parse accepts this depth. JSON.stringify, which the hash of an entry needs, throws a RangeError.
const deepProduct = `{"products":[{"id":"a","x":${'['.repeat(50_000)}${']'.repeat(50_000)}}]}`
test('a request that the sandbox fails to record is answered 500, and the sandbox stays up', async () => {
  await sandbox.control.switches({ ledger_keys: 'on' })
  const path = '/12/product_catalogs/4001/products'
  expect((await sandbox.call('PUT', path, { json: deepProduct })).status).toBe(500)
  expect(await sandbox.control.ledger()).toMatchObject([{ status: 500 }])
})
test('a fault whose answer the sandbox fails to send is answered 500, and the sandbox stays up', async () => {
  // Node rejects this header in an answer with a length.
  await sandbox.control.fault({}, { kind: 'status', stage: 'before_read', headers: { trailer: 'x' } })
  expect((await put('a')).status).toBe(500)
  expect((await put('a')).status).toBe(200)
})
test('a request without an answer that the sandbox fails to record ends, and the sandbox stays up', async () => {
  await sandbox.control.fault({ method: 'PUT' }, { kind: 'reset' })
  const path = '/12/product_catalogs/4001/products'
  await expect(sandbox.call('PUT', path, { json: deepProduct })).rejects.toThrow('fetch failed')
  expect(await sandbox.control.ledger()).toMatchObject([{ status: null }])
})

test('a path that only begins like the control API is a path of the service', async () => {
  const answer = await fetch(`${sandbox.url}/_sandboxes/health`)
  expect([answer.status, await answer.json()]).toEqual([404, { errors: [expect.anything()], request: expect.anything() as unknown }])
  expect((await fetch(`${sandbox.url}/_sandbox/health?x=1`)).status).toBe(200)
})

test('a snapshot is restored as often as asked', async () => {
  await put('a')
  const { id } = (await sandbox.control.request('POST', 'snapshot')).body
  const digest = (await sandbox.control.catalog()).digest
  for (let n = 0; n < 2; n++) {
    await put(`b${n}`)
    expect((await sandbox.control.catalog()).digest).not.toBe(digest)
    expect((await sandbox.control.request('POST', `restore/${id}`)).status).toBe(200)
    expect((await sandbox.control.catalog()).digest).toBe(digest)
  }
})

test('rate limits: headers on every answer, refusal beyond, a new window by the machine clock', async () => {
  const create = (): Promise<CallResult> =>
    sandbox.call('PUT', '/12/product_catalogs/4001', { query: { name: 'x' }, timestamp: Math.floor((Date.now() + shiftMs) / 1000) })
  const first = await create()
  expect([
    first.headers.get('x-rate-limit-limit'),
    first.headers.get('x-rate-limit-remaining'),
    first.headers.get('x-current-api-version'),
  ]).toEqual(['20', '19', '12'])
  for (let n = 0; n < 19; n++) expect((await create()).status).toBe(200)
  const refused = await create()
  expect([
    refused.status,
    refused.body.errors[0].code,
    refused.headers.get('x-rate-limit-remaining'),
    refused.headers.get('x-rate-limit-reset'),
  ]).toEqual([429, 'TOO_MANY_REQUESTS', '0', first.headers.get('x-rate-limit-reset')])
  expect((await sandbox.control.violations()).map(({ rule }) => rule)).toEqual(['over_rate_limit'])
  await sandbox.control.advance(3600)
  expect((await create()).status).toBe(429)
  shiftMs = 16 * 60_000
  expect((await create()).status).toBe(200)
})

test.for([
  { kind: 'rate_limit', retry_after: 60 },
  { kind: 'rate_limit', retry_after: '60' },
  { kind: 'rate_limit', headers: { 'Retry-After': '60' } },
  { kind: 'rate_limit', reset: 60 },
  { kind: 'rate_limit', reset: '60' },
  { kind: 'rate_limit', reset: String(Math.ceil(Date.now() / 1000) + 60) },
  { kind: 'rate_limit', headers: { 'X-Rate-Limit-Reset': '60' } },
  { kind: 'status', status: 503, headers: { 'Retry-After': '60' } },
])('a request during the wait that %o asked for is a violation', async (fault) => {
  await sandbox.control.fault({ method: 'PUT' }, fault)
  await put('a')
  shiftMs = 10_000
  await put('b')
  expect((await sandbox.control.violations()).map(({ rule }) => rule)).toEqual(['request_during_retry_after'])
  shiftMs = 61_000
  await put('c')
  expect(await sandbox.control.violations()).toHaveLength(1)
})

test('account reads carry the account trio, named limits hold with rate_limits off', async () => {
  const read = await sandbox.call('GET', '/12/accounts/18ce54d4x5t/custom_audiences')
  expect(read.headers.get('x-account-rate-limit-limit')).toBe('2000')
  await sandbox.control.switches({ rate_limits: 'off' })
  // A limit that is not enforced must not make clients wait.
  for (let n = 0; n < 21; n++) {
    const { status, headers } = await sandbox.call('PUT', '/12/product_catalogs/4001', { query: { name: 'x' } })
    expect([status, headers.get('x-rate-limit-remaining')]).toEqual([200, '20'])
  }
  for (let n = 0; n < 200; n++)
    await sandbox.call('GET', '/12/accounts/18ce54d4x5t/custom_audiences', { query: { with_total_count: true } })
  expect((await sandbox.call('GET', '/12/accounts/18ce54d4x5t/custom_audiences', { query: { with_total_count: true } })).status).toBe(429)
  expect((await sandbox.call('GET', '/12/accounts/18ce54d4x5t/custom_audiences')).status).toBe(200)
})

test.for(['user', 'account'] as const)('uploads of users are counted by %s', { tags: ['long'], timeout: 60_000 }, async (per) => {
  await sandbox.control.switches({ upload_limit_per: per })
  const upload = (account: string) =>
    sandbox.call('POST', `/12/accounts/${account}/custom_audiences/1nmth/users`, {
      json: [{ operation_type: 'Delete', params: { users: [] } }],
    })
  const header = per === 'account' ? 'x-account-rate-limit-remaining' : 'x-rate-limit-remaining'
  const first = await upload('18ce54d4x5t')
  expect(first.headers.get(header)).toBe('1499')
  for (let n = 1; n < 1500; n += 25) await Promise.all(Array.from({ length: Math.min(25, 1500 - n) }, () => upload('18ce54d4x5t')))
  expect((await upload('18ce54d4x5t')).status).toBe(429)
  const other = await upload('other')
  expect([other.status === 429, other.headers.get(header)]).toEqual(per === 'account' ? [false, '1499'] : [true, '0'])
})

test.for([
  ['GET', '/12/nothing', 404, 'ROUTE_NOT_FOUND'],
  ['PATCH', '/12/product_catalogs', 405, 'METHOD_NOT_ALLOWED'],
  ['DELETE', '/12/product_catalogs', 405, 'METHOD_NOT_ALLOWED'],
  ['GET', '/1.1/nothing', 404, 34],
  ['GET', '/13/accounts', 404, 'ROUTE_NOT_FOUND'],
] as const)('%s %s is refused aloud: %i %s', async ([method, path, status, code]) => {
  const answer = await sandbox.call(method, path)
  expect([answer.status, answer.body.errors[0].code]).toEqual([status, code])
})

test('a JSON body where parameters are due is refused, not ignored', async () => {
  const answer = await sandbox.call('POST', '/12/accounts/18ce54d4x5t/custom_audiences', { query: { name: 'A' }, json: { name: 'B' } })
  expect([answer.status, answer.body.errors[0].code]).toEqual([400, 'INVALID_PARAMETER'])
  expect(answer.body.request).toEqual({ params: { account_id: '18ce54d4x5t' } })
})

test.for([
  ['multipart/form-data; boundary=b', '--b\r\ncontent-disposition: form-data; name="name"\r\n\r\nB\r\n--b--\r\n'],
  ['text/plain', 'name=B'],
  ['application/xml', '<name>B</name>'],
] as const)('parameters in a body of type %s are refused, not ignored', async ([type, body]) => {
  const answer = await sandbox.call('PUT', '/12/accounts/18ce54d4x5t', { json: body, headers: { 'content-type': type } })
  expect([answer.status, answer.body.errors?.[0].code, answer.body.errors?.[0].parameter]).toEqual([400, 'INVALID_PARAMETER', 'body'])
})

test('the ids of the path are echoed by a refusal of the body as a whole, too many operations for one', async () => {
  const answer = await sandbox.call('POST', '/12/batch/accounts/18ce54d4x5t/campaigns', { json: Array.from({ length: 41 }, () => ({})) })
  expect([answer.status, answer.body.errors[0].code]).toEqual([400, 'REQUEST_TOO_COMPLEX'])
  expect(answer.body.request).toEqual({ params: { account_id: '18ce54d4x5t' } })
})
