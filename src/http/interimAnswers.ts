/**
 * Reading over interim answers (1xx) that come before the real one. undici takes an unasked `100 Continue` for a broken
 * answer and hangs up (8.12.4, `onHeadersComplete` in `client-h1.js`; no setting changes it), though some proxies and
 * servers send one for every upload. To be removed once it reads over it as it does over 102 and 103.
 */
import type { Socket } from 'node:net'
import { buildConnector } from 'undici'

/** undici's own way to connect, to sockets that leave interim answers out. Only for one request a connection at a time. */
export function connectorOverInterim(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options)
  return (target, done) => {
    connect(target, (...answer) => {
      const [error, socket] = answer
      if (error === null) leaveOutInterim(socket)
      done(...answer)
    })
  }
}

/** Beginning of a request of undici. */
const requestLine = /^[A-Z]+ \S+ HTTP\/1\.1\r\n/

/** Any but 101: that one ends HTTP, and is rejected unless it was requested. */
const interim = /^HTTP\/1\.1 1(?!01)\d\d[ \r]/

/** More than this is not the head of an answer; the reader of the answer rejects it. */
const longestHead = 65_536

const none = Buffer.alloc(0)

/**
 * Returns the bytes behind the interim answers at the start of `bytes`; undefined while more bytes are needed.
 * Source: RFC 9110 section 15.2, "A client MUST be able to parse one or more 1xx responses received prior to a final
 * response, even if the client does not expect one."
 */
export function afterInterim(bytes: Buffer): Buffer | undefined {
  for (let rest = bytes; ;) {
    // `HTTP/1.1 1xx `: fewer bytes decide nothing, unless they differ from it.
    const start = rest.toString('latin1', 0, 13)
    if (!interim.test(start)) return start.length < 13 && 'HTTP/1.1 1'.startsWith(start.slice(0, 10)) ? undefined : rest
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return rest.length > longestHead ? rest : undefined
    rest = rest.subarray(end + 4)
  }
}

/**
 * The bytes of a socket without the interim answers: after each head of a request the next thing to come is an answer.
 * Works where undici asks for bytes, by `read`; HTTP/2 does not pass here.
 */
function leaveOutInterim(socket: Socket): void {
  const write = socket.write.bind(socket) as (...args: readonly unknown[]) => boolean
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null
  let awaiting = false
  let held = none
  socket.write = (...args: readonly unknown[]) => {
    if (typeof args[0] === 'string' && requestLine.test(args[0])) awaiting = true
    return write(...args)
  }
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = read(size)
      // Node itself asks for nothing, to set the reading off.
      if (chunk === null || !awaiting || size === 0) return chunk
      const rest = afterInterim(held.length === 0 ? chunk : Buffer.concat([held, chunk]))
      awaiting = rest === undefined
      held = rest === undefined ? Buffer.concat([held, chunk]) : none
      if (rest !== undefined) return rest
    }
  }
}
