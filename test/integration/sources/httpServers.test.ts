/** Unspecified behaviour of servers: each is read completely or rejected. */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { readLimits } from '../../../src/formats/limits.ts'
import type { RawServer } from './rawServer.ts'
import { full, headers, rawServer } from './rawServer.ts'
import { readSource, sourceOf } from './support.ts'

const csv = `id,title\n${Array.from({ length: 200 }, (_, at) => `${at},title ${at}\n`).join('')}`
const sha256 = createHash('sha256').update(csv).digest('hex')
const from = (server: RawServer, path = '/feed.csv', overrides = {}) =>
  sourceOf(`${server.url}${path}`, { allowPrivate: true, ...overrides })

/** Sends the first 500 bytes of the feed and closes the connection; `rest` answers the request for the others. */
function cutServer(first: Readonly<Record<string, string | number>>, rest: (start: number, count: number) => string | Buffer) {
  return rawServer((request, socket, count) => {
    const start = /range: bytes=(\d+)-/i.exec(request)?.[1]
    if (start !== undefined) return socket.end(rest(Number(start), count))
    return socket.end(headers({ 'content-length': csv.length, ...first }) + csv.slice(0, 500))
  })
}

/** An answer with a part of the file. Its header may be wrong. */
function part(start: number, lies: Readonly<Record<string, string | number>> = {}, body = csv.slice(start)): string {
  const lines = {
    etag: '"v1"',
    'content-length': body.length,
    'content-range': `bytes ${start}-${start + body.length - 1}/${csv.length}`,
    ...lies,
  }
  return headers(lines, '206 Partial Content') + body
}

test.each([
  ['the rest', (start: number) => part(start), 'read'],
  ['the rest, without a tag', (start: number) => part(start, { etag: '' }).replace('etag: \r\n', ''), 'read'],
  ['the rest of another feed', (start: number) => part(start, { etag: '"v2"' }), 'SOURCE_CHANGED'],
  ['the rest of a longer feed', (start: number) => part(start, { 'content-range': `bytes ${start}-9998/9999` }), 'SOURCE_CHANGED'],
  ['another part', (start: number) => part(start - 9), 'FILE_TRUNCATED'],
  ['a part without its place', (start: number) => part(start, { 'content-range': 'none' }), 'FILE_TRUNCATED'],
  [
    'the rest of a whole it does not measure',
    (start: number) => part(start, { 'content-range': `bytes ${start}-${csv.length - 1}/*` }),
    'read',
  ],
  ['more than the rest', (start: number) => part(start, { 'content-length': csv.length }, csv), 'SOURCE_CHANGED'],
  ['the same feed from its start', () => full(csv, { etag: '"v1"' }), 'read'],
  ['another feed from its start', () => full(csv.replaceAll('title', 'other'), { etag: '"v2"' }), 'SOURCE_CHANGED'],
  ['a feed without a tag', () => full(csv), 'SOURCE_CHANGED'],
  ['the same tag for another length', () => full(`${csv}x,y\n`, { etag: '"v1"' }), 'SOURCE_CHANGED'],
  ['the same tag for a shorter feed', () => full(csv.slice(0, 900), { etag: '"v1"' }), 'SOURCE_CHANGED'],
  ['no rest', () => headers({ 'content-range': `bytes */${csv.length}`, 'content-length': 0 }, '416 Out of range'), 'SOURCE_UNAVAILABLE'],
  ['nothing changed', () => headers({ etag: '"v1"' }, '304 Not Modified'), 'SOURCE_UNAVAILABLE'],
  ['a login page', () => full('<!doctype html><title>Sign in</title>', { 'content-type': 'text/html' }), 'SOURCE_CHANGED'],
  ['who are you', () => headers({ 'content-length': 0 }, '401 Unauthorized'), 'SOURCE_DENIED'],
  ['gone', () => headers({ 'content-length': 0 }, '410 Gone'), 'SOURCE_MISSING'],
  [
    'busy, then the rest',
    (start: number, count: number) => (count < 3 ? headers({ 'retry-after': 0, 'content-length': 0 }, '503 Busy') : part(start)),
    'read',
  ],
] as const)('asked for the rest, a server answers with %s', async (_, rest, expected) => {
  await using server = await cutServer({ etag: '"v1"' }, rest)
  const { code, rows, facts } = await readSource(from(server))
  expect([code, facts?.sha256]).toEqual([expected, expected === 'read' ? sha256 : undefined])
  if (expected === 'read') expect(rows).toHaveLength(200)
})

