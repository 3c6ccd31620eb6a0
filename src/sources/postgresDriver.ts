import type { Duplex } from 'node:stream'
import type pg from 'pg'

/** The driver's own connection, which its types leave out. */
interface Connection {
  readonly stream: Duplex
  attachListeners: (stream: Listened) => void
}

/** What is used of a socket while the driver puts its listeners on it. */
interface Listened {
  on: (event: string, listener: (chunk: Buffer) => void) => unknown
  destroy: (error: Error) => unknown
}

export function streamOf(client: pg.Client): Duplex {
  return connectionOf(client).stream
}

/**
 * Ends the connection where a server says what the driver does not know, a login by GSSAPI for one. The driver (8.23)
 * throws it out of the listener of its socket, where nobody could catch it and the process would end. To be removed once
 * it reports it as an error of the connection.
 */
export function catchUnknownMessages(client: pg.Client): void {
  const connection = connectionOf(client)
  const attach = connection.attachListeners.bind(connection)
  connection.attachListeners = (stream) => {
    const on = stream.on.bind(stream)
    stream.on = (event: string, listener: (chunk: Buffer) => void) => {
      if (event !== 'data') return on(event, listener)
      return on(event, (chunk: Buffer) => {
        try {
          listener(chunk)
        } catch (error) {
          stream.destroy(error instanceof Error ? error : new Error(String(error)))
        }
      })
    }
    attach(stream)
    stream.on = on
  }
}

function connectionOf(client: pg.Client): Connection {
  return (client as unknown as { readonly connection: Connection }).connection
}
