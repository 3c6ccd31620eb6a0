/** Faults of the connection, of TLS, of reads and of the process (docs/sandbox.md), as a client sees them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { product } from '../support/product.ts'
import { controlOf, signedCall, withSandbox, type CallResult, type Loose } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'
import { authorization } from '../support/signer.ts'
import { target } from '../support/target.ts'

const sandbox = sharedSandbox()
const agents: Agent[] = []
afterEach(() => {
  for (const agent of agents.splice(0)) agent.destroy()
})

const path = '/12/product_catalogs/4001/products'
const put = (...ids: string[]): Promise<CallResult> => sandbox.call('PUT', path, { json: { products: ids.map((id) => product(id)) } })
const products = async (): Promise<number> => (await sandbox.control.catalog()).products
const arm = (
  fault: Record<string, unknown>,
  match: Record<string, unknown> = { method: 'PUT' },
  times?: number | 'always',
): Promise<string> => sandbox.control.fault(match, fault, times)
const oneConnection = (): Agent => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  agents.push(agent)
  return agent
}

interface Seen {
  readonly status: number
  readonly text: string
  readonly version: string
  readonly interim: readonly number[]
  readonly headers: IncomingMessage['headers']
}

/**
 * A signed call over a connection of that agent, with the details that fetch hides. Returns the code of the error if there is no answer.
 */
function send(agent: Agent, method: string, at: string, body?: unknown, timeoutMs = 2_000): Promise<Seen | string> {
  const url = sandbox.url + at
  const text = body === undefined ? undefined : JSON.stringify(body)
  return new Promise((resolve) => {
    const interim: number[] = []
    const headers = {
      authorization: authorization({ method, url }),
      ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    }
    const request = httpRequest(url, { method, agent, headers, timeout: timeoutMs }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          text: Buffer.concat(chunks).toString(),
          version: response.httpVersion,
          interim,
          headers: response.headers,
        }),
      )
      response.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'))
    })
    request.on('information', ({ statusCode }) => interim.push(statusCode))
    request.on('continue', () => undefined)
    request.on('timeout', () => request.destroy(Object.assign(new Error('no answer'), { code: 'NO_ANSWER' })))
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'))
    request.end(text)
  })
}
const read = (agent: Agent, timeoutMs?: number): Promise<Seen | string> => send(agent, 'GET', path, undefined, timeoutMs)
const statusOf = (seen: Seen | string): number | string => (typeof seen === 'string' ? seen : seen.status)

