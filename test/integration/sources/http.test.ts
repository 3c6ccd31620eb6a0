import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readLimits } from '../../../src/formats/limits.ts'
import { isForbiddenAddress, isPrivateAddress } from '../../../src/http/privateAddress.ts'
import { checkedLookup, checkUrl } from '../../../src/http/addressPolicy.ts'
import { full, headers, rawServer } from './rawServer.ts'
import type { RawServer } from './rawServer.ts'
import { zipOf } from '../../unit/formats/zipOf.ts'
import { readSource, sourceOf } from './support.ts'

const csv = `id,title\n${Array.from({ length: 200 }, (_, at) => `${at},title ${at}\n`).join('')}`

const from = (server: RawServer, path = '/feed.csv', overrides = {}) =>
  sourceOf(`${server.url}${path}`, { allowPrivate: true, ...overrides })

test('a full declared length proves the end, and validators are stored', async () => {
  await using server = await rawServer((_, socket) =>
    socket.end(full(csv, { etag: '"v1"', 'last-modified': 'Sat, 21 Nov 2026 00:00:00 GMT' })),
  )
  const { facts, rows } = await readSource(from(server, '/feed.csv?key=secret'))
  expect(rows).toHaveLength(200)
  expect(facts).toMatchObject({
    completeness: { complete: true, proof: 'content-length met' },
    etag: '"v1"',
    lastModified: 'Sat, 21 Nov 2026 00:00:00 GMT',
    uri: `${server.url}/feed.csv?…`,
  })
})

test('a time of change in the second of the answer is not stored without an ETag', async () => {
  const at = 'Sat, 21 Nov 2026 00:00:00 GMT'
  for (const [date, stored] of [
    [at, undefined],
    ['Sat, 21 Nov 2026 00:00:01 GMT', at],
  ]) {
    await using server = await rawServer((_, socket) => socket.end(full(csv, { date: date!, 'last-modified': at })))
    expect((await readSource(from(server))).facts?.lastModified).toBe(stored)
  }
})

test('the end of the chunks proves the end; without it the read fails', async () => {
  const chunk = `${Buffer.byteLength(csv).toString(16)}\r\n${csv}\r\n`
  for (const [tail, code] of [
    ['0\r\n\r\n', 'read'],
    ['', 'FILE_TRUNCATED'],
  ] as const) {
    await using server = await rawServer((_, socket) => socket.end(headers({ 'transfer-encoding': 'chunked' }) + chunk + tail))
    const outcome = await readSource(from(server))
    expect([outcome.code, outcome.facts?.completeness.proof]).toEqual(code === 'read' ? ['read', 'chunked end'] : [code, undefined])
  }
})

test('a body that ends with the connection proves nothing; the trailer of gzip does', async () => {
  for (const [body, complete] of [
    [Buffer.from(csv), false],
    [gzipSync(csv), true],
  ] as const) {
    await using server = await rawServer((_, socket) => socket.end(Buffer.concat([Buffer.from(headers({ connection: 'close' })), body])))
    const { facts, rows } = await readSource(from(server))
    expect([facts?.completeness.complete, rows.length]).toEqual([complete, 200])
  }
})

test('a body truncated at each 1/64 is never a complete read', async () => {
  for (let part = 0; part < 64; part++) {
    const length = Math.floor((csv.length * part) / 64)
    await using server = await rawServer((_, socket) =>
      socket.end(Buffer.from(headers({ 'content-length': csv.length }) + csv.slice(0, length))),
    )
    expect((await readSource(from(server))).code).toBe('FILE_TRUNCATED')
  }
})

