/** The one port of all three hosts: who may connect, and what a fault takes away of it for a while (docs/sandbox.md). */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { SandboxWorld } from '../state/world.ts'

export class Listener {
  readonly #world: SandboxWorld
  readonly #server: Server
  readonly #connections = new Map<Socket, { readonly id: number; requests: number }>()
  #nextConnection = 1
  #closesNewUntil = 0
  #port = 0
  #reopening: NodeJS.Timeout | undefined

  constructor(world: SandboxWorld, receive: (request: IncomingMessage, response: ServerResponse) => void) {
    this.#world = world
    this.#server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, receive)
    this.#server.on('connection', (socket: Socket) => {
      const most = world.switch('max_connections')
      if (world.machineNow() < this.#closesNewUntil || (most !== 'none' && this.#connections.size >= Number(most))) {
        socket.destroySoon()
        return
      }
      this.#connections.set(socket, { id: this.#nextConnection++, requests: 0 })
      socket.setNoDelay(true)
      socket.on('close', () => this.#connections.delete(socket))
      socket.on('error', () => socket.destroy())
    })
  }

  /** Counts a request of a connection: its number, 0 if it is not known, and whether this request is its first. */
  count(socket: Socket): { readonly connection: number; readonly firstOfConnection: boolean } {
    const connection = this.#connections.get(socket)
    const firstOfConnection = connection?.requests === 0
    if (connection !== undefined) connection.requests++
    return { connection: connection?.id ?? 0, firstOfConnection }
  }

  /** A connection that came through another door (TLS). */
  take(socket: Socket): void {
    this.#server.emit('connection', socket)
  }

  /** Rejects new connections for so long. Busy connections stay, idle ones are closed. */
  refuse(ms: number): void {
    if (this.#reopening !== undefined) return
    this.#server.close()
    this.#reopening = setTimeout(() => {
      this.#reopening = undefined
      this.#server.listen(this.#port, '127.0.0.1')
    }, ms)
  }

  acceptAndClose(ms: number): void {
    this.#closesNewUntil = this.#world.machineNow() + ms
  }

  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, '127.0.0.1', () => {
        this.#server.off('error', reject)
        // A TCP server that listens has an address of this kind.
        this.#port = (this.#server.address() as AddressInfo).port
        resolve(this.#port)
      })
    })
  }

  close(): Promise<void> {
    clearTimeout(this.#reopening)
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      for (const socket of this.#connections.keys()) socket.destroy()
    })
  }
}
