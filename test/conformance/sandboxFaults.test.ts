/** Faults of answers and of the applied part: the request that a rule hits, and the result (docs/sandbox.md). */
import { get } from 'node:http'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { product } from '../support/product.ts'
import { sha256 } from '../support/digests.ts'
import { withSandbox, type CallResult, type Loose } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'
import { authorization, sandboxCredentials } from '../support/signer.ts'

const sandbox = sharedSandbox()

const path = '/12/product_catalogs/4001/products'
const put = (...ids: string[]): Promise<CallResult> => sandbox.call('PUT', path, { json: { products: ids.map((id) => product(id)) } })
const users = (count: number): Promise<CallResult> =>
  sandbox.call('POST', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users', {
    json: Array.from({ length: count }, (_, n) => ({ operation_type: 'Update', params: { users: [{ email: [sha256(`p${n}`)] }] } })),
  })
const arm = (
  fault: Record<string, unknown>,
  match: Record<string, unknown> = { method: 'PUT' },
  times?: number | 'always',
): Promise<string> => sandbox.control.fault(match, fault, times)
const last = async (): Promise<Loose> => (await sandbox.control.ledger()).at(-1)
const products = async (): Promise<number> => (await sandbox.control.catalog()).products
/** A connection that broke: fetch rejects. */
const broken = async (call: Promise<CallResult>): Promise<string> =>
  call.then(
    () => 'answered',
    () => 'broken',
  )

describe('which request a rule hits', () => {
  test('the nth of method and path prefix, so many times; the ledger names kind and rule', async () => {
    const id = await arm({ kind: 'status', status: 503 }, { method: 'PUT', path: '/12/product_catalogs/', nth: 2 }, 2)
    expect([(await put('a')).status, (await put('b')).status, (await put('c')).status, (await put('d')).status]).toEqual([
      200, 503, 503, 200,
    ])
    expect((await sandbox.control.ledger()).map(({ fault, fault_id, applied }) => [fault, fault_id, applied])).toEqual([
      [null, null, true],
      ['status', id, false],
      ['status', id, false],
      [null, null, true],
    ])
    expect((await sandbox.control.request('GET', 'faults')).body[0]).toMatchObject({ id, matched: 4 - 1, fired: 2 })
  })
  test('a regular expression, a key in the body, a worker, the second sending of a body', async () => {
    await arm({ kind: 'status', status: 500 }, { path: '/product_catalogs/\\d+/products$', contains_key: '"id":"b"' }, 'always')
    expect([(await put('a')).status, (await put('a', 'b')).status, (await put('b')).status]).toEqual([200, 500, 500])
    await sandbox.control.clearFaults()
    await arm({ kind: 'status', status: 500 }, { worker: 'w2' }, 'always')
    expect((await sandbox.call('GET', path, { headers: { 'x-test-worker': 'w2' } })).status).toBe(500)
    expect((await sandbox.call('GET', path)).status).toBe(200)
    await sandbox.control.clearFaults()
    await arm({ kind: 'status', status: 500 }, { method: 'PUT', attempt_of_same_body: 2 }, 'always')
    expect([(await put('x')).status, (await put('x')).status, (await put('x')).status, (await put('y')).status]).toEqual([
      200, 500, 200, 200,
    ])
  })
  test.each(['always', null, 0, -1])('times %j is no limit', async (times) => {
    const { status } = await sandbox.control.request('POST', 'faults', {
      match: { method: 'PUT' },
      times,
      fault: { kind: 'counts', apply: 'first_half' },
    })
    expect(status).toBeLessThan(300)
    for (let n = 0; n < 3; n++) await put(`p${n}`)
    expect((await sandbox.control.request('GET', 'faults')).body[0]).toMatchObject({ fired: 3, fault: { apply: 'half' } })
  })
  test('an entry without limit can be armed again, and has no limit then', async () => {
    await arm({ kind: 'status', status: 503 }, { method: 'PUT' }, 'always')
    const [entry] = (await sandbox.control.request('GET', 'faults')).body
    await sandbox.control.clearFaults()
    expect((await sandbox.control.request('POST', 'faults', entry)).status).toBeLessThan(300)
    expect([(await put('a')).status, (await put('a')).status, (await sandbox.control.request('GET', 'faults')).body[0].times]).toEqual([
      503,
      503,
      null,
    ])
  })
  test.for([{ apply: 'only:' }, { apply: 'only:[]' }, { apply: [''] }])('%j names no entry', async ({ apply }) => {
    await arm({ kind: 'warnings', apply })
    expect((await sandbox.control.request('GET', 'faults')).body[0].fault.apply).toEqual({ only: [] })
  })
  test.for([
    { kind: 'large', bytes: -1 },
    { kind: 'large', bytes: 600_000_000 },
    { kind: 'gzip_bomb', bytes: 4_000_000_001 },
    { kind: 'deep', depth: -1 },
    { kind: 'status', status: 42 },
    { kind: 'short', by: -1 },
    { kind: 'delay', ms: -1 },
    { kind: 'product_error', ids: 'b' },
    { kind: 'operation_errors', indices: 1 },
    { kind: 'operation_errors', indices: ['one'] },
    { kind: 'operation_errors', indices: [''] },
    { kind: 'operation_errors', length: 1e10 },
    { kind: 'counts', shape: 'round' },
    { kind: 'interim', statuses: [101] },
    { kind: 'delay', close: 'yes' },
    { kind: 'status', headers: { x: 'a\nb' } },
    { kind: 'html', headers: { 'a b': '1' } },
    { kind: 'empty', headers: 'x: 1' },
    { kind: 'empty', headers: { x: { toString: 1, valueOf: 1 } } },
    { kind: 'rate_limit', retry_after: '1\n' },
    { kind: 'rate_limit', reset: 'a\u0000' },
    { kind: 'wrong_type', type: 'text/plain\r\n' },
    { kind: 'status', apply: { toString: 1, valueOf: 1 } },
    { kind: 'status', apply: [{ toString: 1, valueOf: 1 }] },
  ])('a fault that could not act is rejected: %j', async ({ kind, ...settings }) => {
    const [name] = Object.keys(settings)
    await expect(arm({ kind, ...settings })).rejects.toThrow(`fault.${name} must be `)
  })
  test.for([
    { kind: 'gzip_bomb', bytes: 4_000_000_000 },
    { kind: 'truncate', bytes: 600_000_000 },
    { kind: 'interim', statuses: ['100', 103] },
    { kind: 'status', headers: { 'Retry-After': 7, 'x-empty': '', 'x-name': 'é' } },
  ])('is accepted: %j', async (fault) => {
    expect(await arm(fault)).toBeTruthy()
  })
  test('an unknown kind, stage or match is refused with what there is', async () => {
    for (const body of [
      { fault: { kind: 'explode' } },
      { fault: { kind: 'reset', stage: 'soon' } },
      { match: { verb: 'PUT' }, fault: { kind: 'html' } },
      { fault: { kind: 'html' }, times: 1.5 },
    ])
      expect((await sandbox.control.request('POST', 'faults', body)).status).toBe(400)
  })
  test.for([
    [{ fault: { kind: 'delay', msec: 5 } }, 'fault.msec is unknown; there are: kind, stage, apply, at, close, ms, jitter'],
    [{ fault: { kind: 'delay', retry_after: 5 } }, 'fault.retry_after is unknown'],
    [{ fault: { kind: 'status', status: '503' } }, 'fault.status must be a whole number'],
    [{ fault: { kind: 'delay', msec: null } }, 'fault.msec is unknown; there are: kind, stage, apply, at, close, ms, jitter'],
    [{ fault: { kind: 'html' }, time: 3 }, /^time is unknown; there are: match, times, fault$/],
  ] as const)('%j is refused: %s', async ([rule, reason]) => {
    const { status, body } = await sandbox.control.request('POST', 'faults', rule)
    expect([status, body.error]).toEqual([400, expect.stringMatching(reason)])
  })
  test('a value of a wrong type is refused, and null counts as absent', async () => {
    for (const match of [
      { method: 5 },
      { path: ['/12'] },
      { path: '(' },
      { path: '*users' },
      { nth: '3' },
      { every: 0 },
      { probability: 2 },
      { contains_key: 7 },
      { worker: 1 },
      { after_ms: -1 },
      { attempt_of_same_body: 1.5 },
      { first_of_connection: 'yes' },
    ]) {
      const [name] = Object.keys(match)
      const { status, body } = await sandbox.control.request('POST', 'faults', { match, fault: { kind: 'html' } })
      expect([status, body.error]).toEqual([400, expect.stringContaining(`match.${name}`)])
    }
    await sandbox.control.request('POST', 'faults', {
      match: { method: null, path: null, nth: null },
      fault: { kind: 'empty', status: 503 },
    })
    expect((await put('a')).status).toBe(503)
  })
})

