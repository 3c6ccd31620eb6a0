/** Breaks connections, and sends incomplete or slow answers (docs/sandbox.md#faults). */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Answer } from '../answer.ts'
import type { Fault } from './faultKinds.ts'
import type { FaultContext } from './faultContext.ts'

/** States of the listening port that a fault can set for `ms` milliseconds. */
export interface PortFaults {
  /** New connections are refused. */
  readonly refuse: (ms: number) => void
  /** New connections are accepted and closed immediately. */
  readonly acceptAndClose: (ms: number) => void
}

const ignored = new WeakSet<Socket>()

/** Returns true if `ignoreLaterRequests` was called for the socket. */
export function ignoresRequests(socket: Socket): boolean {
  return ignored.has(socket)
}

/** Makes the server ignore all later requests on the connection. Does not close the connection. */
export function ignoreLaterRequests(socket: Socket): void {
  ignored.add(socket)
}

/** Resets the connection (RST). Node cannot reset a TLS connection, so such a connection is closed. */
export function reset(socket: Socket): void {
  if ('encrypted' in socket) socket.destroy()
  else socket.resetAndDestroy()
}

/** Sends an interim answer for each of the fault's `statuses`: 100, 102 or 103. Default: 100 and 103. */
export function sendInterimAnswers(context: FaultContext, fault: Fault): void {
  const statuses = Array.isArray(fault['statuses']) ? fault['statuses'].map(Number) : [100, 103]
  for (const status of statuses) {
    if (status === 100) context.response.writeContinue()
    else if (status === 102) context.response.writeProcessing()
    else context.response.writeEarlyHints({ link: '</hint.css>; rel=preload; as=style' })
  }
}

/** Sends the answer as an old proxy does: in HTTP/1.0 and without a length. The answer ends when the connection ends. */
export function sendHttp10Answer(context: FaultContext, answer: Answer): void {
  const { socket } = context.request
  const headers = Object.entries(answer.headers).filter(([name]) => name !== 'content-length' && name !== 'connection')
  context.recordAnswer(answer.status, Buffer.byteLength(answer.body))
  context.isAnsweredOnSocket = true
  socket.write(`HTTP/1.0 ${answer.status} Answer\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
  socket.end(answer.body)
}

/** Pauses after each chunk of the body, so that the body is read at `bytesPerS` bytes per second. `wait` resolves after `ms`. */
export function readSlowly(request: IncomingMessage, bytesPerS: number, wait: (ms: number) => Promise<void>): void {
  request.on('data', (chunk: Buffer) => {
    request.pause()
    void wait((chunk.length * 1000) / bytesPerS).then(() => request.resume())
  })
}

export function sendThen(context: FaultContext, answer: Answer, end: () => void): void {
  context.response.once('finish', end)
  context.recordAnswer(answer.status, Buffer.byteLength(answer.body))
  context.response.writeHead(answer.status, answer.headers)
  context.response.end(answer.body)
}

/** Sends the headers and half of the body, then calls `end`. */
export function sendHalfThen(context: FaultContext, answer: Answer, end: () => void): void {
  const bytes = Buffer.from(answer.body)
  const half = bytes.subarray(0, Math.floor(bytes.length / 2))
  context.recordAnswer(answer.status, half.length)
  context.response.writeHead(answer.status, { ...answer.headers, 'content-length': String(bytes.length) })
  context.response.write(half, end)
}

/** Sends the header `content-length: LENGTH`, and the first `bytes` of the body, at most `length - 1`. Then closes the connection. */
export function sendPartThenClose(
  context: FaultContext,
  answer: Answer,
  bytes: number,
  length: number = Buffer.byteLength(answer.body),
): void {
  const part = Buffer.from(answer.body).subarray(0, Math.min(bytes, length - 1))
  context.recordAnswer(answer.status, part.length)
  context.response.writeHead(answer.status, { ...answer.headers, 'content-length': String(length) })
  context.response.flushHeaders()
  // Not a reset, which could make the client discard the part.
  context.response.write(part, () => context.request.socket.destroySoon())
  if (part.length === 0) context.request.socket.destroySoon()
}

/** Sends the whole body as chunks, but not the terminating chunk, and closes the connection. */
export function sendWithoutEnd(context: FaultContext, answer: Answer): void {
  context.recordAnswer(answer.status, Buffer.byteLength(answer.body))
  context.response.writeHead(answer.status, answer.headers)
  context.response.write(answer.body, () => context.request.socket.destroySoon())
}

/** Sends the headers, then the body at `bytesPerS` bytes per second. `wait` resolves after `ms`. */
export async function sendSlowly(
  context: FaultContext,
  answer: Answer,
  bytesPerS: number,
  wait: (ms: number) => Promise<void>,
): Promise<void> {
  const body = Buffer.from(answer.body)
  context.recordAnswer(answer.status, body.length)
  context.response.writeHead(answer.status, { ...answer.headers, 'content-length': String(body.length) })
  // Ten to nineteen writes per second; fewer below 10 bytes per second.
  const step = Math.max(1, Math.floor(bytesPerS / 10))
  let at = 0
  for (; at + step < body.length && !context.response.destroyed; at += step) {
    context.response.write(body.subarray(at, at + step))
    await wait((step * 1000) / bytesPerS)
  }
  // Sends the last bytes together with the end of the answer. A client may close as soon as it has all bytes. If the answer were not ended
  // by then, the ledger would show `client_closed`.
  context.response.end(body.subarray(at))
}
