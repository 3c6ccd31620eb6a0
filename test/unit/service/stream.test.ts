import { afterEach, expect, test } from 'vitest'
import { createClient } from '../../../src/service/client/index.ts'
import { answerText, type RawServer, startRawServer } from './rawServer.ts'

let server: RawServer | undefined
afterEach(() => server?.close())

/** Starts a service that answers a stream with one event, and then does `end` with its connection. */
async function streamThat(end: 'resets' | 'ends' | 'sends a long line') {
  server = await startRawServer((socket, head) => {
    if (head.startsWith('POST')) return void socket.write(answerText(200, '{"token_type":"bearer","access_token":"t"}'))
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\n{"a":1\r\n4\r\n}\n\n\n\r\n', () => {
      if (end === 'resets') socket.resetAndDestroy()
      else if (end === 'ends') socket.end('0\r\n\r\n')
      else socket.write(`${(1_100_000).toString(16)}\r\n${' '.repeat(1_100_000)}\r\n`)
    })
  })
  return createClient({ baseUrl: server.url, consumerKey: 'k', consumerSecret: 's' }).activity.stream()
}

test('renews an app-only token that was invalidated, and opens the stream once more', async () => {
  let made = 0
  server = await startRawServer((socket, head) => {
    if (head.startsWith('POST')) return void socket.write(answerText(200, `{"token_type":"bearer","access_token":"t${++made}"}`))
    if (head.includes('Bearer t2')) return void socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{"a":1}\n\r\n')
    socket.write(answerText(401, '{"errors":[{"code":89,"message":"Invalid or expired token."}]}'))
  })
  const client = createClient({ baseUrl: server.url, consumerKey: 'k', consumerSecret: 's' })
  for await (const event of client.activity.stream()) {
    expect(event).toEqual({ a: 1 })
    break
  }
  expect(made).toBe(2)
  await client.close()
})

test.for([
  ['never ends', { timeoutMs: 100 }, ' '],
  ['is too large', { timeoutMs: 5_000 }, ' '.repeat(9_000)],
] as const)('reports a refused stream as lost whose body %s', async ([, options, chunk]) => {
  server = await startRawServer((socket, head) => {
    if (head.startsWith('POST')) return void socket.write(answerText(200, '{"token_type":"bearer","access_token":"t"}'))
    socket.write('HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\n\r\n')
    const drip = setInterval(() => socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`), 5)
    socket.on('close', () => clearInterval(drip))
  })
  const client = createClient({ baseUrl: server.url, consumerKey: 'k', consumerSecret: 's' }, { maxAnswerBytes: 8_000 })
  const opening = Array.fromAsync(client.activity.stream({}, options))
  await expect(opening).rejects.toMatchObject({ code: 'SERVICE_ANSWER_LOST', status: 503 })
  await client.close()
})

test('reports a stream to a stopped service as not sent', async () => {
  server = await startRawServer((socket) => void socket.write(answerText(200, '{"token_type":"bearer","access_token":"t"}')))
  const client = createClient({ baseUrl: server.url, consumerKey: 'k', consumerSecret: 's' })
  await client.bearerToken()
  await server.close()
  server = undefined
  await expect(Array.fromAsync(client.activity.stream())).rejects.toMatchObject({
    code: 'SERVICE_UNREACHABLE',
    hint: expect.stringContaining('Check SLUICE_BASE_URL'),
  })
  await client.close()
})

test('opens no stream of a closed client, not even with its stored token', async () => {
  server = await startRawServer((socket) => void socket.write(answerText(200, '{"token_type":"bearer","access_token":"t"}')))
  const client = createClient({ baseUrl: server.url, consumerKey: 'k', consumerSecret: 's' })
  await client.bearerToken()
  await client.close()
  await expect(Array.fromAsync(client.activity.stream())).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE', recovery: 'stop-run' })
})

test.for(['while it opens', 'later'])('ends without an error if the caller aborts %s', async (when) => {
  const caller = new AbortController()
  server = await startRawServer((socket, head) => {
    if (head.startsWith('POST')) return void socket.write(answerText(200, '{"token_type":"bearer","access_token":"t"}'))
    if (when === 'later') socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{"a":1}\n\r\n')
    setTimeout(() => caller.abort(), 20)
  })
  const client = createClient({ baseUrl: server.url, consumerKey: 'k', consumerSecret: 's' })
  expect(await Array.fromAsync(client.activity.stream({}, { signal: caller.signal }))).toEqual(when === 'later' ? [{ a: 1 }] : [])
  await client.close()
})

test.for(['resets', 'ends', 'sends a long line'] as const)('reports a stream as lost whose connection %s', async (end) => {
  const events: unknown[] = []
  const reading = (async () => {
    for await (const event of await streamThat(end)) events.push(event)
  })()
  await expect(reading).rejects.toMatchObject({
    code: 'SERVICE_ANSWER_LOST',
    where: 'GET /2/activity/stream',
    hint: expect.stringContaining('Open the stream again'),
  })
  expect(events).toEqual([{ a: 1 }])
})