describe('answers that say no', () => {
  test('status with body and headers, not applied; applied on request', async () => {
    await arm({ kind: 'status', status: 503, body: { errors: [{ code: 'OVER_CAPACITY', message: 'x' }] }, headers: { 'Retry-After': '7' } })
    const answer = await put('a')
    expect([answer.status, answer.headers.get('retry-after'), answer.body.errors[0].code, await products()]).toEqual([
      503,
      '7',
      'OVER_CAPACITY',
      0,
    ])
    await arm({ kind: 'status', status: 500, apply: 'all' })
    expect([(await put('b')).status, await products(), (await last()).applied]).toEqual([500, 1, true])
  })
  test('status with the JSON null as body, and without a body', async () => {
    await arm({ kind: 'status', status: 200, body: null })
    expect((await put('a')).text).toBe('null')
    await arm({ kind: 'status', status: 200, headers: null })
    expect((await put('a')).text).toBe('')
  })
  test('a delay longer than a timer of Node can take does not end immediately', async () => {
    await arm({ kind: 'delay', ms: 3_000_000_000 })
    // The reset ends the wait and the connection.
    const answer = put('a').then(
      () => 'answered',
      () => 'closed',
    )
    expect(await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 300, 'waiting'))])).toBe('waiting')
    await sandbox.control.reset()
    await answer
  })
  test('html, empty', async () => {
    await arm({ kind: 'html', headers: { 'Retry-After': '7' } })
    const html = await put('a')
    expect([html.status, html.headers.get('content-type'), html.headers.get('retry-after'), html.text.includes('<html>')]).toEqual([
      502,
      'text/html;charset=utf-8',
      '7',
      true,
    ])
    await arm({ kind: 'empty' })
    const empty = await put('a')
    expect([empty.status, empty.text, await products()]).toEqual([200, '', 0])
  })
  test('rate_limit with Retry-After or reset; coming back too early is a violation', async () => {
    await arm({ kind: 'rate_limit', retry_after: 30 })
    const limited = await put('a')
    expect([limited.status, limited.headers.get('retry-after'), limited.body.errors[0].code]).toEqual([429, '30', 'TOO_MANY_REQUESTS'])
    await arm({ kind: 'rate_limit', reset: 5 })
    const reset = Number((await put('a')).headers.get('x-rate-limit-reset'))
    expect(reset).toBeGreaterThan(Date.now() / 1000)
    expect((await last()).applied).toBe(false)
  })
  test('expire_token answers 401 with code 89; a bearer is renewed by another', async () => {
    await arm({ kind: 'expire_token' })
    expect((await put('a')).body).toEqual({ errors: [{ code: 89, message: 'Invalid or expired token.' }] })
    expect((await put('a')).status).toBe(200)
    const headers = {
      authorization: `Basic ${Buffer.from(`${sandboxCredentials.consumerKey}:${sandboxCredentials.consumerSecret}`).toString('base64')}`,
    }
    const token = async (): Promise<string> =>
      (await sandbox.call('POST', '/oauth2/token', { headers, form: { grant_type: 'client_credentials' } })).body.access_token
    const bearer = await token()
    await arm({ kind: 'expire_token' }, { path: '/2/' })
    expect((await sandbox.call('GET', '/2/webhooks', { bearer })).status).toBe(401)
    expect((await sandbox.call('GET', '/2/webhooks', { bearer })).status).toBe(401)
    expect((await sandbox.call('GET', '/2/webhooks', { bearer: await token() })).status).toBe(200)
  })
})