test('a broken download is resumed with If-Range, and each byte read once', async () => {
  await using server = await rawServer((request, socket, count) => {
    const start = Number(/range: bytes=(\d+)-/i.exec(request)?.[1] ?? 0)
    const rest = csv.slice(start)
    const lines = {
      etag: '"v1"',
      'content-length': rest.length,
      ...(start > 0 ? { 'content-range': `bytes ${start}-${csv.length - 1}/${csv.length}` } : {}),
    }
    socket.end(headers(lines, start > 0 ? '206 Partial Content' : '200 OK') + (count < 3 ? rest.slice(0, 500) : rest))
  })
  const { code, rows, facts } = await readSource(from(server))
  expect([code, rows.length, server.requests.length]).toEqual(['read', 200, 3])
  expect(server.requests[1]).toMatch(/if-range: "v1"/i)
  expect(facts?.sha256).toBe(createHash('sha256').update(csv).digest('hex'))
})

test('a feed that changed before the resume is rejected', async () => {
  await using server = await rawServer((request, socket) => {
    if (/range:/i.test(request)) socket.end(full(csv, { etag: '"v2"' }))
    else socket.end(headers({ etag: '"v1"', 'content-length': csv.length }) + csv.slice(0, 500))
  })
  expect((await readSource(from(server))).code).toBe('SOURCE_CHANGED')
})

test('a download with a weak ETag is not resumed', async () => {
  await using server = await rawServer((_, socket) =>
    socket.end(headers({ etag: 'W/"v1"', 'content-length': csv.length }) + csv.slice(0, 500)),
  )
  expect((await readSource(from(server))).code).toBe('FILE_TRUNCATED')
  expect(server.requests).toHaveLength(1)
})

test.each([
  ['repr-digest', (hash: string) => `sha-256=:${hash}:`],
  ['content-digest', (hash: string) => `sha-256=:${hash}:`],
  ['digest', (hash: string) => `SHA-256=${hash}`],
  ['content-md5', (hash: string) => hash],
] as const)('the header %s is checked', async (name, form) => {
  const algorithm = name === 'content-md5' ? 'md5' : 'sha256'
  const right = createHash(algorithm).update(csv).digest('base64')
  const wrong = createHash(algorithm).update('x').digest('base64')
  for (const [hash, code] of [
    [right, 'read'],
    [wrong, 'DIGEST_MISMATCH'],
  ] as const) {
    await using server = await rawServer((_, socket) => socket.end(full(csv, { [name]: form(hash) })))
    expect((await readSource(from(server))).code).toBe(code)
  }
})

test('an unchanged feed costs one conditional request', async () => {
  await using server = await rawServer((request, socket) =>
    socket.end(/if-none-match: "v1"/i.test(request) ? headers({ etag: '"v1"' }, '304 Not Modified') : full(csv, { etag: '"v1"' })),
  )
  const first = await readSource(from(server))
  const second = await readSource(from(server), { previous: first.facts! })
  expect([second.code, second.facts]).toEqual(['unchanged', first.facts])
})

test.each([
  [401, 'SOURCE_DENIED'],
  [403, 'SOURCE_DENIED'],
  [404, 'SOURCE_MISSING'],
  [410, 'SOURCE_MISSING'],
  [400, 'SOURCE_UNAVAILABLE'],
  [204, 'SOURCE_UNAVAILABLE'],
])('status %i is %s, never an empty feed', async (status, code) => {
  await using server = await rawServer((_, socket) => socket.end(headers({ 'content-length': 0 }, `${status} x`)))
  expect((await readSource(from(server))).code).toBe(code)
})

test('a login page and an empty body are rejected', async () => {
  await using page = await rawServer((_, socket) =>
    socket.end(full('<!doctype html><html><body>Sign in</body></html>', { 'content-type': 'text/html' })),
  )
  expect((await readSource(from(page))).code).toBe('UNEXPECTED_CONTENT')
  await using empty = await rawServer((_, socket) => socket.end(full('')))
  expect((await readSource(from(empty))).code).toBe('FILE_EMPTY')
})

