import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'

/** Interruption of a connection after the server has sent `afterBytes`. */
export interface Cut {
  readonly afterBytes: number
  /** `end`: closed as if complete; `reset`: reset; `stall`: left open without further bytes. */
  readonly how: 'end' | 'reset' | 'stall'
}

export interface CuttingProxy extends AsyncDisposable {
  readonly port: number
  /** Connections so far. */
  readonly connections: () => number
  /** Connections that were cut. */
  readonly cuts: () => number
  /** Breaks all open connections. */
  readonly cutAll: () => void
  /** Passes nothing on any more, as a server that hangs. */
  readonly hang: () => void
}

export interface ProxyOptions {
  /** Called before the reader can notice a break. */
  readonly onCut?: () => Promise<unknown>
  /** Port behind each connection, by its number from 1; `target` without it. */
  readonly targetOf?: (connection: number) => number
}

/**
 * A TCP proxy on loopback in front of a real server. It breaks connections in the middle. `cutOf` gets the number of each connection, from
 * 1; if it returns undefined, the connection is not broken.
 */
export async function cuttingProxy(
  target: number,
  cutOf: (connection: number) => Cut | undefined,
  { onCut = () => Promise.resolve(), targetOf = () => target }: ProxyOptions = {},
): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  let connections = 0
  let cuts = 0
  let hangs = false
  const server = createServer((client) => {
    const cut = cutOf(++connections)
    if (hangs) return void sockets.add(client)
    const upstream = connect(targetOf(connections), '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    client.on('close', () => upstream.destroy())
    // Bytes that were sent before must still arrive.
    upstream.on('close', (broken) => (broken ? client.destroy() : client.end()))
    client.pipe(upstream)
    if (cut === undefined) return void upstream.pipe(client)
    let left = cut.afterBytes
    upstream.on('data', (chunk) => {
      const part = chunk.subarray(0, left)
      left -= part.length
      if (left > 0) return void client.write(part)
      upstream.pause()
      cuts++
      client.write(part, () => {
        if (cut.how === 'stall') return
        void onCut().then(() => (cut.how === 'end' ? client.end() : client.resetAndDestroy()))
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    cuts: () => cuts,
    cutAll: () => {
      for (const socket of sockets) socket.destroy()
    },
    hang: () => {
      hangs = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}
