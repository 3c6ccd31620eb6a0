/**
 * Sends requests with undici's dispatch layer: no retry, no redirect, one request at a time per connection. The returned `Exchange` shows
 * whether any byte of the request may have reached the service.
 */
import { Pool, type Dispatcher } from 'undici'
import type { Clock } from '../../clock.ts'
import { connectorSkippingInterim } from '../../http/interimAnswers.ts'
import type { Exchange, ExchangeRequest } from './exchange.ts'
import { isRecord, jsonOf } from '../../unknownValue.ts'

export interface WireOptions {
  readonly clock: Clock
  /** Maximum number of connections to one host. Further requests wait for a free connection, within `timeoutMs`. */
  readonly connections: number
  /** Maximum size of an answer. A larger answer counts as lost. */
  readonly maxAnswerBytes: number
}

/** Request as it is sent, with its headers. */
export interface WireRequest extends Omit<ExchangeRequest, 'host' | 'query'> {
  /** Scheme, host and port. */
  readonly origin: string
  /** Path and query, encoded. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** Connections to the hosts of the service. */
export interface Wire {
  /** Sends a request once. Returns a failure as an `Exchange`. */
  readonly send: (request: WireRequest) => Promise<Exchange>
  /** Waits for the requests in flight, then closes the connections. */
  readonly close: () => Promise<void>
}

/**
 * Reason for which this module, not undici or the network, ended an exchange. `code` is stable. `RESENT`: undici tried to send the request
 * a second time. `NO_END`: nothing proves that the answer is complete. `HELD_BACK`: the caller did not allow the request when a
 * connection was free.
 */
export class WireError extends Error {
  readonly code: 'DEADLINE' | 'ABORTED' | 'TOO_LARGE' | 'RESENT' | 'NO_END' | 'HELD_BACK'
  constructor(code: WireError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** Creates a wire. Requests open its connections, which are reused. */
export function createWire(options: WireOptions): Wire {
  const pools = new Map<string, Pool>()
  const poolOf = (origin: string): Pool => {
    let pool = pools.get(origin)
    if (pool === undefined) {
      pool = new Pool(origin, {
        connections: options.connections,
        // With pipelining, undici would resend requests after a broken connection on its own.
        pipelining: 1,
        allowH2: false,
        // `dispatch` has one deadline for the whole exchange.
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: connectorSkippingInterim({ timeout: 30_000, minVersion: 'TLSv1.2', allowH2: false }),
      })
      pools.set(origin, pool)
    }
    return pool
  }
  let inFlight = 0
  return {
    async send(request) {
      inFlight += 1
      try {
        return await new Promise<Exchange>((resolve) => dispatch(poolOf(request.origin), request, options, resolve))
      } finally {
        inFlight -= 1
      }
    },
    async close() {
      // With no request in flight, a pool has only queued requests that were aborted, so there is nothing to wait for.
      await Promise.all([...pools.values()].map((pool) => (inFlight === 0 ? pool.destroy() : pool.close())))
    },
  }
}

/** Sends one request on a pool, and resolves with its outcome. */
function dispatch(pool: Pool, request: WireRequest, { clock, maxAnswerBytes }: WireOptions, resolve: (exchange: Exchange) => void): void {
  const startedAt = clock.monotonic()
  let controller: Dispatcher.DispatchController | undefined
  let hasEnded = false
  let status: number | undefined
  let headers: Record<string, string> = {}
  let hasMarkedEnd = false
  let size = 0
  const chunks: Buffer[] = []

  const finish = (exchange: Exchange) => {
    if (hasEnded) return
    hasEnded = true
    clearTimeout(timer)
    request.signal?.removeEventListener('abort', onAbort)
    resolve(exchange)
  }
  const fail = (error: Error) => {
    const durationMs = clock.monotonic() - startedAt
    // undici calls onRequestStart right before it writes the headers. Without that call nothing was written.
    if (controller === undefined) finish({ kind: 'not-sent', error, durationMs })
    else if (status === undefined) finish({ kind: 'lost', error, durationMs })
    else finish({ kind: 'lost', error, status, headers, durationMs })
  }
  const giveUp = (error: WireError) => {
    fail(error)
    controller?.abort(error)
  }
  const onAbort = () => giveUp(new WireError('ABORTED', 'the request was aborted'))
  const timer = setTimeout(() => giveUp(new WireError('DEADLINE', `no complete answer within ${request.timeoutMs} ms`)), request.timeoutMs)

  if (request.signal?.aborted) return onAbort()
  request.signal?.addEventListener('abort', onAbort, { once: true })

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      // Nothing is written. Thrown, because `abort` would close the connection. undici passes the error to `onResponseError`.
      if (hasEnded) throw new WireError('ABORTED', 'the request was aborted before it was sent')
      // A second start would be a resend by undici.
      if (controller !== undefined) {
        fail(new WireError('RESENT', 'the connection broke while the request was sent'))
        return started.abort(new WireError('RESENT', 'a request is never sent twice'))
      }
      if (request.maySend?.() === false) throw new WireError('HELD_BACK', 'the request was held back when a connection was free')
      controller = started
    },
    onResponseStart(_controller, statusCode, raw) {
      // An interim answer does not show whether the request was applied (docs/faults.md, W10).
      if (statusCode < 200) return
      status = statusCode
      headers = flatHeaders(raw)
      hasMarkedEnd =
        statusCode === 204 ||
        statusCode === 304 ||
        headers['content-length'] !== undefined ||
        /\bchunked\b/i.test(headers['transfer-encoding'] ?? '')
      if (Number(headers['content-length'] ?? 0) > maxAnswerBytes) giveUp(tooLargeError(maxAnswerBytes))
    },
    onResponseData(_controller, chunk) {
      size += chunk.length
      if (size > maxAnswerBytes) return giveUp(tooLargeError(maxAnswerBytes))
      chunks.push(chunk)
    },
    onResponseEnd() {
      const [first] = chunks
      const body = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
      if (!hasMarkedEnd && !isCompleteJson(body))
        return fail(new WireError('NO_END', 'the answer ended with its connection; its end is not proven'))
      finish({ kind: 'answer', status: status ?? 0, headers, body, durationMs: clock.monotonic() - startedAt })
    },
    onResponseError(_controller, error) {
      fail(error)
    },
  }
  try {
    pool.dispatch({ method: request.method, path: request.path, headers: request.headers, body: request.body ?? null }, handler)
  } catch (error) {
    fail(error instanceof Error ? error : new Error(String(error)))
  }
}

/** Returns the headers with names in lower case. Several values of a name are joined by commas. */
export function flatHeaders(raw: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const name in raw) {
    const value = raw[name]
    if (value !== undefined) flat[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}

/**
 * Returns true for a complete JSON object or array. An answer without length or chunks ends with its connection, so only its content can
 * prove its end. A number proves nothing, because a truncated number is a number too.
 */
function isCompleteJson(body: Buffer): boolean {
  return isRecord(jsonOf(body.toString('utf8')))
}

export function tooLargeError(maxAnswerBytes: number): WireError {
  return new WireError('TOO_LARGE', `the answer is larger than ${maxAnswerBytes} bytes`)
}