test('a broken feed without a length, resumed in small parts, is complete only with all parts', async () => {
  const first = headers({ 'transfer-encoding': 'chunked', etag: '"v1"' }) + `1f4\r\n${csv.slice(0, 500)}\r\n`
  for (const [parts, total, expected] of [
    [99, csv.length, 'read'],
    [2, csv.length, 'SOURCE_UNAVAILABLE'],
    [99, '*', 'FILE_TRUNCATED'],
  ] as const) {
    await using server = await rawServer((request, socket, count) => {
      const start = Number(/range: bytes=(\d+)-/i.exec(request)?.[1] ?? 0)
      if (start === 0) return socket.end(first)
      return count > parts + 1
        ? socket.end()
        : socket.end(
            part(
              start,
              { 'content-range': `bytes ${start}-${Math.min(start + 900, csv.length) - 1}/${total}` },
              csv.slice(start, start + 900),
            ),
          )
    })
    const { code, facts } = await readSource(from(server))
    expect([code, facts?.sha256]).toEqual([expected, expected === 'read' ? sha256 : undefined])
  }
})

const day = 'Sat, 21 Nov 2026'

test.each([
  ['a change well before the answer', { 'last-modified': `${day} 10:00:00 GMT`, date: `${day} 11:00:00 GMT` }, 2, 'read'],
  ['a change in the second of the answer', { 'last-modified': `${day} 11:00:00 GMT`, date: `${day} 11:00:00 GMT` }, 1, 'FILE_TRUNCATED'],
  ['a server without a clock', { 'last-modified': `${day} 10:00:00 GMT` }, 1, 'FILE_TRUNCATED'],
  ['a weak tag beside it', { etag: 'W/"v1"', 'last-modified': `${day} 10:00:00 GMT`, date: `${day} 11:00:00 GMT` }, 1, 'FILE_TRUNCATED'],
] as const)(
  'a download is resumed by its modification time only if that guarantees the same bytes: %s',
  async (_, head, requests, expected) => {
    await using server = await cutServer(head, (start) => part(start, { ...head, etag: '' }).replace('etag: \r\n', ''))
    const { code } = await readSource(from(server))
    const asked = server.requests.filter((request) => request.startsWith('GET'))
    expect([code, asked.length]).toEqual([expected, requests])
    if (requests === 2) expect(asked[1]).toContain(`if-range: ${day} 10:00:00 GMT`)
  },
)

test('the digest detects halves of two feeds with the same validators', async () => {
  const digest = `sha-256=:${createHash('sha256').update(csv).digest('base64')}:`
  await using server = await cutServer({ etag: '"v1"', 'repr-digest': digest }, (start) =>
    part(start, {}, csv.slice(start).replaceAll('title', 'other')),
  )
  expect((await readSource(from(server))).code).toBe('DIGEST_MISMATCH')
})

test('a digest header that is not valid proves nothing and rejects nothing', async () => {
  await using server = await rawServer((_, socket) => socket.end(full(csv, { 'content-md5': createHash('md5').update(csv).digest('hex') })))
  const { facts } = await readSource(from(server))
  expect(facts?.completeness.proof).toBe('content-length met')
})

