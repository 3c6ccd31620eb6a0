/** A TLS server in front of a test's database: answers Postgres' request for TLS, and passes the rest on. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Certificate } from '../../src/sandbox/http/tls/certificate.ts'

export interface TlsFront extends AsyncDisposable {
  readonly port: number
  /** TLS connections so far. */
  readonly handshakes: () => number
}

export async function tlsFront(
  databaseUrl: string,
  { certificatePem, privateKeyPem }: Pick<Certificate, 'certificatePem' | 'privateKeyPem'>,
): Promise<TlsFront> {
  const target = new URL(databaseUrl)
  const open = new Set<Socket>()
  let handshakes = 0
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => undefined).on('close', () => open.delete(socket))
    socket.once('data', () => {
      socket.write('S')
      const secure = new TLSSocket(socket, { isServer: true, cert: certificatePem, key: privateKeyPem })
      const backend = connect(Number(target.port), target.hostname)
      secure.on('secure', () => handshakes++)
      for (const end of [secure, backend]) end.on('error', () => [secure, backend].forEach((one) => one.destroy()))
      secure.pipe(backend).pipe(secure)
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    port: (server.address() as AddressInfo).port,
    handshakes: () => handshakes,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}
