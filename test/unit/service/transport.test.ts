/** One request: sent bytes, received bytes, and the outcome if the answer is incomplete (docs/guarantees.md). */
import { afterEach, describe, expect, test } from 'vitest'
import type { Exchange, ExchangeRequest } from '../../../src/service/client/exchange.ts'
import { createTransport, type TransportOptions } from '../../../src/service/client/transport.ts'
import { systemClock } from '../../../src/clock.ts'
import { answerText, startRawServer, type RawServer } from './rawServer.ts'

const closing: { close: () => Promise<void> }[] = []
afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close()
})

const request: ExchangeRequest = {
  method: 'PUT',
  host: 'ads',
  path: '/12/product_catalogs/4001/products',
  body: Buffer.from('{"products":[]}'),
  timeoutMs: 5_000,
}

function transportFor(url: string, options: TransportOptions = {}, names?: Record<string, string>) {
  const transport = createTransport(
    {
      baseUrl: url,
      adsBaseUrl: url,
      adsVersion: '12',
      consumerKey: 'ck',
      consumerSecret: 'cs',
      accessToken: 'at',
      accessTokenSecret: 'ats',
      ...(names ? { names } : {}),
    },
    options,
  )
  closing.push(transport)
  return transport
}

async function serve(...args: Parameters<typeof startRawServer>): Promise<RawServer> {
  const server = await startRawServer(...args)
  closing.push(server)
  return server
}

const shape = (exchange: Exchange) =>
  exchange.kind === 'answer'
    ? [exchange.kind, exchange.status]
    : exchange.kind === 'lost'
      ? [exchange.kind, exchange.status]
      : [exchange.kind]

