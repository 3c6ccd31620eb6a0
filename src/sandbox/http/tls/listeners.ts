/**
 * The sandbox over TLS, well or badly (docs/sandbox.md): each door is a port of its own in front of the same service.
 * `POST /_sandbox/tls`. RFC 9525 for what a client has to check.
 */
import { randomUUID } from 'node:crypto'
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer, type Server as TlsServer, type TLSSocket } from 'node:tls'
import { ControlError } from '../../area.ts'
import { makeCertificate, type Certificate } from './certificate.ts'

export const TLS_KINDS = ['good', 'expired', 'self_signed', 'wrong_host', 'old_version', 'stall', 'drop'] as const
type Kind = (typeof TLS_KINDS)[number]

export interface Door {
  readonly url: string
  readonly kind: Kind
  /** PEM of the authority that signed the certificates: a client that trusts it accepts the good ones. */
  readonly ca: string
}

const DAY_MS = 86_400_000
const HOSTS = [{ dns: 'localhost' }, { ip: '127.0.0.1' }]

export class TlsListeners {
  readonly #connected: (socket: TLSSocket) => void
  readonly #servers = new Set<Server | TlsServer>()
  readonly #sockets = new Set<Socket>()
  #authority: Certificate | undefined

  /** `connected` takes every connection whose handshake went well. */
  constructor(connected: (socket: TLSSocket) => void) {
    this.#connected = connected
  }

  /**
   * `{ "kind": …, "times": n }`: the first n connections meet the fault, the later ones a good certificate; without
   * `times` all do. `old_version` offers TLS 1.1 only, `stall` never ends the handshake, `drop` closes during it.
   */
  async open(input: unknown): Promise<Door> {
    const { kind = 'good', times } = (typeof input === 'object' && input !== null ? input : {}) as { kind?: unknown; times?: unknown }
    const known = TLS_KINDS.find((one) => one === kind)
    if (known === undefined) throw new ControlError(400, `kind is one of: ${TLS_KINDS.join(', ')}`)
    if (times !== undefined && (typeof times !== 'number' || !Number.isInteger(times) || times < 1))
      throw new ControlError(400, 'times is a whole number from 1')
    // A name of its own: who trusts several sandboxes finds the right one by it.
    const authority = (this.#authority ??= makeCertificate({
      commonName: `Sandbox authority ${randomUUID()}`,
      authority: true,
      ...validFor(-1, 3650),
    }))
    const good = this.#tlsServer('good', authority)
    const bad = known === 'stall' || known === 'drop' ? undefined : this.#tlsServer(known, authority)
    let left = times ?? Number.POSITIVE_INFINITY
    const server = createTcpServer((socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket)).on('error', () => socket.destroy())
      const server = left-- > 0 ? bad : good
      if (server !== undefined) server.emit('connection', socket)
      // A stalled handshake reads and says nothing; a dropped one ends at the client's first word.
      else if (known === 'drop') socket.once('data', () => socket.destroy())
      else socket.resume()
    })
    this.#servers.add(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    // A TCP server that listens has an address of this kind.
    return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, kind: known, ca: authority.certificate }
  }

  /** Closes every door. */
  close(): void {
    for (const server of this.#servers) server.close()
    for (const socket of this.#sockets) socket.destroy()
    this.#servers.clear()
  }

  #tlsServer(kind: Exclude<Kind, 'stall' | 'drop'>, authority: Certificate): TlsServer {
    const made = makeCertificate({
      commonName: 'Sandbox',
      hosts: kind === 'wrong_host' ? [{ dns: 'other.example.com' }] : HOSTS,
      ...(kind === 'self_signed' ? {} : { issuer: authority }),
      ...(kind === 'expired' ? validFor(-30, -1) : validFor(-1, 365)),
    })
    const server = createServer({
      cert: made.certificate,
      key: made.key,
      // TLS 1.1 needs what OpenSSL counts as insecure.
      ...(kind === 'old_version' ? { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } : {}),
    })
    server.on('secureConnection', this.#connected)
    server.on('tlsClientError', (_error, socket: TLSSocket) => socket.destroy())
    return server
  }
}

function validFor(fromDays: number, toDays: number): { notBefore: Date; notAfter: Date } {
  const now = Date.now()
  return { notBefore: new Date(now + fromDays * DAY_MS), notAfter: new Date(now + toDays * DAY_MS) }
}
