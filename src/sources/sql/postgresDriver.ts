/** Accesses parts of the driver `pg` that its types omit. */
import type { Duplex } from 'node:stream'
import type pg from 'pg'
import { isRecord } from '../../unknownValue.ts'

/** Internal connection of the driver, which its types omit. */
interface Connection {
  readonly stream: Duplex
  attachListeners: (stream: Listened) => void
}

/** Part of a socket that the driver uses when it adds its listeners. */
interface Listened {
  on: (event: string, listener: (chunk: Buffer) => void) => unknown
  destroy: (error: Error) => unknown
}

/** Returns the socket of the driver's connection. */
export function streamOf(client: pg.Client): Duplex {
  return connectionOf(client).stream
}

/**
 * Closes the connection on a message that the driver does not know, such as a GSSAPI login. The driver (8.23) throws inside the listener of
 * its socket. This would end the process. Remove this once the driver reports such a message as an error of the connection.
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
  if ('connection' in client && isConnection(client.connection)) return client.connection
  throw new Error('the driver has no connection as `connection`')
}

function isConnection(value: unknown): value is Connection {
  return isRecord(value) && isRecord(value['stream']) && typeof value['attachListeners'] === 'function'
}
