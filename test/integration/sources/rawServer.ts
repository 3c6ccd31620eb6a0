import type { Socket } from 'node:net'
import { createServer } from 'node:net'

export interface RawServer extends AsyncDisposable {
  readonly url: string
  readonly requests: string[]
}

/** A server that answers with raw bytes, so that tests can send every wrong answer. */
export async function rawServer(answer: (request: string, socket: Socket, count: number) => void): Promise<RawServer> {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let head = ''
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1')
      // 0x16 begins a TLS handshake, which has no blank line to wait for.
      if (!head.includes('\r\n\r\n') && !head.startsWith('\u0016')) return
      requests.push(head)
      answer(head, socket, requests.length)
      head = ''
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

/** Head of an answer. */
export const headers = (lines: Readonly<Record<string, string | number>>, status = '200 OK') =>
  `HTTP/1.1 ${status}\r\n${Object.entries(lines)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`
/** A whole answer with its length. */
export const full = (body: string | Buffer, more: Readonly<Record<string, string | number>> = {}) =>
  Buffer.concat([Buffer.from(headers({ 'content-length': Buffer.byteLength(body), ...more })), Buffer.from(body)])