describe('outcome of a request', () => {
  test('a refused connection sent nothing', async () => {
    const server = await startRawServer(() => {})
    await server.close()
    expect(shape(await transportFor(server.url).exchange(request))).toEqual(['not-sent'])
  })

  test('a name that does not resolve sent nothing', async () => {
    expect(shape(await transportFor('http://name.invalid').exchange(request))).toEqual(['not-sent'])
  })

  test('a TLS handshake with a server without TLS sends nothing', async () => {
    const server = await serve(
      () => {},
      (socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    )
    expect(shape(await transportFor(server.url.replace('http:', 'https:')).exchange(request))).toEqual(['not-sent'])
  })

  test('a reset after the request, before any answer, is lost without a status', async () => {
    const server = await serve((socket) => socket.resetAndDestroy())
    expect(shape(await transportFor(server.url).exchange(request))).toEqual(['lost', undefined])
  })

  test('a close after the request, before any answer, is lost without a status', async () => {
    const server = await serve((socket) => socket.end())
    expect(shape(await transportFor(server.url).exchange(request))).toEqual(['lost', undefined])
  })

  test('a reset in the middle of the answer is lost with its status and headers', async () => {
    const server = await serve((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"data"', () => socket.resetAndDestroy()),
    )
    const exchange = await transportFor(server.url).exchange(request)
    expect(exchange).toMatchObject({ kind: 'lost', status: 200, headers: { 'content-length': '100' } })
  })

  test('an answer shorter than its content-length is lost with its status', async () => {
    const server = await serve((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\nconnection: close\r\n\r\n{"data":[]}'))
    expect(shape(await transportFor(server.url).exchange(request))).toEqual(['lost', 200])
  })

  test.for(['keep-alive', 'close'])('a chunked answer without its last chunk is lost (connection: %s)', async (connection) => {
    const server = await serve((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: ${connection}\r\n\r\nb\r\n{"data":[]}\r\n`),
    )
    expect(shape(await transportFor(server.url).exchange(request))).toEqual(['lost', 200])
  })

  test('a chunked answer with its last chunk is whole', async () => {
    const server = await serve((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\n{"data":[]}\r\n0\r\n\r\n'),
    )
    const exchange = await transportFor(server.url).exchange(request)
    expect(exchange.kind === 'answer' && exchange.body.toString()).toBe('{"data":[]}')
  })

  test('without length and chunks only a complete JSON value is accepted', async () => {
    const whole = await serve((socket) => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{"data":[]}'))
    expect(shape(await transportFor(whole.url).exchange(request))).toEqual(['answer', 200])
    const cut = await serve((socket) => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{"data":['))
    expect(shape(await transportFor(cut.url).exchange(request))).toEqual(['lost', 200])
  })

  test('an answer that is slower than the deadline is lost', async () => {
    const server = await serve((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
      const drip = setInterval(() => socket.write('x'), 5)
      socket.on('close', () => clearInterval(drip))
    })
    const exchange = await transportFor(server.url).exchange({ ...request, timeoutMs: 100 })
    expect(shape(exchange)).toEqual(['lost', 200])
    expect(exchange.kind === 'lost' && exchange.error).toMatchObject({ code: 'DEADLINE' })
  })

  test('a request without an answer is lost at the deadline, and one without a connection counts as not sent', async () => {
    const server = await serve(() => {})
    const transport = transportFor(server.url, { connections: 1 })
    const [first, second] = await Promise.all([
      transport.exchange({ ...request, timeoutMs: 100 }),
      transport.exchange({ ...request, timeoutMs: 50 }),
    ])
    expect(shape(first)).toEqual(['lost', undefined])
    expect(shape(second)).toEqual(['not-sent'])
  })

  test('a request that was aborted while it waited for a connection is not sent later', async () => {
    const seen: string[] = []
    const server = await serve((socket, head) => {
      seen.push(head.split(' ')[1] ?? '')
      if (head.includes('/last')) socket.write(answerText(200, '{}'))
    })
    const transport = transportFor(server.url, { connections: 1 })
    await Promise.all([
      transport.exchange({ ...request, path: '/first', timeoutMs: 100 }),
      transport.exchange({ ...request, path: '/given-up', timeoutMs: 50 }),
    ])
    expect(shape(await transport.exchange({ ...request, path: '/last' }))).toEqual(['answer', 200])
    expect(seen).toEqual(['/first', '/last'])
  })

  test('an answer that announces more than the cap is aborted at its head', async () => {
    const server = await serve((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 3000\r\n\r\n'))
    const exchange = await transportFor(server.url, { maxAnswerBytes: 2_000 }).exchange(request)
    expect(exchange).toMatchObject({ kind: 'lost', status: 200, error: { code: 'TOO_LARGE' } })
  })

  test('an answer above the cap is lost', async () => {
    const big = 'x'.repeat(3_000)
    const declared = await serve((socket) => socket.write(answerText(200, big)))
    expect(shape(await transportFor(declared.url, { maxAnswerBytes: 2_000 }).exchange(request))).toEqual(['lost', 200])
    const chunked = await serve((socket) => socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nbb8\r\n${big}\r\n0\r\n\r\n`))
    expect(shape(await transportFor(chunked.url, { maxAnswerBytes: 2_000 }).exchange(request))).toEqual(['lost', 200])
  })

  test('an HTML page is returned like any other answer, for the caller to classify', async () => {
    const server = await serve((socket) => socket.write(answerText(502, '<html>', { 'content-type': 'text/html' })))
    expect(shape(await transportFor(server.url).exchange(request))).toEqual(['answer', 502])
  })

  test('an aborted request is lost once bytes have left, and not sent before', async () => {
    const abort = new AbortController()
    const server = await serve(() => abort.abort())
    const transport = transportFor(server.url)
    expect(shape(await transport.exchange({ ...request, signal: abort.signal }))).toEqual(['lost', undefined])
    expect(shape(await transport.exchange({ ...request, signal: abort.signal }))).toEqual(['not-sent'])
  })
})

describe('nothing is sent twice', () => {
  test.for([301, 302, 307, 308])('a redirect (%i) is an answer and is not followed', async (status) => {
    let seen = 0
    const server = await serve((socket) => {
      seen += 1
      socket.write(answerText(status, '', { location: '/elsewhere' }))
    })
    expect(shape(await transportFor(server.url).exchange(request))).toEqual(['answer', status])
    expect(seen).toBe(1)
  })

  test.for(['GET', 'PUT', 'DELETE', 'POST'] as const)('%s on a kept connection that the server resets arrives once', async (method) => {
    const seen: number[] = []
    const server = await serve((socket, _head, _body, nth) => {
      seen.push(nth)
      if (nth === 0) socket.write(answerText(200, '{}'))
      else socket.resetAndDestroy()
    })
    const transport = transportFor(server.url, { connections: 1 })
    const { body: _body, ...bare } = request
    const own: ExchangeRequest = method === 'GET' || method === 'DELETE' ? { ...bare, method } : { ...request, method }
    expect(shape(await transport.exchange(own))).toEqual(['answer', 200])
    expect(shape(await transport.exchange(own))).toEqual(['lost', undefined])
    expect(seen).toEqual([0, 1])
    expect(server.connections()).toBe(1)
  })

  test.for([500, 503, 429])('a %i is not retried', async (status) => {
    let seen = 0
    const server = await serve((socket) => {
      seen += 1
      socket.write(answerText(status, '{}', { 'retry-after': '0' }))
    })
    await transportFor(server.url).exchange(request)
    expect(seen).toBe(1)
  })
})

describe('the sent request', () => {
  test('has query and path as given, unchanged JSON bytes, and one Authorization header', async () => {
    const heads: string[] = []
    const bodies: string[] = []
    const server = await serve((socket, head, body) => {
      heads.push(head)
      bodies.push(body.toString())
      socket.write(answerText(200, '{}'))
    })
    const body = Buffer.from('{"a":"ü ☃"}')
    await transportFor(server.url).exchange({
      ...request,
      body,
      query: { q: "Dogs, Cats & Mice's", snow: '☃' },
      headers: { 'x-test-worker': '7' },
    })
    expect(heads[0]).toContain('PUT /12/product_catalogs/4001/products?q=Dogs%2C%20Cats%20%26%20Mice%27s&snow=%E2%98%83 HTTP/1.1')
    expect(heads[0]).toMatch(/content-type: application\/json/i)
    expect(heads[0]).toMatch(/x-test-worker: 7/)
    expect(heads[0]?.match(/^authorization: OAuth /gim)).toHaveLength(1)
    expect(bodies[0]).toBe(body.toString())
  })

  test('has the real spelling of neutral words in parameters and JSON keys only', async () => {
    const seen: string[] = []
    const server = await serve((socket, head, body) => {
      seen.push(head.split(' ')[1] ?? '', body.toString())
      socket.write(answerText(200, '{}'))
    })
    const text = String.raw`[{"service_id":["service_id"],"note":"\"service_id\": x","x\"service_id":1}]`
    await transportFor(server.url, {}, { service_id: 'real_id' }).exchange({
      ...request,
      body: Buffer.from(text),
      query: { service_id: 'service_id' },
    })
    expect(seen[0]).toContain('?real_id=service_id')
    expect(seen[1]).toBe(String.raw`[{"real_id":["service_id"],"note":"\"service_id\": x","x\"service_id":1}]`)
  })

  test('may have a body of 5 MB', async () => {
    let size = 0
    const server = await serve((socket, _head, body) => {
      size = body.length
      socket.write(answerText(200, '{}'))
    })
    expect(shape(await transportFor(server.url).exchange({ ...request, body: Buffer.alloc(5_000_000, 32) }))).toEqual(['answer', 200])
    expect(size).toBe(5_000_000)
  })

  test('after a refusal the clock is set by the Date header, once until a request is accepted', async () => {
    const stamps: number[] = []
    let status = 401
    const server = await serve((socket, head) => {
      stamps.push(Number(/oauth_timestamp="(\d+)"/.exec(head)?.[1]))
      socket.write(
        answerText(status, '{}', {
          date: status === 401 && stamps.length > 1 ? 'Sat, 01 Jan 2050 00:00:00 GMT' : 'Fri, 01 Jan 2027 00:00:00 GMT',
        }),
      )
    })
    const transport = transportFor(server.url, { clock: { ...systemClock, now: () => Date.UTC(2026, 11, 31) } })
    for (let i = 0; i < 3; i += 1) await transport.exchange(request)
    const [service, start] = [Date.UTC(2027, 0, 1) / 1000, Date.UTC(2026, 11, 31) / 1000]
    expect(stamps).toEqual([start, service, service])
    status = 200
    await transport.exchange(request)
    status = 401
    await transport.exchange(request)
    await transport.exchange(request)
    expect(stamps.at(-1)).toBe(Date.UTC(2050, 0, 1) / 1000)
  })
})

test('a lost answer to the lookup does not prove that the access token is known', async () => {
  const server = await serve((socket, head) => {
    if (head.startsWith('GET /12/accounts')) socket.write(answerText(401, '{}'))
    else if (head.startsWith('GET /2/tweets')) socket.destroy()
    else socket.write(answerText(200, 'oauth_token=t'))
  })
  expect(await transportFor(server.url).refusedCredentials?.()).toBe('SLUICE_ACCESS_TOKEN or SLUICE_ACCESS_TOKEN_SECRET')
})
