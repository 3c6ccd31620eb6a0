import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHash } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { readLimits } from '../../../src/formats/limits.ts'
import { silentLogger } from '../../../src/log.ts'
import { isPrivateAddress } from '../../../src/http/privateAddress.ts'
import { openSource } from '../../../src/sources/openSource.ts'
import { cuttingProxy } from './cuttingProxy.ts'
import { readApart } from './readApart.ts'
import { openStore, s3Env } from './s3Store.ts'
import { freePort } from './sshServer.ts'
import { readSource, sourceOf, temporaryFolder } from './support.ts'

const csv = `id,title\n${Array.from({ length: 300 }, (_, at) => `${at},title ${at}\n`).join('')}`
const large = `id,title\n${Array.from({ length: 40_000 }, (_, at) => `${at},${'x'.repeat(100)}\n`).join('')}`
const env = s3Env

test('an object is read whole, and the next run sends one conditional request', async () => {
  await using s3 = await openStore()
  await s3.put('feeds/crm 1.csv', csv)
  const definition = sourceOf(`s3://exports/feeds/crm%201.csv?endpoint=${s3.endpoint}`, { allowPrivate: true })
  const first = await readSource(definition, { env })
  expect([first.code, first.rows.length]).toEqual(['read', 300])
  expect(first.facts).toMatchObject({
    uri: 's3://exports/feeds/crm%201.csv',
    completeness: { complete: true, proof: 'content-length met' },
  })
  expect((await readSource(definition, { env, previous: first.facts! })).code).toBe('unchanged')
  await s3.put('feeds/crm 1.csv', `${csv}x,y\n`)
  expect((await readSource(definition, { env, previous: first.facts! })).rows).toHaveLength(301)
})

test('the newest key that matches a pattern is read', async () => {
  await using s3 = await openStore()
  await s3.put('feeds/b.csv', 'id\n1\n')
  await utimes(s3.file('feeds/b.csv'), 1_000_000, 1_000_000)
  await s3.put('feeds/a.csv', 'id\n2\n')
  await s3.put('other/c.csv', 'id\n3\n')
  expect(
    (await readSource(sourceOf(`s3://exports/feeds/*.csv?endpoint=${s3.endpoint}`, { allowPrivate: true }), { env })).rows[0]?.cells,
  ).toEqual(['2'])
  expect((await readSource(sourceOf(`s3://exports/none/*.csv?endpoint=${s3.endpoint}`, { allowPrivate: true }), { env })).code).toBe(
    'SOURCE_MISSING',
  )
  await s3.put('feeds/z.csv.tmp', 'id\n4\n')
  const all = await readSource(sourceOf(`s3://exports/feeds/*?endpoint=${s3.endpoint}`, { allowPrivate: true }), { env })
  expect([all.rows[0]?.cells, all.facts?.uri]).toEqual([['2'], 's3://exports/feeds/a.csv'])
})

test('a newer object with the tag of the last one is read', async () => {
  let newest = '1'
  await using store = await storeOf((request, response) => {
    if (request.headers['if-none-match'] === '"1"') return response.writeHead(304).end()
    const contents = `<Contents><Key>crm-${newest}.csv</Key><LastModified>2026-01-0${newest}T00:00:00Z</LastModified></Contents>`
    const isListing = request.url?.includes('list-type') === true
    const body = isListing ? `<?xml version="1.0"?><ListBucketResult>${contents}</ListBucketResult>` : `id\n${newest}\n`
    return response.writeHead(200, { etag: '"1"', 'content-length': body.length }).end(body)
  })
  const definition = through(store.port, 'crm-*.csv')
  const { facts } = await readSource(definition, { env })
  expect((await readSource(definition, { env, previous: facts! })).code).toBe('unchanged')
  newest = '2'
  expect((await readSource(definition, { env, previous: facts! })).rows[0]?.cells).toEqual(['2'])
})

