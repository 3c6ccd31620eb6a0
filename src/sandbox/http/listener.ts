/**
 * Listens on the port that all three hosts of the service share. Limits the number of connections. The faults `refuse` and `accept_close`
 * reject new connections (docs/sandbox.md#faults).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Server as TcpServer, Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from '../../log.ts'
import { MAX_TIMER_MS } from '../faults/waits.ts'
import type { SandboxWorld } from '../state/world.ts'

/** Listener on the loopback port of the sandbox, with the open connections. */
export class Listener {
  readonly #world: SandboxWorld
  readonly #server: Server
  readonly #connections = new Map<Socket, { readonly id: number; requests: number }>()
  #nextConnection = 1
  #closeNewUntil = 0
  #port = 0
  #reopening: AbortController | undefined

  constructor(world: SandboxWorld, receive: (request: IncomingMessage, response: ServerResponse) => void) {
    this.#world = world
    this.#server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, receive)
    this.#server.on('connection', (socket: Socket) => {
      const maxConnections = world.switchValue('max_connections')
      if (world.machineNow() < this.#closeNewUntil || (maxConnections !== 'none' && this.#connections.size >= Number(maxConnections))) {
        socket.destroySoon()
        return
      }
      this.#connections.set(socket, { id: this.#nextConnection++, requests: 0 })
      socket.setNoDelay(true)
      socket.on('close', () => this.#connections.delete(socket))
      socket.on('error', () => socket.destroy())
    })
  }

  /** Counts a request. Returns the number of its connection (0 if unknown), and whether it is the first request of the connection. */
  countRequest(socket: Socket): { readonly connection: number; readonly isFirstOfConnection: boolean } {
    const connection = this.#connections.get(socket)
    const isFirstOfConnection = connection?.requests === 0
    if (connection !== undefined) connection.requests++
    return { connection: connection?.id ?? 0, isFirstOfConnection }
  }

  /** Serves a connection that a TLS listener accepted. */
  adopt(socket: Socket): void {
    this.#server.emit('connection', socket)
  }

  /**
   * Closes the port for `ms`, so that new connections are refused, also to the control API. Closes idle connections, and keeps those with a
   * request in flight. Ignores a second call during that time.
   */
  refuse(ms: number): void {
    if (this.#reopening !== undefined) return
    this.#server.close()
    const reopening = (this.#reopening = new AbortController())
    void listenAgain([[this.#server, this.#port]], ms, this.#world.log, reopening.signal).then(() => (this.#reopening = undefined))
  }

  /** Accepts and immediately closes new connections for `ms`. */
  acceptAndClose(ms: number): void {
    this.#closeNewUntil = this.#world.machineNow() + ms
  }

  async listen(port: number): Promise<number> {
    return (this.#port = await listenOnLoopback(this.#server, port))
  }

  /** Closes the port and every connection. */
  close(): Promise<void> {
    this.#reopening?.abort()
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      for (const socket of this.#connections.keys()) socket.destroy()
    })
  }
}

/** Listens on a port of 127.0.0.1; for 0, on a free port. Resolves to the port. Rejects if it cannot listen: the port may be in use. */
export function listenOnLoopback(server: TcpServer, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const listening = (): void => {
      server.off('error', failed)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    }
    const failed = (error: Error): void => {
      server.off('listening', listening)
      reject(error)
    }
    server.once('error', failed).once('listening', listening).listen(port, '127.0.0.1')
  })
}

/** Time between two attempts to listen on a port that another process uses. */
const RETRY_MS = 500

/**
 * Waits `ms`, then listens on the port of each server again. Logs a warning for each failed attempt, and tries again. Resolves when every
 * server listens, or when `signal` aborts.
 */
export async function listenAgain(
  servers: Iterable<readonly [TcpServer, number]>,
  ms: number,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const isAbortedWithin = (waitMs: number): Promise<boolean> => wait(Math.min(waitMs, MAX_TIMER_MS), false, { signal }).catch(() => true)
  await Promise.all(
    Array.from(servers, async ([server, port]) => {
      for (let waitMs = ms; !(await isAbortedWithin(waitMs)); waitMs = RETRY_MS)
        try {
          await listenOnLoopback(server, port)
          return signal.aborted ? void server.close() : undefined
        } catch (error) {
          log.warn({ port, error: String(error) }, 'the sandbox cannot listen on its port again yet')
        }
    }),
  )
}