test.for([
  [{ kind: 'status', status: 503, headers: { 'Retry-After': '7' } }, ['content-type', 'retry-after', 'x-current-api-version']],
  [
    { kind: 'rate_limit', retry_after: 30, reset: 30 },
    ['content-type', 'retry-after', 'x-rate-limit-limit', 'x-rate-limit-remaining', 'x-rate-limit-reset', 'x-current-api-version'],
  ],
  [{ kind: 'expire_token' }, ['content-type', 'x-current-api-version']],
] as const)('%o answers at the stage before_read as at a later one', async ([fault, names]) => {
  const answerAt = async (stage: string): Promise<CallResult> => {
    await sandbox.control.reset()
    await arm({ ...fault, stage })
    return put('a')
  }
  const [early, late] = [await answerAt('before_read'), await answerAt('before_apply')]
  expect([early.status, early.body]).toEqual([late.status, late.body])
  for (const name of names) expect([name, early.headers.get(name)?.slice(0, 8)]).toEqual([name, late.headers.get(name)?.slice(0, 8)])
  expect(early.headers.get('content-type')).not.toBeNull()
})

test('a fault that changes the answer is rejected at a stage before the body is read', async () => {
  for (const kind of ['truncate', 'counts', 'short', 'idle_close', 'stale'])
    for (const stage of ['before_read', 'after_headers', 'mid_upload'])
      await expect(arm({ kind, stage }), `${kind} at ${stage}`).rejects.toThrow(`${kind} has no effect at the stage ${stage}`)
  await arm({ kind: 'status', status: 503, stage: 'before_read' })
})
test('slow_upload is rejected where the body is read before the fault can act', async () => {
  const reason = 'slow_upload has no effect'
  await expect(arm({ kind: 'slow_upload' }, { contains_key: 'a' })).rejects.toThrow(`${reason} with match.contains_key`)
  await expect(arm({ kind: 'slow_upload' }, { attempt_of_same_body: 2 })).rejects.toThrow(`${reason} with match.attempt_of_same_body`)
  await expect(arm({ kind: 'slow_upload', stage: 'after_read' })).rejects.toThrow(`${reason} at the stage after_read`)
  await arm({ kind: 'slow_upload', stage: 'before_read' }, { method: 'PUT', worker: 'w1' })
})

