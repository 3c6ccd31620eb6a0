/**
 * One request out, one `Exchange` back, over undici's dispatch layer: no retry, no redirect, one request a connection at a
 * time, and an exact outcome whether any byte of the request may have reached the service.
 */
import { Pool, type Dispatcher } from 'undici'
import type { Clock } from '../../clock.ts'
import { connectorOverInterim } from '../../http/interimAnswers.ts'
import type { Exchange } from './exchange.ts'

export interface WireOptions {
  readonly clock: Clock
  /** Connections to one host at most; further requests wait for one, within their deadline. */
  readonly connections: number
  /** An answer above this is given up: lost, because it cannot be believed. */
  readonly maxAnswerBytes: number
}

export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Scheme, host and port. */
  readonly origin: string
  /** Path and query as they go on the wire. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** From now to the last byte of the answer, connecting included, by the monotonic clock. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

export interface Wire {
  readonly send: (request: WireRequest) => Promise<Exchange>
  readonly close: () => Promise<void>
}

/** Local error that ended an exchange. `code` is stable. */
export class WireError extends Error {
  readonly code: 'DEADLINE' | 'ABORTED' | 'TOO_LARGE' | 'RESENT' | 'NO_END'
  constructor(code: WireError['code'], message: string) {
    super(message)
    this.code = code
  }
}

export function createWire(options: WireOptions): Wire {
  const pools = new Map<string, Pool>()
  const poolOf = (origin: string): Pool => {
    let pool = pools.get(origin)
    if (pool === undefined) {
      pool = new Pool(origin, {
        connections: options.connections,
        // With more, a broken connection would make undici send the requests behind the first one again on its own.
        pipelining: 1,
        allowH2: false,
        // Deadlines are ours: one for the whole exchange, by the monotonic clock.
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: connectorOverInterim({ timeout: 30_000, minVersion: 'TLSv1.2', allowH2: false }),
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
      // With nothing under way, what still stands in a queue was given up: not worth waiting for a connection.
      await Promise.all([...pools.values()].map((pool) => (inFlight === 0 ? pool.destroy() : pool.close())))
    },
  }
}

function dispatch(pool: Pool, request: WireRequest, { clock, maxAnswerBytes }: WireOptions, resolve: (exchange: Exchange) => void): void {
  const startedAt = clock.monotonic()
  let controller: Dispatcher.DispatchController | undefined
  let done = false
  let status: number | undefined
  let headers: Record<string, string> = {}
  let framed = false
  let size = 0
  const chunks: Buffer[] = []

  const settle = (exchange: Exchange) => {
    if (done) return
    done = true
    clearTimeout(timer)
    request.signal?.removeEventListener('abort', onAbort)
    resolve(exchange)
  }
  const fail = (error: Error) => {
    const durationMs = clock.monotonic() - startedAt
    // undici calls onRequestStart right before it hands the head to a connected socket: without that nothing was written.
    if (controller === undefined) settle({ kind: 'not-sent', error, durationMs })
    else if (status === undefined) settle({ kind: 'lost', error, durationMs })
    else settle({ kind: 'lost', error, status, durationMs })
  }
  const giveUp = (error: WireError) => {
    fail(error)
    controller?.abort(error)
  }
  const onAbort = () => giveUp(new WireError('ABORTED', 'the request was given up'))
  // setTimeout counts monotonic time and may fire a millisecond early, never late by more than the event loop is busy.
  const timer = setTimeout(() => giveUp(new WireError('DEADLINE', `no complete answer within ${request.timeoutMs} ms`)), request.timeoutMs)

  if (request.signal?.aborted) return onAbort()
  request.signal?.addEventListener('abort', onAbort, { once: true })

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      // Given up while it waited for a connection: nothing is written.
      if (done) return started.abort(new WireError('ABORTED', 'the request was given up before it was sent'))
      // A second start would be a resend by the layer below.
      if (controller !== undefined) {
        fail(new WireError('RESENT', 'the connection broke while the request was sent'))
        return started.abort(new WireError('RESENT', 'a request is never sent twice'))
      }
      controller = started
    },
    onResponseStart(_controller, statusCode, raw) {
      // What comes before the answer says nothing of what became of the request (W10).
      if (statusCode < 200) return
      status = statusCode
      headers = flatten(raw)
      framed =
        statusCode === 204 ||
        statusCode === 304 ||
        headers['content-length'] !== undefined ||
        /\bchunked\b/i.test(headers['transfer-encoding'] ?? '')
      if (Number(headers['content-length'] ?? 0) > maxAnswerBytes) giveUp(tooLarge(maxAnswerBytes))
    },
    onResponseData(_controller, chunk) {
      size += chunk.length
      if (size > maxAnswerBytes) return giveUp(tooLarge(maxAnswerBytes))
      chunks.push(chunk)
    },
    onResponseEnd() {
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
      if (!framed && !isClosedJson(body))
        return fail(new WireError('NO_END', 'the answer ended with its connection; nothing proves that it is whole'))
      settle({ kind: 'answer', status: status ?? 0, headers, body, durationMs: clock.monotonic() - startedAt })
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

function flatten(raw: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const name in raw) {
    const value = raw[name]
    if (value !== undefined) flat[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}

/** An answer without length or chunks ends where its connection ends. Only a closed JSON value proves its own end. */
function isClosedJson(body: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}

function tooLarge(maxAnswerBytes: number): WireError {
  return new WireError('TOO_LARGE', `the answer is larger than ${maxAnswerBytes} bytes`)
}