describe('connections', () => {
  test('interim answers before the real one', async () => {
    await arm({ kind: 'interim', statuses: [100, 102, 103] })
    expect(await send(oneConnection(), 'PUT', path, { products: [product('a')] })).toMatchObject({ status: 200, interim: [100, 102, 103] })
    expect(await products()).toBe(1)
  })
  test('an answer in HTTP/1.0, ended by the connection', async () => {
    await arm({ kind: 'http10' })
    const seen = await send(oneConnection(), 'PUT', path, { products: [product('a')] })
    expect(seen).toMatchObject({ status: 200, version: '1.0' })
    expect((seen as Seen).text).toContain('CREATE_SUCCESS')
    expect((seen as Seen).headers['content-length']).toBeUndefined()
    expect((await sandbox.control.ledger()).at(-1)).toMatchObject({ status: 200, applied: true, client_closed: false })
  })
  test('half open: answered once, then silence on that connection and nowhere else', async () => {
    const agent = oneConnection()
    await arm({ kind: 'half_open' }, { path: '/12/' })
    expect(statusOf(await read(agent))).toBe(200)
    expect(await read(agent, 150)).toBe('NO_ANSWER')
    expect(statusOf(await read(oneConnection()))).toBe(200)
    expect(await sandbox.control.ledger()).toHaveLength(2)
  })
  test('half open before the answer: applied, without an answer', async () => {
    await arm({ kind: 'half_open', stage: 'after_apply' })
    expect(await send(oneConnection(), 'PUT', path, { products: [product('a')] }, 150)).toBe('NO_ANSWER')
    expect(await products()).toBe(1)
  })
  test('an idle connection closed behind the answer', async () => {
    const agent = oneConnection()
    await arm({ kind: 'idle_close', ms: 30 }, { path: '/12/' })
    expect(statusOf(await read(agent))).toBe(200)
    await expect.poll(async () => (await sandbox.control.ledger()).length, { timeout: 10_000 }).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 80))
    expect(Object.values(agent.freeSockets).flat()).toEqual([])
  })
  test('refused, then open again', async () => {
    await arm({ kind: 'refuse', ms: 1_500 }, { path: '/12/' })
    expect(await read(oneConnection())).toBe('ECONNRESET')
    expect(await read(oneConnection())).toBe('ECONNREFUSED')
    await expect.poll(async () => statusOf(await read(oneConnection())), { timeout: 10_000 }).toBe(200)
  })
  test('refused for longer than a timer of Node can take: the port does not open immediately', async () => {
    await using own = await withSandbox({ seed: 2 })
    await own.control.fault({ method: 'GET' }, { kind: 'refuse', ms: 3_000_000_000 })
    await expect(own.call('GET', path)).rejects.toThrow('fetch failed')
    await new Promise((resolve) => setTimeout(resolve, 300))
    await expect(own.call('GET', path)).rejects.toThrow('fetch failed')
  })
  test('refused, and the port is taken meanwhile: open again when it is free', async () => {
    await using own = await withSandbox({ seed: 2 })
    const { url } = (await own.control.request('POST', 'tls', {})).body
    await own.control.fault({ method: 'GET' }, { kind: 'refuse', ms: 300 })
    await expect(own.call('GET', path)).rejects.toThrow('fetch failed')
    const others = await Promise.all(
      [own.port, Number(new URL(url).port)].map(async (port) => {
        const other = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1')
        await once(other, 'listening')
        return other
      }),
    )
    await new Promise((resolve) => setTimeout(resolve, 600))
    for (const other of others) await new Promise((resolve) => other.close(resolve))
    await expect.poll(async () => own.call('GET', path).then(({ status }) => status, String), { timeout: 10_000 }).toBe(200)
    const tls = async (): Promise<string> => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      return once(socket, 'connect').then(
        () => (socket.destroy(), 'open'),
        () => 'closed',
      )
    }
    await expect.poll(tls, { timeout: 10_000 }).toBe('open')
  })
  test('accepted and closed, then open again', async () => {
    await arm({ kind: 'accept_close', ms: 1_500 }, { path: '/12/' })
    expect(await read(oneConnection())).toBe('ECONNRESET')
    expect(await read(oneConnection())).toBe('ECONNRESET')
    await expect.poll(async () => statusOf(await read(oneConnection())), { timeout: 10_000 }).toBe(200)
  })
  test('only so many connections', async () => {
    await using own = await withSandbox({ seed: 2 })
    const open = (): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(own.port, '127.0.0.1')
        socket.on('close', () => resolve('closed')).on('error', () => undefined)
        setTimeout(() => (socket.destroyed ? undefined : resolve('open')), 100)
      })
    await own.control.switches({ max_connections: 4 })
    // One of them is of the control API.
    expect((await Promise.all([open(), open(), open(), open(), open()])).filter((one) => one === 'closed').length).toBeGreaterThan(0)
  })
  test('a refusal for the first request of each connection only', async () => {
    await arm({ kind: 'status', status: 401 }, { path: '/12/', first_of_connection: true }, 'always')
    const [a, b] = [oneConnection(), oneConnection()]
    expect([await read(a), await read(a), await read(b), await read(b)].map(statusOf)).toEqual([401, 200, 401, 200])
  })
  test('a body read slowly', async () => {
    await arm({ kind: 'slow_upload', bytes_per_s: 2_000 })
    const from = performance.now()
    expect(statusOf(await send(oneConnection(), 'PUT', path, { products: [product('a'), product('b')] }))).toBe(200)
    expect(performance.now() - from).toBeGreaterThan(150)
  })
  test('every fault of the wire stands in the ledger with its kind', async () => {
    for (const kind of ['interim', 'http10', 'half_open', 'idle_close']) {
      await arm({ kind })
      await send(oneConnection(), 'PUT', path, { products: [product(kind)] })
      expect((await sandbox.control.ledger()).at(-1), kind).toMatchObject({ fault: kind, applied: true, status: 200 })
    }
    expect(await products()).toBe(4)
  })
})

