/** W10: the client of the service and the reader of feeds skip interim answers. */
import type { Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { afterInterim } from '../../../src/http/interimAnswers.ts'
import { openWire } from '../../../src/service/client/wireStream.ts'
import { createWire, type WireRequest } from '../../../src/service/client/wire.ts'
import { systemClock } from '../../../src/clock.ts'
import { answerText, startRawServer } from '../service/rawServer.ts'

const closing: { close: () => Promise<void> }[] = []
afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close()
})

const goOn = 'HTTP/1.1 100 Continue\r\n\r\n'
const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n'
const answer = answerText(200, '{"data":[]}')

test.for([
  ['nothing before it', '', answer],
  ['100', goOn, answer],
  ['100 without a word', 'HTTP/1.1 100 \r\n\r\n', answer],
  ['100 with a header', 'HTTP/1.1 100 Continue\r\nvia: 1.1 proxy\r\n\r\n', answer],
  ['100, 102, 103, 100', `${goOn}HTTP/1.1 102 Processing\r\n\r\n${hints}${goOn}`, answer],
  ['an unknown one', 'HTTP/1.1 199 Later\r\n\r\n', answer],
  ['another protocol', '', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n'],
  ['no answer at all', '', 'nonsense'],
  ['a status that is none', '', 'HTTP/1.1 1000 Continue\r\n\r\n'],
  ['a body that looks like one', '', `HTTP/1.1 200 OK\r\ncontent-length: 25\r\n\r\n${goOn}`],
] as const)('%s is skipped, wherever it is split', ([, before, rest]) => {
  const whole = Buffer.from(before + rest)
  for (let length = 0; length <= whole.length; length++) {
    const found = afterInterim(whole.subarray(0, length))?.toString()
    // Nothing is passed on before the answer begins, and then only bytes of the answer.
    if (found === undefined) expect(length, 'found as soon as 13 bytes of it are there').toBeLessThan(before.length + 13)
    else expect(found).toBe(whole.subarray(before.length, length).toString())
  }
  expect(afterInterim(whole)?.toString()).toBe(rest)
})

test('a head that never ends is passed on, so that the reader rejects it', () => {
  expect(afterInterim(Buffer.alloc(70_000, 'HTTP/1.1 100 x'))).toHaveLength(70_000)
})

async function serve(respond: (socket: Socket, nth: number) => void, onConnect?: (socket: Socket) => void) {
  const bodies: string[] = []
  const server = await startRawServer((socket, _, body, nth) => {
    bodies.push(body.toString())
    respond(socket, nth)
  }, onConnect)
  const wire = createWire({ clock: systemClock, connections: 1, maxAnswerBytes: 1_000_000 })
  closing.push(server, wire)
  const request: WireRequest = {
    method: 'PUT',
    origin: server.url,
    path: '/12/a',
    headers: { 'content-type': 'application/json' },
    body: Buffer.from('[1]'),
    timeoutMs: 5_000,
  }
  return { server, wire, request, bodies }
}

describe('a write', () => {
  test('that is aborted while it waits for a connection does not close it', async () => {
    const { server, wire, request, bodies } = await serve((socket, nth): void => {
      setTimeout(() => socket.write(answer), nth === 0 ? 200 : 0)
    })
    const stop = new AbortController()
    const first = wire.send(request)
    const aborted = wire.send({ ...request, body: Buffer.from('[2]'), signal: stop.signal })
    const last = wire.send({ ...request, body: Buffer.from('[3]') })
    await expect.poll(() => bodies).toHaveLength(1)
    stop.abort()
    expect(await aborted).toMatchObject({ kind: 'not-sent', error: { code: 'ABORTED' } })
    expect(await Promise.all([first, last])).toMatchObject([{ kind: 'answer' }, { kind: 'answer' }])
    expect([bodies, server.connections()]).toEqual([['[1]', '[3]'], 1])
  })

  test('gets the answer after 100, 102 and 103, is sent once, and its connection is used again', async () => {
    const { server, wire, request, bodies } = await serve((socket, nth): void => {
      if (nth < 2) socket.write(`${goOn}HTTP/1.1 102 Processing\r\n\r\n${hints}${answer}`)
      else socket.write(answer)
    })
    for (let nth = 0; nth < 3; nth++) {
      const exchange = await wire.send(request)
      expect(exchange).toMatchObject({ kind: 'answer', status: 200, body: Buffer.from('{"data":[]}') })
    }
    expect([bodies.length, server.connections()]).toEqual([3, 1])
  })

  test('gets its answer even if it arrives byte by byte', async () => {
    const { wire, request } = await serve((socket): void => {
      const bytes = Buffer.from(goOn + hints + answer)
      const next = (at: number): void => {
        if (at < bytes.length) socket.write(bytes.subarray(at, at + 1), () => setImmediate(next, at + 1))
      }
      next(0)
    })
    expect(await wire.send(request)).toMatchObject({ kind: 'answer', status: 200, body: Buffer.from('{"data":[]}') })
  })

  test('gets its answer even if 100 comes while its body is being sent', async () => {
    const { wire, request, bodies } = await serve(
      (socket) => socket.write(answer),
      (socket) => socket.once('data', () => socket.write(goOn)),
    )
    const body = Buffer.alloc(5_000_000, 'x')
    expect(await wire.send({ ...request, body })).toMatchObject({ kind: 'answer', status: 200 })
    expect(bodies.map(({ length }) => length)).toEqual([5_000_000])
  })

  test.for([
    ['its connection ends', (socket: Socket) => socket.end(goOn)],
    ['its connection is reset', (socket: Socket) => socket.write(goOn, () => socket.resetAndDestroy())],
    [
      'an unasked 101 comes',
      (socket: Socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    ],
    ['nothing more comes', (socket: Socket) => socket.write(goOn)],
    ['the answer breaks off in its head', (socket: Socket) => socket.end(`${goOn}HTTP/1.1 200 OK\r\nconte`)],
    ['interim answers never end', (socket: Socket) => flood(socket)],
  ] as const)('is ambiguous, never refused or confirmed, when %s', async ([, respond]) => {
    const { wire, request, bodies } = await serve(respond)
    // No status, because it is unknown whether the service applied the request.
    expect(await wire.send({ ...request, timeoutMs: 300 })).toEqual({
      kind: 'lost',
      error: expect.any(Error),
      durationMs: expect.any(Number),
    })
    expect(bodies).toEqual(['[1]'])
  })
})

function flood(socket: Socket): void {
  while (!socket.destroyed && socket.write(hints)) {}
  socket.once('drain', () => flood(socket))
}

test('an answer that is read while it arrives begins after interim ones', async () => {
  const { request } = await serve((socket) => socket.write(`${goOn}HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc`))
  const opened = await openWire(request, 1_000)
  if (opened.kind !== 'open') throw new Error('not open')
  expect(Buffer.concat(await Array.fromAsync(opened.chunks)).toString()).toBe('abc')
  opened.close()
})