test('429 and 503 are tried again after the requested wait', async () => {
  await using server = await rawServer((_, socket, count) =>
    socket.end(count < 3 ? headers({ 'retry-after': 0, 'content-length': 0 }, count === 1 ? '429 Too Many' : '503 Busy') : full(csv)),
  )
  expect((await readSource(from(server))).code).toBe('read')
  expect(server.requests).toHaveLength(3)
})

test('redirects are followed on one host only, and loops end', async () => {
  await using target = await rawServer((request, socket) =>
    socket.end(/GET \/final/.test(request) ? full(csv) : headers({ location: '/final', 'content-length': 0 }, '302 Found')),
  )
  expect((await readSource(from(target))).code).toBe('read')
  await using loop = await rawServer((_, socket) => socket.end(headers({ location: '/again', 'content-length': 0 }, '302 Found')))
  expect((await readSource(from(loop))).code).toBe('SOURCE_REFUSED')
  for (const location of ['file:///etc/passwd', 'gopher://x/', 'http://user:pw@example.com/']) {
    await using server = await rawServer((_, socket) => socket.end(headers({ location, 'content-length': 0 }, '301 Moved')))
    expect((await readSource(from(server))).code).toBe('SOURCE_REFUSED')
  }
})

test('credentials never go to another host', async () => {
  await using canary = await rawServer((_, socket) => socket.end(full(csv)))
  await using server = await rawServer((_, socket) =>
    socket.end(headers({ location: `${canary.url}/feed.csv`, 'content-length': 0 }, '302 Found')),
  )
  const definition = from(server, '/feed.csv', { credentials: { token: 'FEED_TOKEN' } })
  expect((await readSource(definition, { env: { FEED_TOKEN: 'canary-secret' } })).code).toBe('SOURCE_REFUSED')
  expect(canary.requests).toEqual([])
  expect(server.requests[0]).toContain('authorization: Bearer canary-secret')
})

test('credentials come from the environment by name; a missing one is named, not shown', async () => {
  await using server = await rawServer((_, socket) => socket.end(full(csv)))
  const definition = from(server, '/feed.csv', {
    credentials: { username: 'FEED_USER', password: 'FEED_PASSWORD', 'header:X-Key': 'FEED_KEY' },
  })
  expect((await readSource(definition, { env: { FEED_USER: 'a', FEED_PASSWORD: 'b', FEED_KEY: 'c' } })).code).toBe('read')
  expect(server.requests[0]).toContain(`authorization: Basic ${Buffer.from('a:b').toString('base64')}`)
  expect(server.requests[0]).toMatch(/x-key: c/i)
  const missing = await readSource(definition, { env: { FEED_USER: 'a', FEED_PASSWORD: 'b' } })
  expect([missing.code, missing.error?.message]).toEqual(['SOURCE_CREDENTIALS', 'the environment variable FEED_KEY is not set'])
})

test('a closed port, and plain text instead of TLS, are errors with a hint', async () => {
  let port = ''
  {
    await using gone = await rawServer((_, socket) => socket.end())
    port = new URL(gone.url).port
  }
  expect((await readSource(sourceOf(`http://127.0.0.1:${port}/feed.csv`, { allowPrivate: true }))).code).toBe('SOURCE_UNAVAILABLE')
  await using plain = await rawServer((_, socket) => socket.end(full(csv)))
  expect((await readSource(sourceOf(plain.url.replace('http:', 'https:'), { allowPrivate: true }))).code).toBe('SOURCE_UNAVAILABLE')
})

test.each([
  'http://127.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0177.0.0.1/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::1]/',
  'https://169.254.169.254/latest/',
  'https://localhost/',
  'https://feed.localhost/',
  'https://10.0.0.1/',
  'https://192.168.1.1/',
  'https://172.16.0.1/',
  'https://100.64.0.1/',
  'https://0.0.0.0/',
  'https://[fe80::1]/',
  'https://[fd00::1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://224.0.0.1/',
  'http://shop.example.com/feed.csv',
  'https://user:pw@shop.example.com/',
  'https://shop.example.com:22/',
  'https://shop.example.com/\r\nx: y',
  'gopher://shop.example.com/',
])('case 137: %j is rejected before anything is sent', async (uri) => {
  expect(() => checkUrl(uri, false)).toThrow(expect.objectContaining({ code: 'SOURCE_REFUSED' }))
})

