/** Real file servers, with and without ranges: broken connections, and exports that are written during the read. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { appendFile, rename, stat, utimes, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLogger } from '../../../src/log.ts'
import type { SourceFacts } from '../../../src/formats/rows.ts'
import { openSource } from '../../../src/sources/openSource.ts'
import { cuttingProxy } from './cuttingProxy.ts'
import { readSource, sourceOf, temporaryFolder } from './support.ts'

const csv = `id,title\n${Array.from({ length: 40_000 }, (_, at) => `${at},${'x'.repeat(100)}\n`).join('')}`
const sha256 = createHash('sha256').update(csv).digest('hex')

/** A server of the files of one folder, with tags of size and time, ranges and conditions, as in common servers. */
async function fileServer() {
  const folder = await temporaryFolder()
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = join(folder.path, new URL(request.url ?? '', 'http://x').pathname)
    const { size, mtime } = await stat(path)
    const etag = `"${size.toString(16)}-${mtime.getTime().toString(16)}"`
    const head = { etag, 'last-modified': mtime.toUTCString(), 'accept-ranges': 'bytes' }
    if (request.headers['if-none-match'] === etag) return response.writeHead(304, head).end()
    const start = request.headers['if-range'] === etag ? Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0) : 0
    response.writeHead(start > 0 ? 206 : 200, {
      ...head,
      'content-length': size - start,
      ...(start > 0 ? { 'content-range': `bytes ${start}-${size - 1}/${size}` } : {}),
    })
    return request.method === 'HEAD' ? response.end() : createReadStream(path, { start, end: size - 1 }).pipe(response)
  }
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    folder,
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** The file server of Python: HTTP/1.0, times of change, no tags, no ranges. Undefined without Python. */
async function plainServer() {
  const folder = await temporaryFolder()
  const server = spawn('python3', ['-u', '-m', 'http.server', '0', '--bind', '127.0.0.1', '--directory', folder.path], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const port = await Promise.race([
    once(server, 'error').then(() => undefined),
    // Left open, because the server ends if it cannot write its second line.
    once(server.stdout, 'data').then(([line]) => Number(/port (\d+)/.exec(String(line))?.[1])),
  ])
  return {
    folder,
    port,
    [Symbol.asyncDispose]: async () => {
      server.kill()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const feed = (port: number) => sourceOf(`http://127.0.0.1:${port}/feed.csv`, { allowPrivate: true })

test.each(['end', 'reset'] as const)('a download that breaks repeatedly (%s) is resumed, and each byte read once', async (how) => {
  await using server = await fileServer()
  await server.folder.write('feed.csv', csv)
  await using proxy = await cuttingProxy(server.port, (connection) => (connection < 8 ? { afterBytes: 500_000, how } : undefined))
  const { code, rows, facts } = await readSource(feed(proxy.port))
  expect([code, rows.length, proxy.cuts(), facts?.sha256]).toEqual(['read', 40_000, 7, sha256])
  expect(facts?.completeness).toEqual({ complete: true, proof: 'content-length met' })
})

test('from a server without ranges, known bytes are skipped', async ({ skip }) => {
  await using server = await plainServer()
  if (server.port === undefined) return skip('Python is not installed')
  await utimes(await server.folder.write('feed.csv', csv), 1_000_000, 1_000_000)
  await using proxy = await cuttingProxy(server.port, (connection) =>
    connection === 1 ? { afterBytes: 3_000_000, how: 'reset' } : undefined,
  )
  const { code, rows, facts } = await readSource(feed(proxy.port))
  expect([code, rows.length, proxy.cuts(), facts?.sha256]).toEqual(['read', 40_000, 1, sha256])
})

test('a read fails if the server always closes after the first bytes', async () => {
  await using server = await fileServer()
  await server.folder.write('feed.csv', csv)
  await using proxy = await cuttingProxy(server.port, () => ({ afterBytes: 5_000, how: 'reset' }))
  const { code, facts, error } = await readSource(feed(proxy.port))
  expect([code, facts, proxy.cuts()]).toEqual(['FILE_TRUNCATED', undefined, 4])
  expect(error?.where).toBe(`http://127.0.0.1:${proxy.port}/feed.csv`)
})

test.each([
  ['of the same length', csv.replaceAll('x', 'y')],
  ['longer', csv + csv],
  ['shorter', csv.slice(0, 9_000)],
])('a download of a feed that changed, %s, after the connection broke is not resumed', async (_, newer) => {
  await using server = await fileServer()
  const path = await server.folder.write('feed.csv', csv)
  await using proxy = await cuttingProxy(
    server.port,
    (connection) => (connection === 1 ? { afterBytes: 500_000, how: 'reset' } : undefined),
    { onCut: () => writeFile(path, newer).then(() => utimes(path, 2_000_000, 2_000_000)) },
  )
  const { code, facts } = await readSource(feed(proxy.port))
  expect([code, facts]).toEqual(['SOURCE_CHANGED', undefined])
})

/** Opens the feed, changes it on the server, and continues to read: no connection is broken. */
async function readWhile(change: (path: string) => Promise<unknown>): Promise<SourceFacts> {
  await using server = await fileServer()
  const path = await server.folder.write('feed.csv', csv)
  await utimes(path, 1_000_000, 1_000_000)
  const source = await openSource(feed(server.port), { env: {}, log: silentLogger })
  await change(path)
  await Array.fromAsync(source.rows)
  return source.facts()
}

test.each([
  ['is replaced by another', (path: string) => writeFile(`${path}.new`, csv.slice(0, 9_000)).then(() => rename(`${path}.new`, path))],
  ['is written over', (path: string) => writeFile(path, csv.replaceAll('x', 'y'), { flag: 'r+' })],
  ['has only begun to be written', (path: string) => appendFile(path, '40000,late\n')],
] as const)('the read of a feed that %s on the server is not complete', async (_, change) => {
  expect((await readWhile(change)).completeness).toEqual({
    complete: false,
    proof: 'none',
    reason: 'the feed changed on the server while it was read',
  })
})

test('the read of an unchanged feed is complete', async () => {
  expect((await readWhile(() => Promise.resolve())).completeness).toEqual({ complete: true, proof: 'content-length met' })
})

test.each([
  ['a tag made up for each answer', (count: number) => ({ etag: `"${count}"`, 'last-modified': 'Sat, 21 Nov 2026 10:00:00 GMT' })],
  [
    'the time of the answer as time of change',
    (count: number) => {
      const now = new Date(Date.UTC(2026, 10, 21) + Math.min(count, 2) * 60_000).toUTCString()
      return { 'last-modified': now, date: now }
    },
  ],
  [
    'a head of length 0',
    (count: number) => ({ 'last-modified': 'Sat, 21 Nov 2026 10:00:00 GMT', ...(count === 1 ? {} : { 'content-length': 0 }) }),
  ],
  [
    'a login page as answer to HEAD',
    (count: number) =>
      count === 1 ? { 'last-modified': 'Sat, 21 Nov 2026 10:00:00 GMT' } : { 'content-type': 'text/html', 'content-length': 99 },
  ],
  ['no answer to HEAD', (count: number) => (count === 1 ? { 'last-modified': 'Sat, 21 Nov 2026 10:00:00 GMT' } : undefined)],
] as const)('%s does not show that the feed changed', async (_, headOf) => {
  let count = 0
  const server = createServer((__, response) => {
    const head = headOf(++count)
    if (head === undefined) return response.writeHead(405).end()
    return response.writeHead(200, { 'content-length': csv.length, ...head }).end(csv)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { facts } = await readSource(feed((server.address() as AddressInfo).port))
    expect([facts?.completeness.proof, count]).toEqual(['content-length met', expect.any(Number)])
    expect(count).toBeGreaterThan(1)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
