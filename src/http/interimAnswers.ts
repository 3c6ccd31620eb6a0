/**
 * Skips interim responses (1xx) before the final one. undici closes the connection on a `100 Continue` that it did not request
 * (8.12.4, `onHeadersComplete` in `client-h1.js`), and no setting changes this. Some proxies and servers send a 100 for every upload.
 * Remove this module once undici skips a 100 as it skips 102 and 103.
 */
import type { Socket } from 'node:net'
import { buildConnector } from 'undici'

/** Returns a connector for undici whose sockets skip interim responses. Works only with one request at a time per connection. */
export function connectorSkippingInterim(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options)
  return (target, done) => {
    connect(target, (...result) => {
      const [error, socket] = result
      if (error === null) skipInterimAnswers(socket)
      done(...result)
    })
  }
}

/** First line of a request of undici. */
const requestLine = /^[A-Z]+ \S+ HTTP\/1\.1\r\n/

/** First line of a response with a status 1xx, except 101. A 101 changes the protocol, and undici rejects it if it was not requested. */
const interimStatusLine = /^HTTP\/1\.1 1(?!01)\d\d[ \r]/

/** A longer head of an interim response is passed on, and undici rejects it. */
const maxHeadBytes = 65_536

const noBytes = Buffer.alloc(0)

/**
 * Returns the bytes after the interim responses at the start of `bytes`; undefined while more bytes are needed. Source: RFC 9110 section
 * 15.2. A client must accept interim (1xx) responses before a final response, even if it does not expect one.
 */
export function afterInterim(bytes: Buffer): Buffer | undefined {
  for (let rest = bytes; ;) {
    // `HTTP/1.1 1xx ` has 13 bytes. Fewer bytes decide only if they differ from `HTTP/1.1 1`.
    const start = rest.toString('latin1', 0, 13)
    if (!interimStatusLine.test(start)) return start.length < 13 && 'HTTP/1.1 1'.startsWith(start.slice(0, 10)) ? undefined : rest
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return rest.length > maxHeadBytes ? rest : undefined
    rest = rest.subarray(end + 4)
  }
}

/**
 * Removes interim responses from the bytes of a socket. Replaces two functions of the socket:
 * - `write`, to notice each head of a request: the next bytes to read are a response
 * - `read`, which undici calls for HTTP/1.1; HTTP/2 is not affected
 */
function skipInterimAnswers(socket: Socket): void {
  // The overloads of `write` differ only in their arguments, which are passed on unchanged. So the cast holds.
  const write = socket.write.bind(socket) as (...args: readonly unknown[]) => boolean
  const read: (size?: number) => Buffer | null = socket.read.bind(socket)
  let atResponseStart = false
  let buffered = noBytes
  socket.write = (...args: readonly unknown[]) => {
    if (typeof args[0] === 'string' && requestLine.test(args[0])) atResponseStart = true
    return write(...args)
  }
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = read(size)
      // Node calls `read(0)` to start reading.
      if (chunk === null || !atResponseStart || size === 0) return chunk
      const rest = afterInterim(buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]))
      atResponseStart = rest === undefined
      buffered = rest === undefined ? Buffer.concat([buffered, chunk]) : noBytes
      if (rest !== undefined) return rest
    }
  }
}