describe('connections that break', () => {
  test.for([
    [{ kind: 'reset', at: 'before' }, 0],
    [{ kind: 'reset', at: 'during' }, 0],
    [{ kind: 'reset', at: 'after' }, 0],
    [{ kind: 'reset' }, 0],
    [{ kind: 'close' }, 0],
    [{ kind: 'reset', stage: 'before_read' }, 0],
    [{ kind: 'commit_then_reset' }, 1],
    [{ kind: 'reset', stage: 'after_apply' }, 1],
    [{ kind: 'reset', stage: 'after_apply', apply: 'none' }, 0],
    [{ kind: 'reset', stage: 'mid_response' }, 1],
    [{ kind: 'truncate', bytes: 10 }, 1],
    [{ kind: 'truncate' }, 1],
    [{ kind: 'wrong_length' }, 1],
    [{ kind: 'no_chunk_end' }, 1],
  ] as const)('%o breaks; applied: %i', async ([fault, applied]) => {
    await arm(fault)
    expect(await broken(put('a'))).toBe('broken')
    expect(await products()).toBe(applied)
    expect((await last()).applied).toBe(applied === 1)
    expect((await put('a')).status).toBe(200)
  })
  test.for(
    ['reset', 'close'].flatMap((kind) => [{ contains_key: '"a"' }, { attempt_of_same_body: 1 }].map((match) => [kind, match] as const)),
  )('%s at mid_upload breaks a request that matches %o by its body', async ([kind, match]) => {
    await arm({ kind, stage: 'mid_upload' }, match)
    expect(await broken(put('a'))).toBe('broken')
    expect([await products(), (await last()).applied]).toEqual([0, false])
  })
  test('delay and slow answer late but whole', async () => {
    await arm({ kind: 'delay', ms: 30 })
    expect((await put('a')).status).toBe(200)
    await arm({ kind: 'slow', bytes_per_s: 4000 })
    expect((await put('a')).body.data.products_response).toHaveLength(1)
  })
  test.for([
    { kind: 'slow', bytes_per_s: 100_000 },
    { kind: 'drip', bytes_per_s: 100_000 },
    { kind: 'no_chunk_end' },
    { kind: 'http10' },
    { kind: 'reset', stage: 'after_response' },
    { kind: 'close', stage: 'after_response' },
    { kind: 'status', stage: 'before_read' },
  ])('the ledger has start and size of an answer that the fault %o sends itself', async (fault) => {
    await arm(fault)
    await broken(put('a'))
    await expect.poll(async () => (await last()).answer_ended_at).not.toBeNull()
    expect(await last()).toMatchObject({ answer_started_at: expect.any(String), answer_bytes: expect.toSatisfy((bytes) => bytes > 50) })
  })
  test('truncate and wrong_length count bytes, not characters', async () => {
    const raw = (): Promise<{ length: string | undefined; bytes: number }> =>
      new Promise((resolve, reject) => {
        const url = `${sandbox.url}${path}`
        get(url, { agent: false, headers: { authorization: authorization({ method: 'GET', url }) } }, (response) => {
          let bytes = 0
          response.on('data', (chunk: Buffer) => (bytes += chunk.length))
          response.on('error', () => undefined)
          response.on('close', () => resolve({ length: response.headers['content-length'], bytes }))
        }).on('error', reject)
      })
    await sandbox.call('PUT', path, { json: { products: [{ ...product('a'), title: 'ü'.repeat(100) }] } })
    const whole = await raw()
    await arm({ kind: 'wrong_length' }, { method: 'GET' })
    expect(await raw()).toEqual({ length: String(whole.bytes + 10), bytes: whole.bytes })
    await arm({ kind: 'truncate' }, { method: 'GET' })
    expect(await raw()).toEqual({ length: String(whole.bytes), bytes: Math.floor(whole.bytes / 2) })
  })
  test.for(['slow', 'drip', 'slow_upload'])('%s without a speed above 0 is rejected', async (kind) => {
    for (const bytes_per_s of [0, -5]) await expect(arm({ kind, bytes_per_s })).rejects.toThrow('fault.bytes_per_s')
  })
  test('a client that closes right after the last byte of a slow answer has not given up', async () => {
    const url = `${sandbox.url}/12/product_catalogs`
    // Sends eight bytes every tenth of a second. If more bytes followed, they would come much later.
    await arm({ kind: 'slow', bytes_per_s: 80 }, { method: 'GET' })
    await new Promise<void>((resolve, reject) => {
      get(url, { agent: false, headers: { authorization: authorization({ method: 'GET', url }) } }, (response) => {
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes < Number(response.headers['content-length'])) return
          response.socket.destroy()
          resolve()
        })
      }).on('error', reject)
    })
    await expect.poll(async () => (await last()).answer_ended_at).not.toBeNull()
    expect(await last()).toMatchObject({ status: 200, client_closed: false })
  })
})

