/** Opens further ports for TLS, with or without a fault (`POST /_sandbox/tls`, docs/sandbox.md#the-control-api). */
import { randomUUID } from 'node:crypto'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { createServer, type Server as TlsServer, type TLSSocket } from 'node:tls'
import type { Logger } from '../../../log.ts'
import { ControlError, readFields } from '../../controlError.ts'
import { listenAgain, listenOnLoopback } from '../listener.ts'
import { makeCertificate, type Certificate } from './certificate.ts'

/** Kinds of listeners. All except `good` are faults. */
export const TLS_KINDS = ['good', 'expired', 'self_signed', 'wrong_host', 'old_version', 'stall', 'drop'] as const
type Kind = (typeof TLS_KINDS)[number]

/** Open listener, as the control API returns it. */
export interface TlsListener {
  /** `https://127.0.0.1:PORT`. */
  readonly url: string
  readonly kind: Kind
  /** Certificate of the authority of the sandbox, as PEM. A client that trusts it accepts the certificate of a `good` listener. */
  readonly ca: string
}

const DAY_MS = 86_400_000
const HOSTS = [{ dns: 'localhost' }, { ip: '127.0.0.1' }]

export class TlsListeners {
  readonly #onConnection: (socket: TLSSocket) => void
  /** Ports of the listeners, by server. */
  readonly #servers = new Map<Server, number>()
  readonly #sockets = new Set<Socket>()
  #authority: Certificate | undefined
  readonly #log: Logger
  #reopening: AbortController | undefined

  /** `onConnection` is called with each connection after its handshake. */
  constructor(onConnection: (socket: TLSSocket) => void, log: Logger) {
    this.#onConnection = onConnection
    this.#log = log
  }

  /**
   * Opens a listener from `{ "kind": …, "times": n }`. The first n connections get the fault; without `times`, all do. Later connections
   * are served as by `good`. `old_version` offers only TLS 1.1. `stall` never answers the handshake, `drop` closes the connection during
   * it.
   *
   * @throws {ControlError} for an unknown kind or field, or an invalid `times`
   */
  async open(input: unknown): Promise<TlsListener> {
    const { kind = 'good', times } = readFields(input, ['kind', 'times'])
    const tlsKind = TLS_KINDS.find((one) => one === kind)
    if (tlsKind === undefined) throw new ControlError(`kind must be one of: ${TLS_KINDS.join(', ')}`)
    if (times !== undefined && (typeof times !== 'number' || !Number.isInteger(times) || times < 1))
      throw new ControlError('times must be a whole number from 1')
    // A client that trusts several sandboxes finds an authority by its name, so the name is unique.
    const authority = (this.#authority ??= makeCertificate({
      commonName: `Sandbox authority ${randomUUID()}`,
      isAuthority: true,
      ...validityPeriod(-1, 3650),
    }))
    const good = this.#tlsServer('good', authority)
    const faulty = tlsKind === 'stall' || tlsKind === 'drop' ? undefined : this.#tlsServer(tlsKind, authority)
    let remainingFaults = times ?? Number.POSITIVE_INFINITY
    const server = createTcpServer((socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket)).on('error', () => socket.destroy())
      const chosen = remainingFaults-- > 0 ? faulty : good
      if (chosen !== undefined) chosen.emit('connection', socket)
      // `drop` closes the connection at the first bytes of the client. `stall` reads the bytes and never answers.
      else if (tlsKind === 'drop') socket.once('data', () => socket.destroy())
      else socket.resume()
    })
    const port = await listenOnLoopback(server, 0)
    this.#servers.set(server, port)
    return { url: `https://127.0.0.1:${port}`, kind: tlsKind, ca: authority.certificatePem }
  }

  /** Closes the port of every listener for `ms`, and keeps open connections. Ignores a second call during that time. */
  refuse(ms: number): void {
    if (this.#reopening !== undefined) return
    const closed = [...this.#servers]
    for (const [server] of closed) server.close()
    const reopening = (this.#reopening = new AbortController())
    void listenAgain(closed, ms, this.#log, reopening.signal).then(() => {
      if (this.#reopening === reopening) this.#reopening = undefined
    })
  }

  /** Closes every listener and connection. */
  close(): void {
    this.#reopening?.abort()
    this.#reopening = undefined
    for (const server of this.#servers.keys()) server.close()
    for (const socket of this.#sockets) socket.destroy()
    this.#servers.clear()
  }

  #tlsServer(kind: Exclude<Kind, 'stall' | 'drop'>, authority: Certificate): TlsServer {
    const certificate = makeCertificate({
      commonName: 'Sandbox',
      hosts: kind === 'wrong_host' ? [{ dns: 'other.example.com' }] : HOSTS,
      ...(kind === 'self_signed' ? {} : { issuer: authority }),
      ...(kind === 'expired' ? validityPeriod(-30, -1) : validityPeriod(-1, 365)),
    })
    const server = createServer({
      cert: certificate.certificatePem,
      key: certificate.privateKeyPem,
      // OpenSSL allows TLS 1.1 only with security level 0.
      ...(kind === 'old_version' ? { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } : {}),
    })
    server.on('secureConnection', this.#onConnection)
    server.on('tlsClientError', (_error, socket: TLSSocket) => socket.destroy())
    return server
  }
}

function validityPeriod(fromDays: number, toDays: number): { notBefore: Date; notAfter: Date } {
  const now = Date.now()
  return { notBefore: new Date(now + fromDays * DAY_MS), notAfter: new Date(now + toDays * DAY_MS) }
}
