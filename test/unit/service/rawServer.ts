/** A server of raw sockets that answers as a test scripts it, byte by byte. */
import { once } from 'node:events'
import net from 'node:net'
import type { AddressInfo } from 'node:net'

export interface RawServer {
  readonly url: string
  readonly connections: () => number
  readonly close: () => Promise<void>
}

/** Calls `onRequest` with each socket once a whole request (head and declared body) has arrived. */
export async function startRawServer(
  onRequest: (socket: net.Socket, head: string, body: Buffer, nth: number) => void,
  onConnect?: (socket: net.Socket) => void,
): Promise<RawServer> {
  const sockets = new Set<net.Socket>()
  let nth = 0
  let connections = 0
  const server = net.createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    onConnect?.(socket)
    let received = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      const end = received.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = received.subarray(0, end).toString('latin1')
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (received.length < end + 4 + length) return
      const body = received.subarray(end + 4, end + 4 + length)
      received = received.subarray(end + 4 + length)
      onRequest(socket, head, body, nth++)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

export function answerText(status: number, body: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return `HTTP/1.1 ${status} Whatever\r\n${lines.join('')}\r\n${body}`
}