test('missing objects, wrong credentials and private endpoints are rejected', async () => {
  await using s3 = await openStore()
  await s3.put('a.csv', csv)
  const code = async (uri: string, allowPrivate: boolean, given: Readonly<Record<string, string>> = env) =>
    (await readSource(sourceOf(`${uri}?endpoint=${s3.endpoint}`, { allowPrivate }), { env: given })).code
  expect(await code('s3://exports/none.csv', true)).toBe('SOURCE_MISSING')
  expect(await code('s3://nowhere/a.csv', true)).toBe('SOURCE_MISSING')
  expect(await code('s3://exports/a.csv', true, { ...env, AWS_ACCESS_KEY_ID: 'STRANGER' })).toBe('SOURCE_DENIED')
  expect(await code('s3://exports/*.csv', true, { ...env, AWS_ACCESS_KEY_ID: 'STRANGER' })).toBe('SOURCE_DENIED')
  expect(await code('s3://exports/a.csv', false)).toBe('SOURCE_REFUSED')
  expect(await code('s3://key:secret@exports/a.csv', true)).toBe('SOURCE_REFUSED')
  expect(await code('s3://exports/100%.csv', true)).toBe('SOURCE_REFUSED')
  const nowhere = await readSource(through(await freePort()), { env })
  expect(nowhere.error).toMatchObject({ code: 'SOURCE_UNAVAILABLE', message: 'the store cannot be reached (ECONNREFUSED)' })
  const { error } = await readSource(sourceOf(`s3://exports/a.csv?endpoint=${s3.endpoint}`, { allowPrivate: true }), {
    env: { AWS_ACCESS_KEY_ID: 'STRANGER', AWS_SECRET_ACCESS_KEY: 'hunter2' },
  })
  expect(error).toMatchObject({ where: 's3://exports/a.csv', hint: expect.stringContaining('credentials') })
  expect(inspect(error, { depth: 9 })).not.toContain('hunter2')
})

const through = (port: number, key = 'crm.csv') => sourceOf(`s3://exports/${key}?endpoint=http://127.0.0.1:${port}`, { allowPrivate: true })

test.each(['end', 'reset'] as const)('a connection that breaks repeatedly (%s) is resumed, and each byte read once', async (how) => {
  await using s3 = await openStore()
  await s3.put('crm.csv', large)
  await using proxy = await cuttingProxy(s3.port, (connection) => (connection < 8 ? { afterBytes: 500_000, how } : undefined))
  const { code, rows, facts } = await readSource(through(proxy.port), { env })
  expect([code, rows.length, proxy.cuts()]).toEqual(['read', 40_000, 7])
  expect(facts).toMatchObject({
    bytes: large.length,
    sha256: createHash('sha256').update(large).digest('hex'),
    completeness: { complete: true },
  })
})

test('a read fails if the store always closes after the first bytes', async () => {
  await using s3 = await openStore()
  await s3.put('crm.csv', large)
  await using proxy = await cuttingProxy(s3.port, () => ({ afterBytes: 2_000, how: 'reset' }))
  const { code, error, facts } = await readSource(through(proxy.port), { env })
  expect([code, facts, error?.where]).toEqual(['FILE_TRUNCATED', undefined, 's3://exports/crm.csv'])
  expect(error?.message).toMatch(/^the connection was cut after [1-9]\d* bytes$/)
})

test.each([
  ['of the same length', large.replaceAll('x', 'y')],
  ['longer', large + large],
  ['shorter', csv],
])('the download of an object that changed, %s, is not resumed, also on a store without If-Match', async (_, newer) => {
  await using s3 = await openStore()
  await s3.put('crm.csv', large)
  await using proxy = await cuttingProxy(s3.port, (connection) => (connection === 1 ? { afterBytes: 500_000, how: 'reset' } : undefined), {
    onCut: () => s3.put('crm.csv', newer),
  })
  const { code, error, facts } = await readSource(through(proxy.port), { env })
  expect([code, facts, error?.where]).toEqual(['SOURCE_CHANGED', undefined, 's3://exports/crm.csv'])
})