test('case 137: a name that resolves to this machine is rejected without a connection', async () => {
  await using canary = await rawServer((_, socket) => socket.end(full(csv)))
  const refused = await new Promise((resolve) => checkedLookup(false)('localhost', { all: true }, (error) => resolve(error)))
  expect(refused).toMatchObject({ code: 'SOURCE_REFUSED' })
  expect(canary.requests).toEqual([])
})

/** Rejected with any setting of a pipeline: link-local addresses and the metadata services of clouds, in every spelling. */
const forbidden = [
  ['169.254.169.254', '169.254.169.254'],
  ['169.254.170.2', '169.254.170.2'],
  ['169.254.0.1.', '169.254.0.1'],
  ['2852039166', '169.254.169.254'],
  ['0xa9fea9fe', '169.254.169.254'],
  ['0251.0376.0251.0376', '169.254.169.254'],
  ['169.254.43518', '169.254.169.254'],
  ['%31%36%39.254.169.254', '169.254.169.254'],
  ['[::ffff:169.254.169.254]', '::ffff:a9fe:a9fe'],
  ['[0:0:0:0:0:ffff:a9fe:a9fe]', '::ffff:a9fe:a9fe'],
  ['[::169.254.169.254]', '::a9fe:a9fe'],
  ['[64:ff9b::169.254.169.254]', '64:ff9b::a9fe:a9fe'],
  ['[2002:a9fe:a9fe::1]', '2002:a9fe:a9fe::1'],
  ['[fe80::1]', 'fe80::1'],
  ['[febf:ffff::a9fe:a9fe]', 'febf:ffff::a9fe:a9fe'],
  ['[fd00:ec2::254]', 'fd00:ec2::254'],
  ['[fd20:ce::254]', 'fd20:ce::254'],
  ['100.100.100.200', '100.100.100.200'],
  ['168.63.129.16', '168.63.129.16'],
  ['192.0.0.192', '192.0.0.192'],
] as const

test.each(forbidden)('%s is rejected although private addresses are allowed, and named as %s', async (host, address) => {
  await using server = await rawServer((_, socket) =>
    socket.end(headers({ location: `http://${host}/latest/meta-data/`, 'content-length': 0 }, '302 Found')),
  )
  const asked = [sourceOf(`http://${host}/feed.csv`, { allowPrivate: true }), from(server), sourceOf(`${server.url}/feed.csv`)]
  for (const definition of asked) {
    const { code, error } = await readSource(definition)
    expect([code, error?.message]).toEqual([
      'SOURCE_REFUSED',
      `the source is at ${address}, a link-local address or a metadata service, which is not allowed`,
    ])
  }
})

test.each([
  [['169.254.169.254'], undefined, '169.254.169.254'],
  [['::ffff:169.254.169.254'], undefined, '::ffff:169.254.169.254'],
  [['fe80::1%eth0'], undefined, 'fe80::1%eth0'],
  [['fd00:ec2::254', '169.254.169.254'], undefined, 'fd00:ec2::254'],
  [['169.254.169.254', '10.0.0.1'], ['10.0.0.1'], undefined],
] as const)(
  'a name with the addresses %j is rejected, or only its other addresses are used, although private ones are allowed',
  async (found, usable, named) => {
    const answers = found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    const resolve = ((_: string, __: object, done: (error: null, found: typeof answers) => void) => done(null, answers)) as never
    const [error, given] = await new Promise<unknown[]>((settle) =>
      checkedLookup(true, resolve)('feed.example.com', { all: true }, (...answer) => settle(answer)),
    )
    if (named === undefined) expect([error, given]).toEqual([null, usable?.map((address) => ({ address, family: 4 }))])
    else
      expect(error).toMatchObject({ code: 'SOURCE_REFUSED', where: 'feed.example.com', message: expect.stringContaining(`at ${named}, `) })
  },
)

