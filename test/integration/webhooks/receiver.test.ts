/** The webhook receiver over real HTTP and real Postgres (docs/guarantees.md#webhook-delivery). */
import { createServer, request as httpRequest } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { silentLogger, type LogFields } from '../../../src/log.ts'
import { openDatabase, type Database } from '../../../src/db/database.ts'
import { createWebhookReceiver, databaseEventStore, sign, type Gap, type WebhookReceiverOptions } from '../../../src/webhooks/index.ts'
import { testDatabase } from '../../support/postgres.ts'
import { withSandbox } from '../../support/sandbox.ts'
import { sandboxCredentials } from '../../support/signer.ts'

const secret = 'sandbox-consumer-secret'
const event = (uuid: string, more = '') =>
  `{"data":{"event_uuid":"${uuid}","event_type":"post.create","filter":{"user_id":"1001"},"payload":{"text":"x${more}"}}}`

interface Served extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly post: (body: string | Buffer, headers?: Readonly<Record<string, string>>) => Promise<number>
}

async function serve(options: Partial<WebhookReceiverOptions> & { readonly db?: Database }): Promise<Served> {
  const receiver = createWebhookReceiver({
    secrets: [secret],
    ...(options.db === undefined
      ? {}
      : { store: databaseEventStore(options.db, { service: 'https://api.example.com', application: 'app', path: '/webhooks' }) }),
    ...options,
  })
  const server = createServer((request, response) => {
    void receiver.handle(request, response).then((mine) => (mine ? undefined : response.writeHead(404).end()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/webhooks`
  return {
    url,
    port,
    post: async (body, headers = { 'x-service-webhooks-signature': sign(body, secret) }) =>
      (await fetch(url, { method: 'POST', body, headers })).status,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Sends bytes unchanged. Resolves with the bytes of the answer once the connection is closed. */
function raw(port: number, parts: readonly (string | Buffer)[], end = false): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      for (const part of parts) socket.write(part)
      if (end) socket.end()
    })
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
  })
}

const count = async (db: { query: (sql: string) => Promise<Record<string, unknown>[]> }) =>
  Number((await db.query('select count(*) as n from sluice.webhook_event'))[0]?.['n'])

test('a request target that is no URL gets 404, and the receiver answers on', async () => {
  await using served = await serve({})
  for (const target of ['//', '//:', 'http://[', '//x:99999/', 'http://a:b/webhooks'])
    expect(await raw(served.port, [`GET ${target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`]), target).toMatch(/^HTTP\/1\.1 404 /)
  expect(await served.post(event('a'))).toBe(200)
})

test('a verified event is stored once, even if it is repeated or out of order', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  await using served = await serve({ db: database.db })
  const bodies = ['a', 'b', 'c'].map((id) => event(id))
  for (const body of [...bodies, ...bodies.toReversed(), ...bodies]) expect(await served.post(body)).toBe(200)
  expect(await database.db.query('select id, type, body from sluice.webhook_event order by id')).toEqual(
    ['a', 'b', 'c'].map((id) => ({ id, type: 'post.create', body: JSON.parse(event(id)) as unknown })),
  )
})

test('H1: a request without the exact signature of its raw bytes changes nothing', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  await using served = await serve({ db: database.db })
  const body = event('a', ' ')
  const good = sign(body, secret)
  const header = (value: string) => ({ 'x-service-webhooks-signature': value })
  expect(await served.post(body, {})).toBe(401)
  for (const bad of [
    good.slice(0, -1),
    `${good}=`,
    good.toUpperCase(),
    good.replace('sha256=', ''),
    `sha256=${Buffer.from(good.slice(7), 'base64').toString('hex')}`,
    sign(body, 'another'),
  ])
    expect(await served.post(body, header(bad))).toBe(401)
  const flipped = Buffer.from(body)
  flipped[20] = (flipped[20] ?? 0) ^ 1
  expect(await served.post(flipped, header(good))).toBe(401)
  // The same meaning in other bytes: a receiver that verifies re-serialized JSON would accept it.
  const spaced = body.replaceAll(':', ': ')
  expect(JSON.stringify(JSON.parse(spaced))).toBe(JSON.stringify(JSON.parse(body)))
  expect(await served.post(spaced, header(good))).toBe(401)
  expect(await count(database.db)).toBe(0)
  expect(await served.post(body, header(good))).toBe(200)
})

test('H2: 10,000 events of the sandbox, sent twice over: none lost, none double', { tags: ['long'] }, async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  await using served = await serve({ db: database.db })
  await using sandbox = await withSandbox()
  await sandbox.control.switches({ webhook_dev_urls: 'on' })
  const basic = Buffer.from(`${sandboxCredentials.consumerKey}:${sandboxCredentials.consumerSecret}`).toString('base64')
  const bearer = (
    await sandbox.call('POST', '/oauth2/token', {
      form: { grant_type: 'client_credentials' },
      headers: { authorization: `Basic ${basic}` },
    })
  ).body.access_token as string
  const made = await sandbox.call('POST', '/2/webhooks', { json: { url: served.url }, bearer })
  expect(made.status, made.text).toBe(200)
  const sent = await sandbox.control.request('POST', 'events', { times: 10_000 })
  expect(sent.body.deliveries).toEqual({ delivered: 10_000, failed: 0 })
  expect(await count(database.db)).toBe(10_000)
  const repeated = (sent.body.events as string[])
    .slice(0, 500)
    .toReversed()
    .map((uuid) => ({ event_uuid: uuid }))
  expect((await sandbox.control.request('POST', 'events', repeated)).body.deliveries).toEqual({ delivered: 500, failed: 0 })
  expect(await count(database.db)).toBe(10_000)
})

test('H3: a long body is refused before it is hashed, declared or not', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  await using served = await serve({ db: database.db })
  expect(await raw(served.port, ['POST /webhooks HTTP/1.1\r\nhost: a\r\ncontent-length: 1048577\r\n\r\n'])).toMatch(/^HTTP\/1\.1 413 /)
  const chunk = Buffer.alloc(70_000, 'a')
  const chunks = Array.from({ length: 16 }, () => [`${chunk.length.toString(16)}\r\n`, chunk, '\r\n']).flat()
  expect(await raw(served.port, ['POST /webhooks HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n', ...chunks])).toMatch(
    /^HTTP\/1\.1 413 /,
  )
  // A sender in the middle of its body gets the answer, and not a reset.
  expect(await served.post(event('long', 'a'.repeat(3_000_000)))).toBe(413)
  expect(await served.post(event('edge', 'a'.repeat(1_048_576 - event('edge').length)))).toBe(200)
})

test('H3: a slow sender gets 408 and the connection is closed; a truncated body is not stored', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  await using served = await serve({ db: database.db, bodyTimeoutMs: 50 })
  expect(await raw(served.port, ['POST /webhooks HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n', 'a'])).toMatch(/^HTTP\/1\.1 408 /)
  await raw(
    served.port,
    [`POST /webhooks HTTP/1.1\r\nhost: a\r\nx-service-webhooks-signature: ${sign('{}', secret)}\r\ncontent-length: 10\r\n\r\n{}`],
    true,
  )
  expect(await count(database.db)).toBe(0)
})

test('H3: a compressed body is never decompressed', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  await using served = await serve({ db: database.db })
  const bomb = gzipSync(Buffer.alloc(50_000_000))
  expect(await served.post(bomb, { 'content-encoding': 'gzip', 'x-service-webhooks-signature': sign(bomb, secret) })).toBe(400)
  expect(await count(database.db)).toBe(0)
})

test('H4: with the database down challenges are answered, events get 503, and the gap is recorded afterwards', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  const down = openDatabase('postgres://nobody@127.0.0.1:1/none')
  let current = down
  const gaps: Gap[] = []
  const logged: [string, LogFields, string][] = []
  let now = Date.parse('2027-01-15T12:00:00Z')
  const log = {
    ...silentLogger,
    warn: (fields: LogFields, text: string) => logged.push(['warn', fields, text]),
    error: (fields: LogFields, text: string) => logged.push(['error', fields, text]),
  }
  const db = { ...database.db, execute: (text: string, values?: readonly unknown[]) => current.execute(text, values) }
  await using served = await serve({
    db,
    log,
    clock: { now: () => now, monotonic: () => now, sleep: () => Promise.resolve() },
    onGap: (gap) => gaps.push(gap),
  })
  expect(await served.post(event('a'))).toBe(503)
  expect((await fetch(`${served.url}?crc_token=challenge_string`)).status).toBe(200)
  now += 3_600_000
  expect(await served.post(event('a'))).toBe(503)
  expect(logged.map(([level]) => level)).toEqual(['warn', 'error'])
  current = database.db
  expect(await served.post(event('a'))).toBe(200)
  await expect.poll(() => gaps).toEqual([{ from: new Date('2027-01-15T12:00:00Z'), to: new Date('2027-01-15T13:00:00Z'), refused: 2 }])
  expect((await database.db.query<{ what: string; detail: unknown }>('select what, detail from sluice.audit'))[0]).toEqual({
    what: 'webhook.gap',
    detail: {
      from: '2027-01-15T12:00:00.000Z',
      to: '2027-01-15T13:00:00.000Z',
      refused: 2,
      service: 'https://api.example.com',
      application: 'app',
      path: '/webhooks',
    },
  })
  await down.close()
})

test('H5: old and new secret both verify while both are configured; challenges are signed with the new one', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  let secrets = ['new', 'old']
  await using served = await serve({ db: database.db, secrets: () => secrets })
  const old = { 'x-service-webhooks-signature': sign(event('a'), 'old') }
  expect(await served.post(event('a'), old)).toBe(200)
  expect(await (await fetch(`${served.url}?crc_token=t`)).json()).toEqual({ response_token: sign('t', 'new') })
  secrets = ['new']
  expect(await served.post(event('a'), old)).toBe(401)
})

test('H6: a challenge that could be a forged event is not signed', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  await using served = await serve({ db: database.db })
  for (const token of ['', 'a'.repeat(10_000), 'a\r\nb', '<script>', '{"data":{}}', 'a b', 'é']) {
    const answer = await fetch(`${served.url}?crc_token=${encodeURIComponent(token)}`)
    expect([token.slice(0, 20), answer.status]).toEqual([token.slice(0, 20), 400])
    expect(await answer.text()).not.toContain('sha256')
  }
  expect((await fetch(`${served.url}?crc_token=a&crc_token=b`)).status).toBe(400)
  expect((await fetch(served.url)).status).toBe(400)
})

test('other paths are not handled, and other methods are rejected', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  await using served = await serve({ db: database.db })
  expect((await fetch(served.url.replace('/webhooks', '/other'))).status).toBe(404)
  expect((await fetch(served.url, { method: 'PUT', body: '{}' })).status).toBe(405)
})

test.for([
  ['U+0000', '{"text":"a\\u0000b"}'],
  ['a number that is too large', '1e400000'],
] as const)('a body that Postgres cannot store as JSON is stored as bytes: %s', async ([, payload]) => {
  await using database = await testDatabase({ mayBeUsed: true })
  await using served = await serve({ db: database.db })
  const body = `{"data":{"event_uuid":"nul","event_type":"dm.sent","payload":${payload}}}`
  expect(await served.post(body)).toBe(200)
  const [row] = await database.db.query<{ body: { base64: string } }>('select body from sluice.webhook_event')
  expect(Buffer.from(row?.body.base64 ?? '', 'base64').toString()).toBe(body)
})

test('a request with `Expect: 100-continue` is served', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  await using served = await serve({ db: database.db })
  const body = event('expect')
  const status = await new Promise<number>((resolve, reject) => {
    const request = httpRequest(served.url, {
      method: 'POST',
      headers: { expect: '100-continue', 'content-length': Buffer.byteLength(body), 'x-service-webhooks-signature': sign(body, secret) },
    })
    request.on('continue', () => request.end(body))
    request.on('response', (response) => resolve(response.statusCode ?? 0))
    request.on('error', reject)
    request.flushHeaders()
  })
  expect(status).toBe(200)
})

test('an event that is stored after its 503 is reported at its next delivery, once', async () => {
  const seen: string[] = []
  const stored = new Map<string, Promise<boolean>>()
  let store = (_isNew: boolean): void => undefined
  await using served = await serve({
    storeTimeoutMs: 20,
    onEvent: ({ id }) => seen.push(id),
    store: {
      add: ({ id }) => {
        if (stored.has(id)) return Promise.resolve(false)
        const adding = new Promise<boolean>((resolve) => (store = resolve))
        stored.set(id, adding)
        return adding
      },
      probe: () => Promise.resolve(),
    },
  })
  expect(await served.post(event('late'))).toBe(503)
  store(true)
  expect([await served.post(event('late')), await served.post(event('late'))]).toEqual([200, 200])
  expect(seen).toHaveLength(1)
})

test('an event whose second insert is stored after its 503 is reported, although the first insert failed meanwhile', async () => {
  const seen: string[] = []
  const adding: PromiseWithResolvers<boolean>[] = []
  await using served = await serve({
    storeTimeoutMs: 20,
    onEvent: ({ id }) => seen.push(id),
    store: {
      add: () => {
        if (adding.length === 2) return Promise.resolve(false)
        const insert = Promise.withResolvers<boolean>()
        adding.push(insert)
        return insert.promise
      },
      probe: () => Promise.resolve(),
    },
  })
  expect([await served.post(event('late')), await served.post(event('late'))]).toEqual([503, 503])
  adding[0]?.reject(new Error('the connection was lost'))
  adding[1]?.resolve(true)
  expect(await served.post(event('late'))).toBe(200)
  expect(seen).toHaveLength(1)
})

test('a gap whose record is not stored in time continues, so that it is recorded later', async () => {
  const recorded: Gap[] = []
  let isDown = true
  let hangs = true
  await using served = await serve({
    storeTimeoutMs: 50,
    store: {
      add: () => (isDown ? Promise.reject(new Error('down')) : Promise.resolve(true)),
      probe: () => Promise.resolve(),
      recordGap: (gap) => (hangs ? new Promise(() => undefined) : Promise.resolve(void recorded.push(gap))),
    },
  })
  expect(await served.post(event('a'))).toBe(503)
  isDown = false
  expect(await served.post(event('b'))).toBe(200)
  await sleep(200)
  hangs = false
  expect(await served.post(event('c'))).toBe(200)
  await expect.poll(() => recorded).toMatchObject([{ refused: 1 }])
})

test('an onEvent or onGap that throws changes neither the answer nor the other calls', async () => {
  const gaps: Gap[] = []
  const lines: string[] = []
  const note = (_fields: LogFields, message: string) => void lines.push(message)
  let isDown = true
  await using served = await serve({
    log: { ...silentLogger, error: note },
    onGap: (gap) => {
      gaps.push(gap)
      throw new Error('a mistake of the user')
    },
    onEvent: () => {
      throw new Error('a mistake of the user')
    },
    store: { add: () => (isDown ? Promise.reject(new Error('down')) : Promise.resolve(true)), probe: () => Promise.resolve() },
  })
  expect(await served.post(event('first'))).toBe(503)
  isDown = false
  expect(await served.post(event('first'))).toBe(200)
  expect(gaps).toMatchObject([{ refused: 1 }])
  expect(lines).toEqual(['onGap of the webhook receiver failed', 'onEvent of the webhook receiver failed'])
})

test('an async onEvent that rejects is logged, and the rejection is handled', async () => {
  const lines: string[] = []
  const note = (_fields: LogFields, message: string) => void lines.push(message)
  await using served = await serve({
    log: { ...silentLogger, error: note },
    onEvent: () => Promise.reject(new Error('a mistake of the user')),
  })
  expect(await served.post(event('a'))).toBe(200)
  await expect.poll(() => lines).toEqual(['onEvent of the webhook receiver failed'])
})

test('an empty secret neither accepts an event nor signs a challenge', async () => {
  await using served = await serve({ secrets: [''] })
  expect(await served.post(event('a'), { 'x-service-webhooks-signature': sign(event('a'), '') })).toBe(401)
  expect((await fetch(`${served.url}?crc_token=a`)).status).toBe(503)
})

test('an event whose body another handler has read gets 500 immediately, and the log names the cause', async () => {
  const lines: string[] = []
  const note = (_fields: LogFields, message: string) => void lines.push(message)
  const receiver = createWebhookReceiver({ secrets: [secret], log: { ...silentLogger, error: note }, bodyTimeoutMs: 60_000 })
  const server = createServer((request, response) => {
    request.resume().on('end', () => void receiver.handle(request, response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`
  expect((await fetch(url, { method: 'POST', body: event('a') })).status).toBe(500)
  expect(lines).toEqual([expect.stringContaining('before any body parser')])
  server.close()
  server.closeAllConnections()
})