test.each([
  ['gzip', gzipSync(csv), 'read'],
  ['x-gzip', gzipSync(csv), 'read'],
  ['utf-8', Buffer.from(csv), 'read'],
  ['br', Buffer.from('0b0280', 'hex'), 'SOURCE_REFUSED'],
  ['deflate', Buffer.from('789c', 'hex'), 'SOURCE_REFUSED'],
] as const)('an answer compressed as %s without a request for it is read', async (coding, body, expected) => {
  await using server = await rawServer((_, socket) => socket.end(full(body, { 'content-encoding': coding })))
  const { code, rows } = await readSource(from(server))
  expect([code, rows.length]).toEqual([expected, expected === 'read' ? 200 : 0])
  expect(server.requests[0]).toMatch(/accept-encoding: identity/i)
})

test.each([
  ['100', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['103', 'HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n'],
  ['100 twice and 102', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n'],
])('W10: an interim answer (%s) before the feed and before its rest is ignored', async (_, interim) => {
  await using server = await rawServer((request, socket, count) => {
    const start = Number(/range: bytes=(\d+)-/i.exec(request)?.[1] ?? 0)
    const whole = headers({ 'content-length': csv.length, etag: '"v1"' }) + csv
    socket.write(interim)
    setImmediate(() => socket.end(start > 0 ? part(start) : whole.slice(0, count === 1 ? 900 : undefined)))
  })
  const { code, facts } = await readSource(from(server))
  expect([code, facts?.sha256, server.requests.length]).toEqual(['read', sha256, 2])
})

/** Counted in characters, as in some programs: too low for a text with umlauts. */
const umlauts = csv.replaceAll('title', 'Größe')

test.each([
  ['CSV', umlauts, 'csv', { complete: false, reason: 'the server sent more than the length it declared' }],
  ['gzip, with something behind it', Buffer.concat([gzipSync(csv), Buffer.from('more')]), 'gzip', { complete: true }],
  ['a closed JSON array, with a line behind it', `[{"id":"1"}]x`, 'json', { complete: true }],
] as const)('a length that is too small proves nothing on its own: %s', async (_, body, kind, expected) => {
  const length = kind === 'csv' ? umlauts.length : Buffer.byteLength(body) - (kind === 'gzip' ? 4 : 1)
  await using server = await rawServer((_, socket) =>
    socket.write(Buffer.concat([Buffer.from(headers({ 'content-length': length })), Buffer.from(body)])),
  )
  const { facts, error } = await readSource(from(server))
  expect([error, facts?.completeness]).toMatchObject([undefined, expected])
})

test('line ends after the body are not part of it', async () => {
  await using server = await rawServer((_, socket) => socket.write(Buffer.concat([full(csv), Buffer.from('\r\n')])))
  expect((await readSource(from(server))).facts?.completeness.proof).toBe('content-length met')
})

test.each([
  ['chunked', true],
  ['gzip, chunked', true],
  ['gzip\r\ntransfer-encoding: chunked', true],
  ['chunked, identity', false],
  ['chunked\r\ntransfer-encoding: identity', false],
  ['identity', false],
  ['unchunked', false],
] as const)('the end of the chunks is a proof only for a chunked answer: %j', async (coding, complete) => {
  const chunks = `${csv.length.toString(16)}\r\n${csv}\r\n0\r\n\r\n`
  await using server = await rawServer((_, socket) => socket.end(headers({ 'transfer-encoding': coding }) + chunks))
  const { facts } = await readSource(from(server))
  expect(facts?.completeness.complete ?? false).toBe(complete)
})

test.each([
  ['no HTTP', csv, /^the answer of the server breaks the rules of HTTP \(Expected HTTP\/.*\)$/],
  ['two lengths', headers({ 'content-length': `9\r\ncontent-length: 8` }) + csv, /HTTP \(UND_ERR_RES_CONTENT_LENGTH_MISMATCH\)$/],
  ['a length in words', headers({ 'content-length': 'many' }) + csv, /HTTP \(Invalid character in Content-Length\)$/],
  ['a head without an end', headers({ 'x-a': 'b'.repeat(100_000) }), /HTTP \(UND_ERR_HEADERS_OVERFLOW\)$/],
] as const)('an invalid answer (%s) is an error that contains nothing of it', async (_, answer, message) => {
  await using server = await rawServer((_, socket) => socket.end(answer))
  const { code, error } = await readSource(from(server))
  expect([code, error?.message]).toEqual(['SOURCE_UNAVAILABLE', expect.stringMatching(message)])
  expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/title 1|bbbb/)
})

test('the error for an answer that breaks off contains nothing of its records', async () => {
  await using server = await rawServer((_, socket) =>
    socket.end(headers({ 'transfer-encoding': 'chunked' }) + `zz\r\nid,email\n1,anna@example.com\n`),
  )
  const { code, error } = await readSource(from(server))
  expect(code).toBe('FILE_TRUNCATED')
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('anna')
})

test('endless redirects with cookies are reported as a login', async () => {
  const go = { location: '/feed.csv', 'content-length': 0 }
  for (const [lines, hint] of [
    [go, 'Set `source.url` to the final address of the feed.'],
    [{ ...go, 'set-cookie': 'session=1' }, 'Use an address of the feed that needs no login page.'],
  ] as const) {
    await using server = await rawServer((_, socket) => socket.end(headers(lines, '302 Found')))
    const { error } = await readSource(from(server))
    expect([error?.code, error?.hint, server.requests.length]).toEqual(['SOURCE_REFUSED', hint, 6])
    expect(server.requests.join(''), 'no cookie is sent back').not.toMatch(/cookie/i)
  }
})

test('304 is accepted only after a conditional request', async () => {
  await using server = await rawServer((_, socket) => socket.end(headers({ etag: '"v1"' }, '304 Not Modified')))
  await using whole = await rawServer((_, socket) => socket.end(full(csv)))
  // Facts without a tag and a time, so that no condition can be sent.
  const { facts } = await readSource(from(whole))
  expect((await readSource(from(server), { previous: facts! })).code).toBe('SOURCE_UNAVAILABLE')
  expect((await readSource(from(server))).code).toBe('SOURCE_UNAVAILABLE')
})

test('a server that requests a long wait gets no request before its end', async () => {
  const later = { 'retry-after': `${day} 12:00:00 GMT`, date: `${day} 11:00:00 GMT`, 'content-length': 0 }
  for (const lines of [{ 'retry-after': 3600, 'content-length': 0 }, later]) {
    await using server = await rawServer((_, socket) => socket.end(headers(lines, '429 Too Many Requests')))
    const { code, error } = await readSource(from(server))
    expect([code, error?.message, server.requests.length]).toEqual([
      'SOURCE_UNAVAILABLE',
      'the server answered 429 and requires a wait of 60 minutes',
      1,
    ])
  }
})

test('the message about an endless wait has no time', async () => {
  await using server = await rawServer((_, socket) =>
    socket.end(headers({ 'retry-after': '9'.repeat(20), 'content-length': 0 }, '503 Busy')),
  )
  expect((await readSource(from(server))).error?.message).toBe('the server answered 503 and requires a wait of longer than a day')
})

test.each(['429 Too Many Requests', '500 Oops', '502 Bad Gateway', '503 Busy'])('a permanent %s is tried four times', async (status) => {
  await using server = await rawServer((_, socket) => socket.end(headers({ 'content-length': 0 }, status)))
  expect([(await readSource(from(server))).code, server.requests.length]).toEqual(['SOURCE_UNAVAILABLE', 4])
})

test.each([
  ['<!-- proxy --><html><body>Sign in</body></html>', 'text/html'],
  ['\ufeff<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x"><html></html>', 'text/html'],
  ['\n\n  <HTML><head></head></HTML>', 'text/csv'],
  ['<head><title>Sign in</title></head>', 'text/html'],
  ['<?xml version="1.0"?><!DOCTYPE html><html/>', 'application/xhtml+xml'],
])('a web page instead of the feed gives no row: %j', async (page, type) => {
  await using server = await rawServer((_, socket) => socket.end(full(page, { 'content-type': type })))
  const { code, rows, facts } = await readSource(from(server))
  expect([rows, facts]).toEqual([[], undefined])
  expect(code).toMatch(/^(UNEXPECTED_CONTENT|WRONG_FORMAT|FILE_DOCTYPE)$/)
})

test('a redirect to a login page is followed, and the page is reported as such', async () => {
  await using server = await rawServer((request, socket) =>
    socket.end(
      request.startsWith('GET /login')
        ? full('<html><body>Sign in</body></html>')
        : headers({ location: '/login', 'content-length': 0 }, '302 Found'),
    ),
  )
  expect((await readSource(from(server))).code).toBe('UNEXPECTED_CONTENT')
})

test('a resume follows the redirect again, because its target may have expired', async () => {
  let links = 0
  await using server = await rawServer((request, socket) => {
    if (request.startsWith('GET /feed.csv')) return socket.end(headers({ location: `/signed/${++links}`, 'content-length': 0 }, '307 Go'))
    if (!request.startsWith(`GET /signed/${links} `)) return socket.end(headers({ 'content-length': 0 }, '403 Expired'))
    const start = Number(/range: bytes=(\d+)-/i.exec(request)?.[1] ?? 0)
    return socket.end(start > 0 ? part(start) : headers({ 'content-length': csv.length, etag: '"v1"' }) + csv.slice(0, 500), () => links++)
  })
  expect((await readSource(from(server))).facts?.sha256).toBe(sha256)
})

test.each([
  ['its head', { idleMs: 100 }, headers({ 'x-a': 'b'.repeat(9_999) }), /^the source cannot be reached/],
  ['its body', { totalMs: 400 }, headers({ 'content-length': csv.length }) + csv, 'the whole read took too long'],
  [
    'a body that can be resumed',
    { totalMs: 400 },
    headers({ 'content-length': csv.length, etag: '"v1"' }) + csv,
    'the whole read took too long',
  ],
] as const)('a read from a server that sends %s byte by byte times out', { tags: ['long'] }, async (_, limits, bytes, message) => {
  await using server = await rawServer((_, socket) => {
    let at = 0
    const drip = setInterval(() => (socket.writable && at < bytes.length ? socket.write(bytes.charAt(at++)) : clearInterval(drip)), 5)
    socket.on('close', () => clearInterval(drip))
  })
  const { error } = await readSource(from(server), { limits: { ...readLimits, ...limits } })
  expect(error).toMatchObject({ code: 'SOURCE_UNAVAILABLE', message: expect.stringMatching(message) })
})

test('no error contains a credential or the key in an address', async () => {
  const credentials = { username: 'FEED_USER', password: 'FEED_PASSWORD', 'header:X-Key': 'FEED_KEY' }
  const env = { FEED_USER: 'canary-user', FEED_PASSWORD: 'canary-password', FEED_KEY: 'canary-key' }
  const answers: readonly (string | Buffer)[] = [
    headers({ 'content-length': 0 }, '401 No'),
    headers({ 'content-length': 0 }, '500 No'),
    headers({ 'content-length': 0, location: 'http://127.0.0.2:1/?token=canary-location' }, '302 Found'),
    headers({ 'content-length': 99 }) + csv.slice(0, 50),
    'nonsense\r\n\r\n',
    '',
    full('<html>'),
  ]
  for (const answer of answers) {
    await using server = await rawServer((_, socket) => socket.end(answer))
    const { error } = await readSource(from(server, '/feed.csv?key=canary-query', { credentials }), { env })
    expect(error, String(answer)).toBeDefined()
    expect(error?.where, String(answer)).toBe(`${server.url}/feed.csv?…`)
    const shown = inspect(error, { depth: 9, showHidden: true })
    expect(shown).not.toMatch(/canary/)
    expect(shown).not.toContain(Buffer.from('canary-user:canary-password').toString('base64'))
  }
})