test('a read from a silent store ends with the idle timeout or a cancellation', async () => {
  await using s3 = await openStore()
  await s3.put('crm.csv', large)
  await using proxy = await cuttingProxy(s3.port, () => ({ afterBytes: 2_000, how: 'stall' }))
  expect((await readSource(through(proxy.port), { env, limits: { ...readLimits, idleMs: 100 } })).code).toBe('FILE_TRUNCATED')
  const abort = new AbortController()
  await using half = await cuttingProxy(s3.port, () => ({ afterBytes: 500_000, how: 'stall' }))
  const source = await openSource(through(half.port), { env, log: silentLogger, signal: abort.signal })
  const reading = Array.fromAsync(source.rows)
  await expect.poll(() => half.cuts()).toBe(1)
  abort.abort(new Error('enough'))
  await expect(reading).rejects.toThrow('enough')
  // Sends not even the head of an answer.
  await using mute = await cuttingProxy(s3.port, () => ({ afterBytes: 0, how: 'stall' }))
  expect((await readSource(through(mute.port), { env, limits: { ...readLimits, idleMs: 20 } })).code).toBe('SOURCE_UNAVAILABLE')
})

test('an endpoint whose name resolves to this machine is rejected like its address', async ({ skip }) => {
  const found = await lookup(hostname()).catch(() => undefined)
  if (found === undefined || !isPrivateAddress(found.address)) return skip('this machine is not known by name')
  const definition = sourceOf(`s3://exports/a.csv?endpoint=https://${hostname()}:8443`)
  const { code, error } = await readSource(definition, { env })
  expect([code, error?.message]).toEqual(['SOURCE_REFUSED', 'the source is a name that leads to a private address, which is not allowed'])
  // If allowed, it is requested: no server listens there.
  const allowed = sourceOf(`s3://exports/a.csv?endpoint=https://${hostname()}:${await freePort()}`, { allowPrivate: true })
  expect((await readSource(allowed, { env })).code).toBe('SOURCE_UNAVAILABLE')
})

