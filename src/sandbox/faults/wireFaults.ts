/** Faults of the connection itself: what a proxy, a load balancer or a dying host does (docs/sandbox.md, 'status', 'time'). */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Answer } from '../answer.ts'
import type { Fault } from './faultKinds.ts'
import type { FaultContext } from './faultContext.ts'

/** States of the listening port that a fault can set for a while. */
export interface Port {
  /** New connections are refused. */
  readonly refuse: (ms: number) => void
  /** New connections are accepted and closed immediately. */
  readonly acceptAndClose: (ms: number) => void
}

const dead = new WeakSet<Socket>()

/** The other side of this connection has vanished without a word: nothing that comes is read, nothing is answered. */
export function isDead(socket: Socket): boolean {
  return dead.has(socket)
}

/** Keeps the connection open and never answers again. */
export function vanish(socket: Socket): void {
  dead.add(socket)
}

/** RST where the socket can send one; a TLS connection can only be dropped. */
export function reset(socket: Socket): void {
  if ('encrypted' in socket) socket.destroy()
  else socket.resetAndDestroy()
}

/** Sends the interim answers of `statuses` (100, 102, 103), default 100 and 103, before the real one. */
export function interim(requestContext: FaultContext, fault: Fault): void {
  const statuses = Array.isArray(fault['statuses']) ? fault['statuses'].map(Number) : [100, 103]
  for (const status of statuses) {
    if (status === 100) requestContext.response.writeContinue()
    else if (status === 102) requestContext.response.writeProcessing()
    else if (status === 103) requestContext.response.writeEarlyHints({ link: '</hint.css>; rel=preload; as=style' })
  }
}

/** The answer of an old proxy: HTTP/1.0, no length, ended by the end of the connection. */
export function oldAnswer(requestContext: FaultContext, answer: Answer): void {
  const { socket } = requestContext.request
  const headers = Object.entries(answer.headers).filter(([name]) => name !== 'content-length' && name !== 'connection')
  requestContext.entry.status = answer.status
  requestContext.entry.answer_bytes = Buffer.byteLength(answer.body)
  requestContext.answered = true
  socket.write(`HTTP/1.0 ${answer.status} Answer\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
  socket.end(answer.body)
}

/** Reads the body no faster than so many bytes a second, so that the sender has to wait. */
export function readSlowly(request: IncomingMessage, bytesPerS: number, wait: (ms: number) => Promise<void>): void {
  request.on('data', (chunk: Buffer) => {
    request.pause()
    void wait((chunk.length * 1000) / bytesPerS).then(() => request.resume())
  })
}