describe('answers that do not fit', () => {
  test('short, long, reorder, duplicate_results', async () => {
    const ids = async (fault: Record<string, unknown>): Promise<string[]> => {
      await arm(fault)
      return (await put('a', 'b', 'c')).body.data.products_response.map(({ id }: Loose) => id)
    }
    expect(await ids({ kind: 'short' })).toEqual(['a', 'b'])
    expect(await ids({ kind: 'long' })).toEqual(['a', 'b', 'c', 'alien-product'])
    expect(await ids({ kind: 'reorder' })).toEqual(['c', 'b', 'a'])
    expect(await ids({ kind: 'duplicate_results' })).toEqual(['a', 'a', 'b', 'c'])
    expect(await ids({ kind: 'alien_id' })).toEqual(['alien-a', 'b', 'c'])
    expect(await ids({ kind: 'null_id' })).toEqual([null, 'b', 'c'])
    expect(await products()).toBe(3)
  })
  test.for([
    [{ success: 2, total: 3 }, [2, 3], false],
    [{ success: 3, total: 2 }, [3, 2], false],
    [{ success: 0, total: 0 }, [0, 0], false],
    [{ success: 'n+1', total: 'n+1' }, [4, 4], false],
    [{ success: 'n-1', apply: 'all' }, [2, 3], true],
  ] as const)('counts %o sum to %o', async ([counts, sums, applied]) => {
    await sandbox.control.switches({ audience_users_response: 'array' })
    await arm({ kind: 'counts', ...counts }, { path: '/12/accounts/' })
    const { data } = (await users(3)).body
    expect([
      data.reduce((sum: number, one: Loose) => sum + one.success_count, 0),
      data.reduce((sum: number, one: Loose) => sum + one.total_count, 0),
    ]).toEqual(sums)
    expect([(await last()).applied, (await sandbox.control.audience()).members]).toEqual([applied, applied ? 3 : 0])
  })
  test.for(['/12/accounts', '/2/users?ids=1001'])('counts leaves other requests as they are: GET %s', async (address) => {
    await arm({ kind: 'counts' }, { method: 'GET' })
    expect((await sandbox.call('GET', address)).status).toBe(200)
    expect(await last()).toMatchObject({ fault: 'counts', applied: true })
  })
  test('counts as text, null, one object, empty, too short', async () => {
    await sandbox.control.switches({ audience_users_response: 'array' })
    const data = async (fault: Record<string, unknown>): Promise<Loose> => {
      await arm({ kind: 'counts', ...fault }, { path: '/12/accounts/' })
      return (await users(2)).body.data
    }
    expect((await data({ success: '2' }))[1].success_count).toBe('2')
    expect((await data({ total: null }))[1].total_count).toBeNull()
    expect((await data({ success: null }))[1].success_count).toBeNull()
    expect(await data({ shape: 'object' })).toEqual({ success_count: 2, total_count: 2 })
    expect(await data({ shape: 'one' })).toEqual([{ success_count: 2, total_count: 2 }])
    expect(await data({ shape: 'empty' })).toEqual([])
    expect(await data({ shape: 'short' })).toHaveLength(1)
  })
  test.for([
    [{ kind: 'short' }, 2],
    [{ kind: 'short', by: 2 }, 1],
    [{ kind: 'long' }, 4],
    [{ kind: 'duplicate_results' }, 4],
    [{ kind: 'reorder' }, 3],
  ] as const)('%o changes the sums of an upload of three users to %i', async ([fault, sum]) => {
    await arm(fault, { path: '/12/accounts/' })
    expect((await users(3)).body.data).toEqual({ success_count: sum, total_count: sum })
    expect((await last()).applied).toBe(true)
  })
  test('partial_apply applies the first half and counts so', async () => {
    await sandbox.control.switches({ audience_users_response: 'array' })
    await arm({ kind: 'partial_apply' }, { path: '/12/accounts/' })
    const { data } = (await users(4)).body
    expect(data.map((one: Loose) => one.success_count)).toEqual([1, 1, 0, 0])
    expect((await sandbox.control.audience()).members).toBe(2)
    await arm({ kind: 'partial_apply', apply: 'first:1' })
    expect((await put('a', 'b')).body.data.products_response.map(({ status }: Loose) => status)).toEqual(['CREATE_SUCCESS', 'ERROR'])
    await arm({ kind: 'status', status: 500, apply: { only: ['c'] } })
    await put('c', 'd')
    expect((await sandbox.control.products()).map(({ id }) => id)).toEqual(['a', 'c'])
  })
  test('partial_apply with only reports the entries that it applied', async () => {
    await arm({ kind: 'partial_apply', apply: { only: ['b'] } })
    const results: Loose[] = (await put('a', 'b')).body.data.products_response
    expect(results.map(({ id, status }) => [id, status])).toEqual([
      ['a', 'ERROR'],
      ['b', 'CREATE_SUCCESS'],
    ])
    expect((await sandbox.control.products()).map(({ id }) => id)).toEqual(['b'])
    const keys: string[] = (await put('a', 'b')).body.data.products_response.map((one: Loose) => one.product_key)
    await arm({ kind: 'partial_apply', apply: { only: [keys[1]] } }, { method: 'DELETE' })
    const deletes: Loose[] = (await sandbox.call('DELETE', path, { json: { product_keys: keys } })).body.data.delete_products
    expect(deletes.map((one) => [one.product_key, one.failed_product_key])).toEqual([
      [null, keys[0]],
      [keys[1], null],
    ])
    expect((await sandbox.control.products()).map(({ id }) => id)).toEqual(['a'])
    await arm({ kind: 'partial_apply', apply: { only: [sha256('p1')] } }, { path: '/12/accounts/' })
    expect((await users(3)).body.data).toMatchObject({ success_count: 1, total_count: 3 })
    expect((await sandbox.control.audience()).members).toBe(1)
  })
  test('changed_key does not change a result without a product key', async () => {
    await arm({ kind: 'changed_key' })
    const wrong = (await sandbox.call('PUT', path, { json: { products: [{ id: 'a' }] } })).body.data.products_response
    expect(wrong).toMatchObject([{ status: 'ERROR', product_key: null }])
    const sums = (await users(1)).body.data
    await arm({ kind: 'changed_key' }, { path: '/12/accounts/' })
    expect((await users(1)).body.data).toEqual(sums)
    const answer = await put('a')
    await arm({ kind: 'changed_key' })
    const [changed] = (await put('a')).body.data.products_response
    expect(changed.product_key).toMatch(/^9\d+$/)
    expect(changed.product_key).not.toBe(answer.body.data.products_response[0].product_key)
  })
  test('a user with an empty list is selected by the first identifier of its other lists', async () => {
    await arm({ kind: 'status', status: 500, apply: { only: [sha256('a')] } }, { path: '/12/accounts/' })
    await sandbox.call('POST', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users', {
      json: [{ operation_type: 'Update', params: { users: [{ email: [], phone_number: [sha256('a')] }] } }],
    })
    expect((await sandbox.control.audience()).members).toBe(1)
  })
  test.for([
    ['users', 'first:5', [1, 1]],
    ['identifiers', 'half', [2, 0]],
    ['operations', 'first:1', [1, 0]],
  ] as const)(
    'partial_apply reports at most the total, in the unit of the switch count_basis: %s',
    async ([count_basis, apply, counts]) => {
      await sandbox.control.switches({ audience_users_response: 'array', count_basis })
      await arm({ kind: 'partial_apply', apply }, { path: '/12/accounts/' })
      const { data } = (
        await sandbox.call('POST', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users', {
          json: ['a', 'b'].map((name) => ({
            operation_type: 'Update',
            params: { users: [{ email: count_basis === 'identifiers' ? [sha256(name), sha256(`${name}2`)] : [sha256(name)] }] },
          })),
        })
      ).body
      expect(data.map((one: Loose) => one.success_count)).toEqual(counts)
    },
  )
  test('partial_apply reports the products that it applied, in any order and with repeated ids', async () => {
    for (const [order, duplicates, ids] of [
      ['random', 'error', ['a', 'b', 'c', 'd', 'e', 'f']],
      ['request', 'absent', ['g', 'g', 'h', 'i']],
    ] as const) {
      await sandbox.control.switches({ product_order: order, duplicate_ids: duplicates })
      await arm({ kind: 'partial_apply', apply: 'first:3' })
      const results: Loose[] = (await put(...ids)).body.data.products_response
      const stored = (await sandbox.control.products()).map(({ id }) => id)
      for (const { id, status } of results) expect([id, status === 'CREATE_SUCCESS']).toEqual([id, stored.includes(id)])
      expect(results.filter(({ status }) => status === 'ERROR').length).toBeGreaterThan(0)
    }
  })
  test('results of deletes: failed_key fails every key, and long and alien_id name an unknown key without an id', async () => {
    const keys: string[] = (await put('a', 'b')).body.data.products_response.map((one: Loose) => one.product_key)
    const results = async (fault: Record<string, unknown>): Promise<Loose[]> => {
      await arm({ ...fault, apply: 'none' }, { method: 'DELETE' })
      return (await sandbox.call('DELETE', path, { json: { product_keys: keys } })).body.data.delete_products
    }
    expect((await results({ kind: 'failed_key' })).map((one) => one.failed_product_key)).toEqual(keys)
    expect((await results({ kind: 'long' })).map((one) => [one.product_key, one.id])).toEqual(
      [...keys, '999'].map((key) => [key, undefined]),
    )
    expect((await results({ kind: 'alien_id' })).map((one) => [one.product_key, one.id])).toEqual([
      ['999', undefined],
      [keys[1], undefined],
    ])
    expect(await results({ kind: 'short', by: 0 })).toHaveLength(2)
    expect(await results({ kind: 'short', by: 5 })).toHaveLength(0)
  })
  test.for(['counts', 'partial_apply'])('%s does not change an answer without counts', async (kind) => {
    for (const one of ['/12/accounts/18ce54d4x5t', '/12/accounts/18ce54d4x5t/campaigns']) {
      const { body } = await sandbox.call('GET', one)
      await arm({ kind }, { method: 'GET' })
      expect((await sandbox.call('GET', one)).body).toEqual(body)
    }
  })
  test.for(['short', 'counts', 'page_shift', 'cursor_repeats', 'partial_apply', 'warnings'])(
    '%s does not change an answer that is not JSON',
    async (kind) => {
      await arm({ kind }, { path: '/oauth/request_token' })
      const { status, text } = await sandbox.call('POST', '/oauth/request_token', { form: { oauth_callback: 'oob' } })
      expect([status, text.includes('oauth_callback_confirmed=true')]).toEqual([200, true])
      expect(await last()).toMatchObject({ fault: kind, status: 200 })
    },
  )
  test('ids beyond 2^53 keep their digits in a changed answer', async () => {
    const posts = '/12/accounts/18ce54d4x5t/tweets'
    const ids = async (): Promise<(string | undefined)[]> =>
      [...(await sandbox.call('GET', posts, { query: { tweet_type: 'PUBLISHED' } })).text.matchAll(/"id":(\d{16,})/g)].map(([, id]) => id)
    const exact = await ids()
    expect(exact.length).toBeGreaterThan(1)
    await arm({ kind: 'reorder' }, { method: 'GET' })
    expect(await ids()).toEqual(exact.toReversed())
    await arm({ kind: 'partial_apply' }, { method: 'GET' })
    expect(await ids()).toEqual(exact)
  })
  test('a product refused by id, errors in a 200, operation_errors', async () => {
    await arm({ kind: 'product_error', ids: ['b'] })
    expect((await put('a', 'b')).body.data.products_response.map(({ status }: Loose) => status)).toEqual(['CREATE_SUCCESS', 'ERROR'])
    await arm({ kind: 'errors_in_200' })
    expect((await put('z')).body).toMatchObject({ errors: [{ code: 'INTERNAL_ERROR' }] })
    await arm({ kind: 'operation_errors', indices: [1] }, { path: '/12/accounts/' })
    const answer = await users(2)
    expect([answer.status, answer.body.operation_errors.map((one: unknown[]) => one.length)]).toEqual([400, [0, 1]])
    await sandbox.control.switches({ operation_errors: 'flat' })
    await arm({ kind: 'operation_errors', indices: ['1'] }, { path: '/12/accounts/' })
    expect((await users(2)).body.operation_errors).toEqual([
      null,
      { code: 'INVALID_PARAMETER', message: 'invalid user', parameter: 'users' },
    ])
    await sandbox.control.switches({ ads_error_codes: 'integer' })
    await arm({ kind: 'operation_errors' }, { path: '/12/accounts/' })
    await arm({ kind: 'errors_in_200' })
    expect([(await users(1)).body.operation_errors[0].code, (await put('z')).body.errors[0].code]).toEqual([400, 500])
  })
})