describe('TLS', () => {
  const over = async (listener: Loose): Promise<string> =>
    new Promise((resolve) => {
      const url = `${listener.url}/12/accounts`
      const request = httpsRequest(url, {
        ca: listener.ca,
        agent: false,
        timeout: 500,
        headers: { authorization: authorization({ method: 'GET', url }) },
      })
      request.on('response', (response) => response.resume().on('end', () => resolve(String(response.statusCode))))
      request.on('timeout', () => request.destroy(Object.assign(new Error('no answer'), { code: 'NO_ANSWER' })))
      request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'))
      request.end()
    })
  const open = async (body: unknown): Promise<Loose> => (await sandbox.control.request('POST', 'tls', body)).body

  test('a good listener is the same service, signatures over https included', async () => {
    expect(await over(await open({}))).toBe('200')
  })
  test.for([
    ['expired', 'CERT_HAS_EXPIRED'],
    ['self_signed', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['wrong_host', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['old_version', 'EPROTO'],
    ['drop', 'ECONNRESET'],
    ['stall', 'NO_ANSWER'],
  ] as const)('%s is seen as %s, and after so many times all is well', async ([kind, code]) => {
    const listener = await open({ kind, times: 2 })
    expect([await over(listener), await over(listener), await over(listener)]).toEqual([code, code, '200'])
    expect(await sandbox.control.ledger()).toHaveLength(1)
  })
  test('refuse: new connections over TLS are rejected too, until the port opens again', async () => {
    const listener = await open({})
    await arm({ kind: 'refuse', ms: 1_000 }, { method: 'GET' })
    expect([await over(listener), await over(listener)]).toEqual(['ECONNRESET', 'ECONNREFUSED'])
    await expect.poll(() => over(listener), { timeout: 10_000 }).toBe('200')
  })
  test('an unknown kind is refused; a reset closes every listener', async () => {
    expect((await sandbox.control.request('POST', 'tls', { kind: 'soft' })).status).toBe(400)
    const listener = await open({})
    await sandbox.control.reset()
    expect(await over(listener)).toBe('ECONNREFUSED')
  })
})

describe('reads', () => {
  const ids = async (query: Record<string, string | number> = {}): Promise<string[]> =>
    (await sandbox.call('GET', path, { query })).body.data.map(({ id }: Loose) => id)

  test('stale: what stood some time ago, for reads only', async () => {
    await put('a')
    await arm({ kind: 'stale', lag_ms: 60_000 }, { path }, 'always')
    await put('b')
    await put('c')
    expect(await ids()).toEqual(['a'])
    await sandbox.control.clearFaults()
    expect(await ids()).toEqual(['a', 'b', 'c'])
    await arm({ kind: 'stale', lag_ms: 0 }, { path }, 'always')
    await put('d')
    expect(await ids()).toEqual(['a', 'b', 'c', 'd'])
  })
  test('stale: the lag passes', async () => {
    await arm({ kind: 'stale', lag_ms: 1_500 }, { path }, 'always')
    await put('a')
    expect(await ids()).toEqual([])
    await expect.poll(() => ids(), { timeout: 10_000 }).toEqual(['a'])
  })
  test('a page that shifted: a row missing, or there twice', async () => {
    await put('a', 'b', 'c')
    await arm({ kind: 'page_shift', by: 1 }, { method: 'GET' })
    await arm({ kind: 'page_shift', by: -1 }, { method: 'GET' })
    expect([await ids(), await ids(), await ids()]).toEqual([
      ['b', 'c'],
      ['a', 'a', 'b', 'c'],
      ['a', 'b', 'c'],
    ])
  })
  test('a cursor that expired, and one that repeats', async () => {
    await put('a', 'b', 'c')
    const first = await sandbox.call('GET', path, { query: { count: 1 } })
    const cursor = String(first.body.next_cursor)
    await arm({ kind: 'cursor_expired' }, { method: 'GET' }, 'always')
    expect((await sandbox.call('GET', path, { query: { count: 1 } })).status).toBe(200)
    const refused = await sandbox.call('GET', path, { query: { count: 1, cursor } })
    expect([refused.status, refused.body.errors[0].parameter]).toEqual([400, 'cursor'])
    await sandbox.control.clearFaults()
    await arm({ kind: 'cursor_repeats' }, { method: 'GET' })
    expect((await sandbox.call('GET', path, { query: { count: 1, cursor } })).body.next_cursor).toBe(cursor)
  })
})

test('a clock that differs: refused with the Date to correct by, and let in once corrected', async () => {
  await arm({ kind: 'clock_skew', s: 3_600 }, { path: '/12/' }, 'always')
  const refused = await sandbox.call('GET', path)
  expect([refused.status, refused.body.errors[0].code]).toEqual([401, 'UNAUTHORIZED_ACCESS'])
  const aheadS = (Date.parse(refused.headers.get('date') ?? '') - Date.now()) / 1000
  expect(Math.abs(aheadS - 3_600)).toBeLessThan(5)
  expect((await sandbox.call('GET', path, { timestamp: Math.floor(Date.now() / 1000) + 3_600 })).status).toBe(200)
})

test('a token call refused by a fault says code 99', async () => {
  await arm({ kind: 'status', status: 403 }, { path: '/oauth2/token' })
  const answer = await sandbox.call('POST', '/oauth2/token', { form: { grant_type: 'client_credentials' } })
  expect([answer.status, answer.body.errors[0].code]).toEqual([403, 99])
})

describe.skipIf(target !== undefined)('the process', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-crash-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  async function start(file: string): Promise<{ url: string; gone: Promise<unknown>; end: () => void }> {
    const child = spawn(process.execPath, [fileURLToPath(new URL('../support/sandboxProcess.ts', import.meta.url)), file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const gone = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)))
    for await (const line of createInterface({ input: child.stdout })) return { url: line, gone, end: () => child.kill('SIGKILL') }
    throw new Error('the sandbox printed no address')
  }

  test.for([
    ['before_apply', 0],
    ['after_apply', 1],
    ['mid_response', 1],
  ] as const)('a crash %s: %i products are there after the restart', { tags: ['long'] }, async ([stage, expected]) => {
    const file = join(folder, 'state.jsonl')
    const first = await start(file)
    await controlOf(first.url).fault({ method: 'PUT' }, { kind: 'crash', stage })
    const answer = signedCall(first.url, 'PUT', path, { json: { products: [product('a')] } })
    expect(await answer.then(() => 'answered').catch(() => 'broken')).toBe('broken')
    expect(await first.gone).toBe('SIGKILL')
    const second = await start(file)
    expect((await controlOf(second.url).catalog()).products).toBe(expected)
    second.end()
    await second.gone
  })
  test('a crash after_response follows a complete answer', async () => {
    const file = join(folder, 'state.jsonl')
    const first = await start(file)
    await controlOf(first.url).fault({ method: 'PUT' }, { kind: 'crash', stage: 'after_response' })
    const answer = await signedCall(first.url, 'PUT', path, { json: { products: [product('a')] } })
    expect(answer.body.data.products_response).toMatchObject([{ id: 'a', status: 'CREATE_SUCCESS' }])
    expect(await first.gone).toBe('SIGKILL')
  })
  test('is not killed where it is shared', async () => {
    const answer = await sandbox.control.request('POST', 'faults', { fault: { kind: 'crash' } })
    expect([answer.status, answer.body.error]).toEqual([
      400,
      'crash needs a sandbox with a process of its own: start one with sluice sandbox',
    ])
  })
})
