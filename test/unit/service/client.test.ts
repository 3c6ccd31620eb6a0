/** Requests of the client, and its results for answers of a scripted service. */
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { CallError, createClient, RateLimitedError, RepeatingCursorError, UnavailableError } from '../../../src/service/client/index.ts'
import { answerText, startRawServer } from './rawServer.ts'
import { systemClock, type Clock } from '../../../src/clock.ts'
import { serveScript, type Script, type ScriptedService } from './scriptedService.ts'

const open: ScriptedService[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})
async function serve(...script: Parameters<typeof serveScript>): Promise<ScriptedService> {
  const service = await serveScript(...script)
  open.push(service)
  return service
}

const page = (items: unknown[], next: string | null | undefined): Script => ({
  body: { request: { params: {} }, data: items, ...(next === undefined ? {} : { next_cursor: next }) },
})

describe('lists', () => {
  test.for([[null], [undefined], ['']] as const)('end where next_cursor is %s', async ([end]) => {
    const service = await serve([page([{ id: 'a' }], 'c1'), page([{ id: 'b' }], end)])
    expect((await service.client().accounts.list().toArray()).map(({ id }) => id)).toEqual(['a', 'b'])
    expect(service.asked).toHaveLength(2)
  })

  test('send all other parameters again with each cursor', async () => {
    const service = await serve([page([], 'c/1+='), page([], null)])
    await service.client().accounts.list({ count: 7, q: 'a b', with_deleted: true }).toArray()
    expect(service.asked.map(({ url }) => url)).toEqual([
      '/12/accounts?count=7&q=a%20b&with_deleted=true',
      expect.stringMatching(/^\/12\/accounts\?(?=.*count=7)(?=.*q=a%20b)(?=.*with_deleted=true)(?=.*cursor=c%2F1%2B%3D)/),
    ])
  })

  test('request the total with the first page only, because a cursor excludes it', async () => {
    const service = await serve([{ body: { data: [], next_cursor: 'c', total_count: 12 } }, page([], null)])
    const totals = []
    for await (const { totalCount } of service.client().accounts.list({ with_total_count: true }).pages()) totals.push(totalCount)
    expect(totals).toEqual([12, undefined])
    expect(service.asked[1]?.url).not.toContain('with_total_count')
  })

  test('send nothing before they are iterated, and stop when the iteration ends', async () => {
    const service = await serve([page([{ id: 'a' }, { id: 'b' }], 'c')])
    const list = service.client().accounts.list()
    expect(service.asked).toHaveLength(0)
    for await (const _ of list) break
    expect(service.asked).toHaveLength(1)
  })

  test('end with an error if a cursor is repeated', async () => {
    const service = await serve([page([{ id: 'a' }], 'c1'), page([{ id: 'b' }], 'c2'), page([{ id: 'c' }], 'c1')])
    await expect(service.client().accounts.list().toArray()).rejects.toThrow(RepeatingCursorError)
    expect(service.asked).toHaveLength(3)
  })

  test('begin again once if a cursor has expired, and yield nothing twice', async () => {
    const expired: Script = { status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', parameter: 'cursor', message: 'x' }] } }
    const service = await serve([
      page([{ id: 'a' }, { id: 'b' }], 'c1'),
      expired,
      page([{ id: 'a' }, { id: 'n' }, { id: 'b' }], 'c2'),
      page([{ id: 'c' }], null),
    ])
    expect((await service.client().accounts.list().toArray()).map(({ id }) => id)).toEqual(['a', 'b', 'n', 'c'])
    const twice = await serve([page([{ id: 'a' }], 'c1'), expired, page([{ id: 'a' }], 'c1'), expired])
    await expect(twice.client().accounts.list().toArray()).rejects.toMatchObject({ code: 'SERVICE_INVALID_PARAMETER' })
  })
})

describe('answers in every tolerated form', () => {
  const users = {
    account_id: '18ce54d4x5t',
    custom_audience_id: '1nmth',
    body: [{ operation_type: 'Update', params: { users: [] } }],
  } as const
  test.for([
    ['an array of one', [{ success_count: 1, total_count: 1 }]],
    ['an object', { success_count: 1, total_count: 1 }],
  ])('a batch result as %s', async ([, data]) => {
    const service = await serve([{ body: { data } }])
    expect(await service.client().audiences.users(users)).toEqual([{ success_count: 1, total_count: 1 }])
  })

  test.for([
    ['alone', { id: 'x' }],
    ['in an array of one', [{ id: 'x' }]],
  ])('a record %s', async ([, data]) => {
    const service = await serve([{ body: { data, next_cursor: null } }])
    expect(await service.client().accounts.get({ account_id: 'x' })).toEqual({ id: 'x' })
  })

  test('whole numbers beyond 2^53 keep every digit', async () => {
    const service = await serve([{ body: '{"data":{"id":878479925472251906,"user":{"id":12},"price":1.5,"text":"878479925472251906"}}' }])
    const post = await service
      .client()
      .callByName('advertiserPosts.create', { account_id: 'a', as_user_id: 878479925472251907n, text: 'hello' })
    expect(post.data).toEqual({ id: 878479925472251906n, user: { id: 12 }, price: 1.5, text: '878479925472251906' })
    expect(service.asked[0]?.url).toContain('as_user_id=878479925472251907')
  })

  test('an empty text of a product is null', async () => {
    const service = await serve([page([{ id: 'a', brand: '', gtin: null, mpn: 'm' }], null)])
    expect(await service.client().products.list({ product_catalog_id: '4001' }).toArray()).toEqual([
      { id: 'a', brand: null, gtin: null, mpn: 'm' },
    ])
  })

  test('form-encoded answers of the sign-in, with any content type', async () => {
    const service = await serve([
      {
        body: 'oauth_token=t%2B&oauth_token_secret=s&oauth_callback_confirmed=true',
        headers: { 'content-type': 'text/html;charset=utf-8' },
      },
    ])
    expect(await service.client().oauth.requestToken({ oauth_callback: 'oob' })).toEqual({
      oauth_token: 't+',
      oauth_token_secret: 's',
      oauth_callback_confirmed: 'true',
    })
  })

  test('a JSON answer without a content type, with a byte order mark and unknown keys', async () => {
    const service = await serve([
      {
        body: '\uFEFF {"data":[{"id":"a","attribute":"custom_field_5"}],"data_type":"account","next_cursor":null}',
        headers: { 'content-type': 'text/plain' },
      },
    ])
    expect(await service.client().accounts.list().toArray()).toEqual([{ id: 'a', attribute: 'custom_field_5' }])
  })

  test('keys, parameters and headers in the service’s own spelling', async () => {
    const service = await serve([{ body: { data: [{ id: 'a', real_word: ['x'] }] } }])
    const client = service.client({ config: { names: { svc_auth_access_type: 'real_type', service_id: 'real_word' } } })
    expect(await client.accounts.list().toArray()).toEqual([{ id: 'a', service_id: ['x'] }])
    await client.oauth.requestToken({ oauth_callback: 'oob', svc_auth_access_type: 'read' })
    expect(service.asked[1]?.url).toBe('/oauth/request_token?real_type=read')
    await client.audiences.users({ ...users, body: [{ operation_type: 'Update', params: { users: [{ service_id: ['service_id'] }] } }] })
    expect(service.asked[2]?.body).toBe('[{"operation_type":"Update","params":{"users":[{"real_word":["service_id"]}]}}]')
  })
})

test('a gzip file of statistics is decompressed; any other body is an error', async () => {
  const packed = gzipSync('{"data_type":"stats","time_series_length":1,"data":[{"id":"9cqi0"}]}')
  let cut = 0
  const server = await startRawServer((socket) => {
    const body = packed.subarray(0, packed.length - cut)
    socket.write(Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`), body]))
  })
  const client = (await serve([{}])).client({ config: { adsBaseUrl: server.url } })
  expect(await client.statisticsJobs.file({ file: 'a.json.gz' })).toEqual([{ id: '9cqi0' }])
  cut = 4
  await expect(client.statisticsJobs.file({ file: 'a.json.gz' })).rejects.toMatchObject({ code: 'SERVICE_ANSWER_UNREADABLE' })
  await server.close()
})

test.for(['oauth.authorize', 'oauth.authenticate'])('%s is a page for a browser and cannot be called', async (name) => {
  const client = (await serve([{}])).client()
  await expect(client.callByName(name, { oauth_token: 't' })).rejects.toMatchObject({
    code: 'CALL_INVALID',
    hint: expect.stringContaining('authorizeUrl'),
  })
  expect(Object.keys(client.oauth)).not.toContain(name.slice('oauth.'.length))
})

describe('waits and retries', () => {
  test('each 429 is waited for until the later of reset and Retry-After', async () => {
    const reset = String(Date.UTC(2026, 2, 1, 12) / 1000 + 100)
    const limited: Script = { status: 429, headers: { 'retry-after': '30', 'x-rate-limit-reset': reset, 'x-rate-limit-remaining': '0' } }
    const service = await serve([limited, limited, { body: { data: { id: 'a', name: 'n' } } }])
    expect(await service.client().catalogs.create({ name: 'n' })).toEqual({ id: 'a', name: 'n' })
    expect(service.waits).toEqual([100_000, 30_000])
  })

  test('a refusal after an attempt without a clear answer does not say that the call had no effect', async () => {
    const refusal: Script = { status: 403, body: { errors: [{ code: 'ACTION_NOT_ALLOWED', message: 'no' }] } }
    const update = (script: Script[]) =>
      serve(script).then((service) => service.client().catalogs.update({ product_catalog_id: '1', name: 'n' }))
    await expect(update([refusal])).rejects.toMatchObject({ code: 'SERVICE_FORBIDDEN', notApplied: true })
    await expect(update([{ status: 503 }, refusal])).rejects.toMatchObject({
      code: 'SERVICE_FORBIDDEN',
      notApplied: false,
      hint: expect.stringContaining('An earlier attempt may have had an effect.'),
    })
    const tooLate: Script = { status: 503, headers: { 'retry-after': '900' } }
    await expect(update([tooLate, { status: 429, headers: { 'retry-after': '900' } }])).rejects.toMatchObject({ notApplied: false })
  })

  test('a call that ends before its second attempt does not say that nothing was sent', async () => {
    const service = await serve([{ status: 503, headers: { 'retry-after': '30' } }])
    const update = async (duringWait: () => void, signal?: AbortSignal) => {
      const clock = { now: () => 0, monotonic: () => 0, sleep: async () => duringWait() }
      const client = service.client({ client: { clock } })
      return client.catalogs.update({ product_catalog_id: '1', name: 'n' }, signal === undefined ? {} : { signal })
    }
    const controller = new AbortController()
    await expect(update(() => controller.abort(), controller.signal)).rejects.toMatchObject({
      code: 'SERVICE_RATE_LIMITED',
      message: 'the last attempt was not sent: the service requests a wait until 1970-01-01T00:00:30.000Z',
      notApplied: false,
    })
    expect(service.asked).toHaveLength(1)
    const cancelled = new AbortController()
    cancelled.abort()
    await expect(update(() => undefined, cancelled.signal)).rejects.toThrow(/^nothing was sent: /)
    expect(service.asked).toHaveLength(1)
  })

  test('a second attempt that cannot be sent does not say that nothing was sent', async () => {
    const server = await startRawServer((socket) => void socket.end(answerText(503, '{}', { connection: 'close' })))
    const clock = { now: () => 0, monotonic: () => 0, sleep: () => server.close() }
    const client = (await serve([{}])).client({ config: { adsBaseUrl: server.url }, client: { clock } })
    await expect(client.catalogs.update({ product_catalog_id: '1', name: 'n' })).rejects.toMatchObject({
      code: 'SERVICE_UNREACHABLE',
      message: expect.stringMatching(/^the last attempt was not sent: /),
      notApplied: false,
    })
  })

  test('a 503 with Retry-After delays every later call of the same family, and no other', async () => {
    const service = await serve([
      { status: 503, headers: { 'retry-after': '30' } },
      { body: { data: [], total_count: 0 } },
      { body: { data: { id: 'b', name: 'n' } } },
    ])
    const client = service.client()
    await expect(client.catalogs.create({ name: 'n' })).rejects.toThrow(UnavailableError)
    await client.accounts.list().toArray()
    expect(service.waits).toEqual([])
    await client.catalogs.create({ name: 'n' })
    expect(service.waits).toEqual([30_000])
    expect(service.asked).toHaveLength(3)
  })

  test('a call that may not wait is not sent while the service requests a wait', async () => {
    const service = await serve([{ status: 503, headers: { 'retry-after': '30' } }])
    const client = service.client()
    await expect(client.catalogs.create({ name: 'n' })).rejects.toThrow(UnavailableError)
    await expect(client.catalogs.create({ name: 'n' }, { retry: false })).rejects.toThrow(RateLimitedError)
    expect(service.asked).toHaveLength(1)
  })

  test('a requested wait is not longer if the clock of this machine is set back meanwhile', async () => {
    const service = await serve([{ status: 503, headers: { 'retry-after': '30' } }, { body: { data: { id: 'b', name: 'n' } } }])
    const waits: number[] = []
    let [wall, steady] = [Date.UTC(2026, 2, 1, 12), 0]
    const sleep = async (ms: number) => {
      waits.push(ms)
      wall += ms
      steady += ms
    }
    const client = service.client({ client: { clock: { now: () => wall, monotonic: () => steady, sleep } } })
    await expect(client.catalogs.create({ name: 'n' })).rejects.toThrow(UnavailableError)
    wall -= 86_400_000
    await client.catalogs.create({ name: 'n' })
    expect(waits).toEqual([30_000])
  })

  test('a 503 with routine quota headers and requests left requests no wait', async () => {
    const reset = String(Date.UTC(2026, 2, 1, 12) / 1000 + 840)
    const routine = { 'x-rate-limit-limit': '1500', 'x-rate-limit-remaining': '1499', 'x-rate-limit-reset': reset }
    const service = await serve([{ status: 503, headers: { ...routine, 'retry-after': 'soon' } }, page([], null)])
    await service.client().accounts.list().toArray()
    expect(service.waits).toEqual([500])
  })

  test.for(['930', '7200'])('a requested wait of %s s is cut to 15 minutes, and the call is repeated after it', async (seconds) => {
    const limited: Script = { status: 429, headers: { 'retry-after': seconds } }
    const service = await serve([limited, page([], null)])
    await service.client().accounts.list().toArray()
    expect(service.waits).toEqual([900_000])
    const always = await serve([limited])
    await expect(always.client().accounts.list().toArray()).rejects.toThrow(RateLimitedError)
    expect(always.waits).toEqual([900_000])
  })

  test('a 503 of a read is retried with growing waits, at most eight times, each time with a new signature', async () => {
    const service = await serve([{ status: 503 }])
    await expect(service.client().accounts.list().toArray()).rejects.toThrow(UnavailableError)
    expect(service.waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000])
    const nonces = service.asked.map(({ headers }) => /oauth_nonce="(\w+)"/.exec(headers.authorization ?? '')?.[1])
    expect(new Set(nonces).size).toBe(8)
  })

  test('a 503 of a call that may not be repeated is returned immediately', async () => {
    const service = await serve([{ status: 503 }])
    await expect(service.client().catalogs.create({ name: 'n' })).rejects.toThrow(UnavailableError)
    expect(service.asked).toHaveLength(1)
  })

  test('`retry: false` sends once', async () => {
    const service = await serve([{ status: 503 }])
    await expect(service.client().call('accounts.list', {}, { retry: false })).rejects.toThrow(UnavailableError)
    expect(service.asked).toHaveLength(1)
  })

  test('a request with a refused signature is sent once more, but only after a correction of the clock', async () => {
    const refused = { status: 401, body: { errors: [{ code: 'UNAUTHORIZED_ACCESS', message: 'x' }] } }
    const service = await serve([{ ...refused, headers: { date: 'Sun, 01 Mar 2026 13:00:00 GMT' } }, page([{ id: 'a' }], null)])
    expect(await service.client().accounts.list().toArray()).toHaveLength(1)
    const right = await serve([{ ...refused, headers: { date: 'Sun, 01 Mar 2026 12:00:05 GMT' } }])
    await expect(right.client().accounts.list().toArray()).rejects.toMatchObject({ code: 'SERVICE_BAD_SIGNATURE' })
    expect(right.asked).toHaveLength(1)
  })

  test('all concurrent requests that were signed with the wrong clock are sent once more', async () => {
    const right = Date.UTC(2026, 2, 1, 13)
    const waiting: (() => void)[] = []
    const server = await startRawServer((socket, head) => {
      const timestamp = Number(/oauth_timestamp="(\d+)"/.exec(head)?.[1]) * 1000
      if (timestamp === right) return void socket.write(answerText(200, '{"data":[]}', { date: new Date(right).toUTCString() }))
      waiting.push(() => socket.write(answerText(401, '{}', { date: new Date(right).toUTCString() })))
      if (waiting.length === 8) for (const answer of waiting) answer()
    })
    const client = (await serve([{}])).client({ config: { adsBaseUrl: server.url } })
    expect(await Promise.all(Array.from({ length: 8 }, () => client.accounts.list().toArray()))).toEqual(Array(8).fill([]))
    await server.close()
  })
})

describe('the app-only token', () => {
  const token = (name: string): Script => ({ body: { token_type: 'bearer', access_token: name } })
  const isToken = (url: string) => url === '/oauth2/token'

  test('is fetched once for all waiting calls, with encoded key and secret, and sent unchanged', async () => {
    const service = await serve(({ url }) => (isToken(url) ? token('AAAA%2FAAA%3D') : { body: { data: [] } }))
    const client = service.client({ config: { consumerKey: 'k:1', consumerSecret: 's/2' } })
    await Promise.all([client.webhooks.list(), client.webhooks.list(), client.posts.lookup({ ids: ['1'] })])
    const asked = service.asked.filter(({ url }) => isToken(url))
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({ method: 'POST', body: 'grant_type=client_credentials' })
    expect(Buffer.from(asked[0]?.headers.authorization?.slice(6) ?? '', 'base64').toString()).toBe('k%3A1:s%2F2')
    expect(service.asked.filter(({ url }) => !isToken(url)).map(({ headers }) => headers.authorization)).toEqual(
      Array(3).fill('Bearer AAAA%2FAAA%3D'),
    )
  })

  test('is renewed once after it was invalidated, and the call is sent again', async () => {
    let made = 0
    const service = await serve(({ url, headers }) =>
      isToken(url)
        ? token(`t${++made}`)
        : headers.authorization === 'Bearer t1'
          ? { status: 401, body: { errors: [{ code: 89, message: 'x' }] } }
          : { body: { data: [{ id: '1' }] } },
    )
    expect(await service.client().webhooks.list()).toEqual({ data: [{ id: '1' }] })
    expect(made).toBe(2)
  })

  test('is awaited by a call until that is cancelled; the request ends with the last call that waits', async () => {
    const service = await serve([{ status: 429, headers: { 'retry-after': '600' } }])
    const aborted: (AbortSignal | undefined)[] = []
    const slept = Promise.withResolvers<void>()
    const clock: Clock = {
      now: () => Date.UTC(2026, 2, 1, 12),
      monotonic: () => 0,
      sleep: (_ms, signal) => {
        aborted.push(signal)
        slept.resolve()
        return new Promise((resolve) => signal?.addEventListener('abort', () => resolve()))
      },
    }
    const client = service.client({ client: { clock } })
    const [first, second] = [new AbortController(), new AbortController()]
    const calls = [first, second].map(({ signal }) => client.webhooks.list({}, { signal }))
    await slept.promise
    first.abort()
    await expect(calls[0]).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE', notApplied: true })
    expect(aborted.map((signal) => signal?.aborted)).toEqual([false])
    second.abort()
    await expect(calls[1]).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE' })
    expect(aborted.map((signal) => signal?.aborted)).toEqual([true])
    await expect(client.webhooks.list({}, { signal: first.signal })).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE' })
    expect(service.asked.map(({ url }) => url)).toEqual(['/oauth2/token'])
  })

  test('is dropped after a refusal also by a call without retries, so that the next call requests another', async () => {
    const service = await serve(({ url }) => (isToken(url) ? token('t') : { status: 401, body: { errors: [{ code: 89, message: 'x' }] } }))
    const client = service.client()
    for (let i = 0; i < 2; i += 1)
      await expect(client.webhooks.list({}, { retry: false })).rejects.toMatchObject({ code: 'SERVICE_TOKEN_INVALID' })
    expect(service.asked.map(({ url }) => url)).toEqual(['/oauth2/token', '/2/webhooks', '/oauth2/token', '/2/webhooks'])
  })

  test('is no reason to repeat a call with the credentials of the app', async () => {
    const service = await serve([{ status: 401, body: { errors: [{ code: 89, message: 'x' }] } }])
    await expect(service.client().oauth2.invalidateToken({ access_token: 't' })).rejects.toMatchObject({ code: 'SERVICE_TOKEN_INVALID' })
    expect(service.asked).toHaveLength(1)
  })

  test('is requested at most twice if each new one is refused too', async () => {
    const service = await serve(({ url }) => (isToken(url) ? token('t') : { status: 401, body: { errors: [{ code: 89, message: 'x' }] } }))
    await expect(service.client().webhooks.list()).rejects.toMatchObject({ code: 'SERVICE_TOKEN_INVALID' })
    expect(service.asked.filter(({ url }) => isToken(url))).toHaveLength(2)
  })

  test('is requested once by a call without retries', async () => {
    const service = await serve([{ status: 503, body: {} }])
    await expect(service.client().webhooks.list({}, { retry: false })).rejects.toThrow(UnavailableError)
    expect(service.asked.map(({ url }) => url)).toEqual(['/oauth2/token'])
  })

  test('is not requested again for a minute after code 99', async () => {
    const service = await serve([{ status: 403, body: { errors: [{ code: 99, label: 'authenticity_token_error', message: 'x' }] } }])
    const client = service.client()
    for (let i = 0; i < 3; i += 1) await expect(client.webhooks.list()).rejects.toMatchObject({ code: 'SERVICE_BEARER_REFUSED' })
    expect(service.asked).toHaveLength(1)
  })
})

describe('sends', () => {
  test('the configured version in advertising paths, and in no others', async () => {
    const service = await serve([page([], null)])
    const client = service.client({ config: { adsVersion: '13' } })
    await client.accounts.list().toArray()
    await client.audiencePermissions.list({ account_id: 'a', tailored_audience_id: 'b' }).toArray()
    expect(service.asked.map(({ url }) => url)).toEqual(['/13/accounts', '/5/accounts/a/tailored_audiences/b/permissions'])
  })

  test('lists by commas, times without milliseconds, null as an empty value, ids encoded in the path', async () => {
    const service = await serve([{ body: { data: {} } }])
    const client = service.client()
    await client.lineItems.update({
      account_id: 'a b',
      line_item_id: '1',
      end_time: null,
      start_time: new Date('2027-01-15T12:00:00.123Z'),
    })
    expect(service.asked[0]?.url).toMatch(/^\/12\/accounts\/a%20b\/line_items\/1\?/)
    expect(service.asked[0]?.url).toMatch(/[?&]end_time=(&|$)/)
    expect(service.asked[0]?.url).toContain('start_time=2027-01-15T12%3A00%3A00Z')
  })

  test('the callback and the verifier among the protocol parameters', async () => {
    const service = await serve([{ body: 'oauth_token=t&oauth_token_secret=s' }])
    await service.client().oauth.requestToken({ oauth_callback: 'http://127.0.0.1:9/back' })
    expect(service.asked[0]?.headers.authorization).toContain('oauth_callback="http%3A%2F%2F127.0.0.1%3A9%2Fback"')
    expect(service.asked[0]?.headers.authorization).not.toContain('oauth_token=')
    await service.client().oauth.accessToken({ oauth_token: 'rt', oauth_verifier: '123' }, { tokenSecret: 'rs' })
    expect(service.asked[1]?.headers.authorization).toMatch(/oauth_token="rt".*oauth_verifier="123"/)
  })

  test('an entry of a list with a comma, which would become two entries, throws before a request', async () => {
    const service = await serve([])
    const search = (keyword: string) =>
      service.client().keywords.search({ granularity: 'DAY', keywords: [keyword], start_time: '2026-01-01' })
    await expect(search('fish, chips')).rejects.toThrow('keywords has an entry with a comma')
    expect(service.asked).toHaveLength(0)
  })

  test.for([
    ['an unknown parameter', { nope: 1 }, 'has no parameter nope'],
    ['a missing one', {}, 'is required'],
    ['a missing one behind a name in the prototype', { __proto__: { name: 'x' } }, 'is required'],
    ['a number that is already rounded', { name: 'n', user_id: 2 ** 60 }, 'too large'],
    ['no number', { name: 'n', user_id: Number.NaN }, 'is not a number'],
  ] as const)('nothing for %s', async ([, params, message]) => {
    const service = await serve([{}])
    const call = service.client().callByName('catalogs.create', params)
    await expect(call).rejects.toThrow(CallError)
    await expect(call).rejects.toThrow(message)
    expect(service.asked).toHaveLength(0)
  })

  test('times and large ids in JSON bodies as in queries', async () => {
    const service = await serve([{ body: { data: [] } }])
    const upload = (expires_at: unknown, id?: unknown) =>
      service.client().callByName('audiences.users', {
        account_id: 'a',
        custom_audience_id: 'b',
        body: [{ operation_type: 'Update', params: { users: [{ id }], expires_at } }],
      })
    await upload(new Date('2027-01-15T12:00:00.123Z'), 2n ** 60n)
    const users = '[{"id":1152921504606846976}]'
    expect(service.asked[0]?.body).toBe(`[{"operation_type":"Update","params":{"users":${users},"expires_at":"2027-01-15T12:00:00Z"}}]`)
    await expect(upload(new Date(Number.NaN))).rejects.toThrow('expires_at is not a time')
    await expect(upload(null, 2 ** 60)).rejects.toThrow('id is too large')
    await expect(upload(null, Number.NaN)).rejects.toThrow(CallError)
    expect(service.asked).toHaveLength(1)
  })

  test('no OAuth signature where the endpoint takes key and secret only', async () => {
    const service = await serve([{ body: { token_type: 'bearer', access_token: 't' } }])
    await service.client().oauth2.token({ grant_type: 'client_credentials' }, { context: 'user' })
    expect(service.asked[0]?.headers.authorization).toMatch(/^Basic /)
  })

  test('calls of the service’s own sandbox to its address, or to the core host if advertising is there too', async () => {
    const elsewhere = 'http://127.0.0.1:9'
    const service = await serve([{ body: { data: { id: 'a', deleted: true } } }])
    for (const config of [{ adsBaseUrl: elsewhere }, { adsBaseUrl: `${service.url}/`, adsSandboxBaseUrl: undefined }])
      expect(await service.client({ config }).accounts.delete({ account_id: 'a' })).toEqual({ id: 'a', deleted: true })
    const other = await serve([{}])
    const client = service.client({ config: { baseUrl: elsewhere, adsBaseUrl: other.url, adsSandboxBaseUrl: undefined } })
    await expect(client.accounts.delete({ account_id: 'a' })).rejects.toMatchObject({
      code: 'CALL_INVALID',
      hint: expect.stringContaining('adsSandboxBaseUrl'),
    })
    expect([service.asked.length, other.asked.length]).toEqual([2, 0])
  })

  test.for([
    ['', 'product_catalog_id is required'],
    ['.', 'product_catalog_id must not be "."'],
    ['..', 'product_catalog_id must not be ".."'],
  ] as const)('nothing for the path segment "%s"', async ([id, message]) => {
    const service = await serve([{}])
    const call = service.client().catalogs.delete({ product_catalog_id: id })
    await expect(call).rejects.toThrow(CallError)
    await expect(call).rejects.toThrow(message)
    expect(service.asked).toHaveLength(0)
  })

  test('nothing for an unknown parameter of an endpoint that takes an array: the hint names `body`', async () => {
    const service = await serve([{}])
    await expect(service.client().callByName('audiences.users', { account_id: 'a', operation_type: 'Update' })).rejects.toMatchObject({
      code: 'CALL_INVALID',
      hint: 'Its parameters: required: account_id, custom_audience_id, body; optional: none.',
    })
    expect(service.asked).toHaveLength(0)
  })

  test('makes the address of the page where a user allows the application', async () => {
    const service = await serve([{}])
    expect(service.client().authorizeUrl({ oauth_token: 't/1', force_login: true })).toBe(
      `${service.url}/oauth/authorize?oauth_token=t%2F1&force_login=true`,
    )
  })
})

test('an address or version that is undefined has its default', async () => {
  const service = await serve([page([], null)])
  // Without `exactOptionalPropertyTypes`, TypeScript accepts variables that are not set.
  const unset = { adsBaseUrl: undefined, adsVersion: undefined } as unknown as { readonly adsVersion?: string }
  const client = createClient({ baseUrl: service.url, consumerKey: 'ck', consumerSecret: 'cs', ...unset })
  await client.accounts.list().toArray()
  await client.close()
  expect(service.asked.map(({ url }) => url)).toEqual(['/12/accounts'])
})

test('a call of a client that was closed fails without a wait', async () => {
  const service = await serve([page([], null)])
  const client = service.client()
  await client.accounts.list().toArray()
  await client.close()
  const closed = {
    code: 'SERVICE_UNREACHABLE',
    recovery: 'stop-run',
    message: 'nothing was sent: the client is closed',
    hint: 'Create another client.',
  }
  // Also of a client that never sent anything.
  const unused = service.client()
  await unused.close()
  for (const one of [client, unused]) {
    await expect(one.accounts.list().toArray()).rejects.toMatchObject(closed)
    await expect(Array.fromAsync(one.activity.stream())).rejects.toMatchObject({ ...closed, recovery: expect.any(String) })
  }
  expect(service.asked).toHaveLength(1)
  expect(service.waits).toEqual([])
})

test('closing a client ends the waits of its calls', { timeout: 10_000 }, async () => {
  // The first call waits before it repeats; the second one waits for the limit that the first answer set.
  const service = await serve([{ status: 429, headers: { 'retry-after': '600' } }])
  const client = service.client({ client: { clock: systemClock } })
  const first = client.accounts.list().toArray()
  await expect.poll(() => service.asked.length).toBe(1)
  await new Promise((resolve) => setTimeout(resolve, 50))
  const second = client.accounts.list().toArray()
  const outcomes = Promise.allSettled([first, second])
  await new Promise((resolve) => setTimeout(resolve, 50))
  await client.close()
  expect(await outcomes).toMatchObject([
    { status: 'rejected', reason: { code: 'SERVICE_RATE_LIMITED' } },
    { status: 'rejected', reason: { code: 'SERVICE_RATE_LIMITED' } },
  ])
  expect(service.asked).toHaveLength(1)
})

test('a call that waits for a connection waits for the limit too, or fails if it may not wait', async () => {
  const arrivals: number[] = []
  const service = await serve((_, nth) => {
    arrivals.push(performance.now())
    return nth === 0 ? { status: 429, headers: { 'retry-after': '1' } } : { body: { data: { id: 'a' } } }
  })
  const client = service.client({ client: { clock: systemClock, connections: 1 } })
  const get = (retry: boolean) => client.accounts.get({ account_id: 'a' }, { retry })
  const outcomes = await Promise.allSettled([true, true, true, true, false].map((retry) => get(retry)))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'fulfilled', 'rejected'])
  expect(outcomes[4]).toMatchObject({ reason: { code: 'SERVICE_RATE_LIMITED', message: expect.stringMatching(/^nothing was sent/) } })
  expect(arrivals).toHaveLength(5)
  expect((arrivals[1] ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(900)
})

test('calls that are held back during a requested wait open no new connections', async () => {
  let nth = 0
  const answers = () => (nth++ === 0 ? answerText(429, '{}', { 'retry-after': '1' }) : answerText(200, '{"data":{"id":"a"}}'))
  const server = await startRawServer((socket) => void socket.write(answers()))
  const client = (await serve([{}])).client({ config: { adsBaseUrl: server.url }, client: { clock: systemClock, connections: 1 } })
  await Promise.all(Array.from({ length: 10 }, () => client.accounts.get({ account_id: 'a' })))
  expect(server.connections()).toBe(1)
  await server.close()
})

test('the recovery of a cancelled call is not to repeat it', async () => {
  const service = await serve([page([], null)])
  const signal = AbortSignal.abort()
  for (const call of [service.client().accounts.list({}, { signal }).toArray(), service.client().webhooks.list({}, { signal })])
    await expect(call).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE', recovery: 'stop-run' })
})

test('a timeout above the longest timer of Node is no limit of 1 ms', async () => {
  const service = await serve((_asked, nth) => (nth < 2 ? page([{ id: 'a' }], null) : { status: 404 }))
  for (const timeoutMs of [Number.POSITIVE_INFINITY, 2 ** 31])
    expect(await service.client().accounts.list({}, { retry: false, timeoutMs }).toArray()).toHaveLength(1)
})

test.for(['', 'api.example.com', 'localhost:4010', 'ftp://example.com'])(
  'the address %j is rejected by the name of its option',
  (address) => {
    const keys = { consumerKey: 'ck', consumerSecret: 'cs' }
    expect(() => createClient({ baseUrl: address, ...keys })).toThrow(expect.objectContaining({ code: 'CALL_INVALID', where: 'baseUrl' }))
    expect(() => createClient({ baseUrl: 'https://api.example.com', adsBaseUrl: address, ...keys })).toThrow('adsBaseUrl is not')
  },
)

test.for(['consumerKey', 'consumerSecret'])('the option %s is rejected by its name if its variable is not set', (name) => {
  const keys = { consumerKey: 'ck', consumerSecret: 'cs', [name]: undefined } as { consumerKey: string; consumerSecret: string }
  expect(() => createClient({ baseUrl: 'https://api.example.com', ...keys })).toThrow(
    expect.objectContaining({ code: 'CALL_INVALID', where: name, message: `${name} is not a text` }),
  )
})

test.for([
  ['campaigns.create', { account_id: 'a', funding_instrument_id: 'b', name: () => 'Spring' }, 'name is a function'],
  ['campaigns.create', { account_id: 'a', funding_instrument_id: 'b', name: Symbol('Spring') }, 'name is a symbol'],
  ['products.put', { product_catalog_id: 'a', products: [{ id: 'SKU-1', brand: () => 'Acme' }] }, 'brand is a function'],
] as const)('nothing is sent for %s with a value that JSON would omit', async ([name, params, problem]) => {
  const service = await serve([{}])
  await expect(service.client().callByName(name, params)).rejects.toMatchObject({ code: 'CALL_INVALID', message: `${name}: ${problem}` })
  expect(service.asked).toHaveLength(0)
})

test('the hint of a cancelled call is not about address and network', async () => {
  const service = await serve([page([], null)])
  const cancelled = service.client().accounts.list({}, { signal: AbortSignal.abort() }).toArray()
  await expect(cancelled).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE', hint: expect.stringContaining('aborted') as string })
})