const scheduled = '/12/accounts/18ce54d4x5t/scheduled_tweets'
const secondsFromNow = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d+/, '')

describe('holds and later', () => {
  test('a held request waits at its stage until it is released', async () => {
    await arm({ kind: 'hold', name: 'gate', stage: 'before_apply' })
    const held = put('a')
    await expect.poll(async () => (await sandbox.control.holds()).length).toBe(1)
    expect([await products(), (await last()).status]).toEqual([0, null])
    expect((await sandbox.control.holds())[0]).toMatchObject({ name: 'gate', method: 'PUT', stage: 'before_apply' })
    expect(await sandbox.control.release('gate')).toBe(1)
    expect((await held).status).toBe(200)
    expect(await products()).toBe(1)
  })
  test('two requests in flight for one key are a violation, for different keys are not', async () => {
    await arm({ kind: 'hold', name: 'gate' })
    const held = put('a', 'b')
    await expect.poll(async () => (await sandbox.control.holds()).length).toBe(1)
    await put('c')
    expect(await sandbox.control.violations()).toEqual([])
    await put('b')
    expect((await sandbox.control.violations()).map(({ rule }) => rule)).toEqual(['two_in_flight_for_one_key'])
    await sandbox.control.release('gate')
    await held
    expect((await sandbox.control.stats())['products.put']).toMatchObject({ requests: 3, most_in_flight: 2, items: 4, most_in_60_s: 3 })
  })
  test('a request that is dropped by a restore from before a reset is no longer in flight', async () => {
    const { id } = (await sandbox.control.request('POST', 'snapshot')).body
    await sandbox.control.reset()
    await arm({ kind: 'hold', name: 'gate' })
    const held = broken(put('a'))
    await expect.poll(async () => (await sandbox.control.holds()).length).toBe(1)
    await sandbox.control.request('POST', `restore/${id}`)
    await sandbox.control.release('gate')
    expect(await held).toBe('broken')
    await sandbox.call('PUT', path, { json: { products: [product('a', { price: '13.00 EUR' })] } })
    await put('a')
    expect(await sandbox.control.violations()).toEqual([])
    expect((await sandbox.control.stats())['products.put']).toMatchObject({ requests: 3, most_in_flight: 1 })
  })
  test('twice applies the request two times and answers as the second time', async () => {
    await arm({ kind: 'latency', ms: 1, apply: 'twice' })
    expect((await put('a')).body.data.products_response).toMatchObject([{ id: 'a', status: 'NO_CHANGE' }])
    await arm({ kind: 'latency', ms: 1, apply: 'twice' }, { path: '/12/accounts/' })
    expect((await users(3)).body.data).toMatchObject({ success_count: 3, total_count: 3 })
    expect((await sandbox.control.audience()).members).toBe(3)
  })
  test('twice answers a refusal before the parameters as the first time', async () => {
    await arm({ kind: 'latency', ms: 1, apply: 'twice' })
    expect((await sandbox.call('PUT', path, { form: { id: 'a' } })).status).toBe(400)
    expect(await last()).toMatchObject({ applied: false, applied_at: null })
  })
  test('later applies after the answer', async () => {
    await arm({ kind: 'status', status: 500, apply: 'later:20' })
    expect((await put('a')).status).toBe(500)
    await expect.poll(products).toBe(1)
  })
  test.for(['before_read', 'before_apply'])('a reset drops a request that waits at the stage %s', async (stage) => {
    await arm({ kind: 'hold', name: 'gate', stage })
    const held = broken(put('a'))
    await expect.poll(async () => (await sandbox.control.holds()).length).toBe(1)
    await sandbox.control.reset()
    expect(await held).toBe('broken')
    expect([await products(), await sandbox.control.ledger(), await sandbox.control.violations()]).toEqual([0, [], []])
  })
  test('a reset drops what was to be applied later', async () => {
    await arm({ kind: 'status', status: 500, apply: 'later:60000' })
    expect((await put('a')).status).toBe(500)
    await sandbox.control.reset()
    expect((await put('b')).status).toBe(200)
    expect((await sandbox.control.products()).map(({ id }) => id)).toEqual(['b'])
  })
  test.for(['none', 'half', 'first:0', { only: ['a'] }])('apply %j of a request without entries changes nothing', async (apply) => {
    const campaigns = '/12/accounts/18ce54d4x5t/campaigns'
    const all = async (): Promise<Loose[]> => (await sandbox.call('GET', campaigns, { query: { count: 1000 } })).body.data
    const create = (): Promise<CallResult> => sandbox.call('POST', campaigns, { query: { funding_instrument_id: 'lygyi', name: 'Spring' } })
    const before = await all()
    await arm({ kind: 'warnings', apply }, { method: 'POST' })
    expect((await create()).body.data.name).toBe('Spring')
    expect([await all(), (await sandbox.control.ledger()).at(-2).applied]).toEqual([before, false])
    await create()
    expect(await all()).toHaveLength(before.length + 1)
  })
  test('stale shows no state from before it was armed, also after an earlier stale fault', async () => {
    const ids = async (): Promise<string[]> => (await sandbox.call('GET', path)).body.data.map(({ id }: Loose) => id)
    await arm({ kind: 'stale' }, { path, method: 'GET' })
    await put('a')
    expect(await ids()).toEqual([])
    await put('b')
    await arm({ kind: 'stale' }, { path, method: 'GET' })
    expect(await ids()).toEqual(['a', 'b'])
  })
  test('stale shows no state from before it was armed while an earlier stale fault is armed', async () => {
    let now = Date.now()
    await using own = await withSandbox({ clock: { ...systemClock, now: () => now } })
    const add = (id: string): Promise<CallResult> => own.call('PUT', path, { json: { products: [product(id)] } })
    const ids = async (): Promise<string[]> => (await own.call('GET', path)).body.data.map(({ id }: Loose) => id)
    await own.control.fault({ path: '/2/' }, { kind: 'stale' }, 'always')
    await add('a')
    now += 1000
    await own.control.fault({ path }, { kind: 'stale' }, 'always')
    expect(await ids()).toEqual(['a'])
    await add('b')
    expect(await ids()).toEqual(['a'])
  })
  test('stale shows changes by the clock only after its lag', async () => {
    const statuses = async (): Promise<string[]> =>
      (await sandbox.call('GET', scheduled)).body.data.map(({ scheduled_status: status }: Loose) => status)
    await sandbox.call('POST', scheduled, { query: { as_user_id: '1001', text: 'Soon', scheduled_at: secondsFromNow(60) } })
    await sandbox.call('POST', scheduled, { query: { as_user_id: '1001', text: 'Later', scheduled_at: secondsFromNow(120) } })
    const before = await statuses()
    const id = await arm({ kind: 'stale' }, { path: scheduled }, 'always')
    await sandbox.control.advance(90)
    await sandbox.control.advance(90)
    expect(await statuses()).toEqual(before)
    await sandbox.control.request('DELETE', `faults/${id}`)
    expect((await statuses()).filter((status) => status === 'SUCCEEDED')).toHaveLength(2)
  })
  test('stale shows changes by the control API only after its lag', async () => {
    const features = '/12/accounts/18ce54d4x5t/features'
    const keys = async (): Promise<string[]> => (await sandbox.call('GET', features)).body.data
    const before = await keys()
    await sandbox.control.request('POST', 'snapshot')
    await sandbox.control.request('PUT', 'features', { account_id: '18ce54d4x5t', add: ['ONE'] })
    const id = await arm({ kind: 'stale' }, { path: features }, 'always')
    await sandbox.control.request('PUT', 'features', { account_id: '18ce54d4x5t', add: ['TWO'] })
    expect(await keys()).toEqual([...before, 'ONE'])
    await sandbox.control.request('DELETE', `faults/${id}`)
    expect(await keys()).toEqual([...before, 'ONE', 'TWO'])
    await arm({ kind: 'stale' }, { path: features }, 'always')
    await sandbox.control.request('POST', 'restore')
    expect(await keys()).toEqual([...before, 'ONE', 'TWO'])
    await sandbox.control.clearFaults()
    expect(await keys()).toEqual(before)
  })
  test('stale shows the state before a restore from before a reset', async () => {
    const ids = async (): Promise<string[]> => (await sandbox.call('GET', path)).body.data.map(({ id }: Loose) => id)
    const { id } = (await sandbox.control.request('POST', 'snapshot')).body
    await sandbox.control.reset()
    await put('a')
    await arm({ kind: 'stale' }, { path })
    await sandbox.control.request('POST', `restore/${id}`)
    expect(await ids()).toEqual(['a'])
    expect(await ids()).toEqual([])
  })
  test.for(['first:0', { only: ['other'] }])('apply %j of which no entry is applied is not applied in the ledger', async (apply) => {
    await arm({ kind: 'latency', ms: 1, apply })
    expect((await put('a', 'b', 'c')).status).toBe(200)
    expect([await products(), await last()]).toMatchObject([0, { applied: false, applied_at: null }])
    await arm({ kind: 'latency', ms: 1, apply: { only: ['b'] } })
    await put('a', 'b', 'c')
    expect([await products(), await last()]).toMatchObject([1, { applied: true, applied_at: expect.any(String) }])
  })
  test.for(['first:0', { only: ['other'] }])(
    'apply %j of a refused upload of which the switch partial_apply applies no entry is not applied in the ledger',
    async (apply) => {
      await sandbox.control.switches({ partial_apply: 'on' })
      const users = '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users'
      const operations = ['a', 'b'].map((text) => ({ operation_type: 'Update', params: { users: [{ email: [sha256(text)] }] } }))
      const upload = (): Promise<CallResult> =>
        sandbox.call('POST', users, { json: [...operations, { operation_type: 'Update', params: {} }] })
      const members = async (): Promise<number> => (await sandbox.control.audience()).members
      await arm({ kind: 'latency', ms: 1, apply }, { method: 'POST' })
      expect((await upload()).status).toBe(400)
      expect([await members(), await last()]).toMatchObject([0, { applied: false, applied_at: null }])
      await arm({ kind: 'latency', ms: 1, apply: { only: [sha256('b')] } }, { method: 'POST' })
      expect((await upload()).status).toBe(400)
      expect([await members(), await last()]).toMatchObject([1, { applied: true, applied_at: expect.any(String) }])
    },
  )
  test('the removal of one fault keeps the past states of another', async () => {
    const reads = { path, method: 'GET' }
    await arm({ kind: 'stale', lag_ms: 60_000 }, reads, 'always')
    const other = await arm({ kind: 'html' }, { path: '/12/nothing' })
    await put('a')
    await sandbox.control.request('DELETE', `faults/${other}`)
    expect((await sandbox.call('GET', path)).body.data).toEqual([])
  })
  test('a stale read checks the access of a user who was added later', async () => {
    const campaigns = '/12/accounts/18ce54d4x5t/campaigns'
    await arm({ kind: 'stale', lag_ms: 60_000 }, { method: 'GET' }, 'always')
    await put('a')
    const addUser = async (fields: object): Promise<{ accessToken: string; accessTokenSecret: string }> => {
      const { oauth_token: accessToken, oauth_token_secret: accessTokenSecret } = (await sandbox.control.request('POST', 'users', fields))
        .body
      return { accessToken, accessTokenSecret }
    }
    const status = async (user: { accessToken: string; accessTokenSecret: string }): Promise<number> =>
      (await sandbox.call('GET', campaigns, { credentials: { ...sandboxCredentials, ...user } })).status
    expect(await status(await addUser({ screen_name: 'without' }))).toBe(403)
    expect(await status(await addUser({ screen_name: 'with', accounts: [{ id: '18ce54d4x5t', role: 'AD_MANAGER' }] }))).toBe(200)
  })
})