/** Stores that answer the request for the rest with other bytes. */
test.each([
  ['the rest of the same object', { status: 206, range: 'right', etag: '"v1"' }, 'read'],
  ['412', { status: 412, range: 'none', etag: '"v2"' }, 'SOURCE_CHANGED'],
  ['the rest of another one', { status: 206, range: 'right', etag: '"v2"' }, 'SOURCE_CHANGED'],
  ['another part', { status: 206, range: 'shifted', etag: '"v1"' }, 'FILE_TRUNCATED'],
  ['the rest of a longer one', { status: 206, range: 'longer', etag: '"v1"' }, 'FILE_TRUNCATED'],
  ['the whole object', { status: 200, range: 'none', etag: '"v1"' }, 'FILE_TRUNCATED'],
  ['access denied', { status: 403, range: 'none', etag: '"v1"' }, 'FILE_TRUNCATED'],
] as const)('asked for the rest, a store answers with %s', async (_, { status, range, etag }, expected) => {
  const server = createServer((request, response) => {
    const start = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
    if (start === 0) {
      response.writeHead(200, { etag: '"v1"', 'content-length': csv.length })
      return response.write(csv.slice(0, 1000), () => response.destroy())
    }
    const rest = status === 206 ? csv.slice(start) : status === 200 ? csv : ''
    const from = range === 'shifted' ? start - 1 : start
    const ranges = { right: csv.length, shifted: csv.length, longer: csv.length + 1 }
    response.writeHead(status, {
      etag,
      'content-length': rest.length,
      ...(range === 'none' ? {} : { 'content-range': `bytes ${from}-${from + rest.length - 1}/${ranges[range]}` }),
    })
    return response.end(rest)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const outcome = await readSource(through((server.address() as AddressInfo).port), { env })
  server.closeAllConnections()
  server.close()
  expect([outcome.code, outcome.facts === undefined]).toEqual([expected, expected !== 'read'])
})

test('the error about missing credentials of a store names the variables', async () => {
  await using folder = await temporaryFolder()
  // No credentials from files of this machine, and none from the metadata service of a cloud.
  const env = { HOME: folder.path, AWS_EC2_METADATA_DISABLED: 'true', AWS_PROFILE: 'default' }
  const { code, message } = await readApart(through(await freePort()), { env })
  expect([code, message]).toEqual(['SOURCE_CREDENTIALS', 'no credentials for the store were found'])
})

/** A store that always sends one answer. */
async function storeOf(answer: (request: IncomingMessage, response: ServerResponse) => unknown) {
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const wholeRows = csv.slice(0, csv.indexOf('100,'))

test.each([
  ['206', 206, { 'content-range': `bytes 0-${wholeRows.length - 1}/${csv.length}` }, 'SOURCE_UNAVAILABLE'],
  ['206 without a place', 206, {}, 'SOURCE_UNAVAILABLE'],
  ['200 with a place', 200, { 'content-range': `bytes 0-${wholeRows.length - 1}/${csv.length}` }, 'SOURCE_UNAVAILABLE'],
  ['an unknown packing', 200, { 'content-encoding': 'br' }, 'SOURCE_REFUSED'],
] as const)('asked for an object, a store answers with %s: no row of it counts', async (_, status, head, expected) => {
  await using store = await storeOf((__, response) =>
    response.writeHead(status, { etag: '"v1"', 'content-length': wholeRows.length, ...head }).end(wholeRows),
  )
  const { code, rows, facts } = await readSource(through(store.port), { env })
  expect([code, rows, facts]).toEqual([expected, [], undefined])
})

test.each([
  ['the tag of an upload in parts', '"9b2cf535f27731c974343645a3985328-5"', 'read', 2],
  ['a weak tag', 'W/"v1"', 'FILE_TRUNCATED', 1],
  ['no tag', undefined, 'FILE_TRUNCATED', 1],
] as const)('a download is resumed by %s or not', async (_, etag, expected, requests) => {
  const tag = etag === undefined ? {} : { etag }
  let count = 0
  await using store = await storeOf((request, response) => {
    count++
    const start = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
    if (start > 0) {
      const range = { 'content-range': `bytes ${start}-${csv.length - 1}/${csv.length}`, 'content-length': csv.length - start }
      return response.writeHead(206, { ...tag, ...range }).end(csv.slice(start))
    }
    return response.writeHead(200, { ...tag, 'content-length': csv.length }).write(csv.slice(0, 1000), () => response.destroy())
  })
  expect([(await readSource(through(store.port), { env })).code, count]).toEqual([expected, requests])
})

test.each([
  [403, 'SignatureDoesNotMatch', 'SOURCE_DENIED', 'the store answered 403 (SignatureDoesNotMatch)'],
  [403, 'AccessDenied', 'SOURCE_DENIED', 'the store answered 403 (AccessDenied)'],
  [403, 'RequestTimeTooSkewed', 'SOURCE_DENIED', 'the clock of this machine differs from that of the store (RequestTimeTooSkewed)'],
  [403, 'InvalidObjectState', 'SOURCE_UNAVAILABLE', 'the object is in an archive (InvalidObjectState)'],
  [400, 'ExpiredToken', 'SOURCE_DENIED', 'the session token has expired (ExpiredToken)'],
  [301, 'PermanentRedirect', 'SOURCE_UNAVAILABLE', 'the bucket is in another region (PermanentRedirect)'],
  [404, 'NoSuchKey', 'SOURCE_MISSING', 'the store has no such bucket or object'],
  [400, 'canary name', 'SOURCE_UNAVAILABLE', 'the store answered 400 (unknown)'],
] as const)('the error for %i %s of a store contains the code, not the quoted request', async (status, name, code, message) => {
  const secrets = { AWS_ACCESS_KEY_ID: 'canary-id', AWS_SECRET_ACCESS_KEY: 'canary-key', AWS_SESSION_TOKEN: 'canary-token' }
  let quoted = ''
  await using store = await storeOf((request, response) => {
    quoted = `${request.headers.authorization} ${String(request.headers['x-amz-security-token'])}`
    const said = `<Code>${name}</Code><Message>${quoted}</Message><CanonicalRequest>${quoted}</CanonicalRequest>`
    return response.writeHead(status, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?><Error>${said}</Error>`)
  })
  const { error } = await readSource(through(store.port), { env: secrets })
  expect([error?.code, error?.message]).toEqual([code, message])
  expect(quoted).toMatch(/canary-id.*canary-token/)
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('canary')
})

test('a listing ends when the store repeats its next page', async () => {
  let count = 0
  await using store = await storeOf((_, response) => {
    count++
    const page = '<IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>'
    return response.end(`<?xml version="1.0"?><ListBucketResult>${page}</ListBucketResult>`)
  })
  expect([(await readSource(through(store.port, '*.csv'), { env })).code, count]).toEqual(['SOURCE_MISSING', 2])
})