test('public addresses are not private, and private ones can be allowed', () => {
  expect(['8.8.8.8', '1.1.1.1', '2606:4700::1111'].map(isPrivateAddress)).toEqual([false, false, false])
  const lawful = [
    '10.0.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '127.0.0.1',
    '169.253.255.255',
    '169.255.0.0',
    'fd00::1',
    'fec0::1',
    '::1',
    '64:ff9b::808:808',
  ]
  expect(lawful.filter(isForbiddenAddress)).toEqual([])
})

test('a read ends after the idle timeout of a silent server', async () => {
  await using server = await rawServer((_, socket) => void socket.write(headers({ 'content-length': csv.length }) + csv.slice(0, 500)))
  expect((await readSource(from(server), { limits: { ...readLimits, idleMs: 20 } })).code).toBe('FILE_TRUNCATED')
})

test('a partial response without a request for it is rejected', async () => {
  await using server = await rawServer((_, socket) =>
    socket.end(headers({ 'content-length': 100, 'content-range': `bytes 0-99/${csv.length}` }, '206 Partial Content') + csv.slice(0, 100)),
  )
  expect((await readSource(from(server))).code).toBe('SOURCE_UNAVAILABLE')
})

test('a cancelled read ends with the reason of the cancellation', async () => {
  const abort = new AbortController()
  await using server = await rawServer((_, socket) => {
    socket.write(headers({ 'content-length': csv.length }) + csv.slice(0, 500), () => abort.abort(new Error('enough')))
  })
  await expect(readSource(from(server), { signal: abort.signal })).rejects.toThrow('enough')
})

test.each(['gzip', 'zip'])('a cancelled read of a %s source ends with the cancellation, not as a damaged file', async (packing) => {
  const rows = `id,title\n${Array.from({ length: 40_000 }, (_, i) => `P${i},title ${i * 7919}\n`).join('')}`
  const whole = packing === 'gzip' ? gzipSync(rows) : zipOf([{ name: 'feed.csv', content: rows }])
  const abort = new AbortController()
  await using server = await rawServer((_, socket) => {
    socket.write(headers({ 'content-length': whole.length }))
    socket.write(whole.subarray(0, whole.length - 1000), () => setTimeout(() => abort.abort(), 200))
  })
  await expect(readSource(from(server), { signal: abort.signal })).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }))
})

test('a source on this machine is read if its address names this machine plainly, and rejected in any other spelling', async () => {
  await using server = await rawServer((request, socket) => {
    if (request.startsWith('GET /away'))
      return socket.end(
        `HTTP/1.1 302 Found\r\nlocation: ${server.url.replace('127.0.0.1', 'localhost')}/feed.csv\r\ncontent-length: 0\r\n\r\n`,
      )
    return socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/csv\r\ncontent-length: 15\r\n\r\nid,title\n1,Cup\n')
  })
  const { port } = new URL(server.url)
  expect((await readSource(sourceOf(`${server.url}/feed.csv`))).code).toBe('read')
  const seen = server.requests.length
  for (const hidden of ['127.1', '2130706433', '0177.0.0.1', '[::ffff:127.0.0.1]', '127.0.0.2']) {
    expect((await readSource(sourceOf(`http://${hidden}:${port}/feed.csv`))).code, hidden).toBe('SOURCE_REFUSED')
  }
  expect(server.requests.length, 'nothing of the hidden ones reached the server').toBe(seen)
  expect((await readSource(sourceOf(`${server.url}/away`))).code).toBe('SOURCE_REFUSED')
})
