import type { Server } from 'node:http'

/** Returns the TCP port that a server listens on. Throws if the server does not listen on a port. */
export function listeningPort(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port')
  return address.port
}
