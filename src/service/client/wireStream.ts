/** Opens streams: answers that are read while they arrive, on a connection of their own. */
import { Client } from 'undici'
import { connectorSkippingInterim } from '../../http/interimAnswers.ts'
import type { Exchange } from './exchange.ts'
import { flatHeaders, tooLargeError, WireError, type WireRequest } from './wire.ts'

export interface OpenedStream {
  readonly kind: 'open'
  readonly chunks: AsyncIterable<Uint8Array>
  readonly close: () => void
}

/** Outcome of the request that opens a stream. */
export type OpenResult = OpenedStream | Exchange

/**
 * Opens a stream. Returns the answer if its status is not 200. A failure after the connect is `lost`, even if no byte was sent, because the
 * request of a stream changes nothing. `maxAnswerBytes` limits the size of an answer that is not a stream. `timeoutMs` limits each of
 * these steps alone:
 * - the connect
 * - the wait for the headers
 * - the body of an answer that is not a stream
 */
export async function openWire(request: WireRequest, maxAnswerBytes: number): Promise<OpenResult> {
  const { origin, path, method, headers, timeoutMs, signal } = request
  const client = new Client(origin, {
    allowH2: false,
    headersTimeout: timeoutMs,
    bodyTimeout: 0,
    connect: connectorSkippingInterim({ timeout: timeoutMs, minVersion: 'TLSv1.2', allowH2: false }),
  })
  let isConnected = false
  client.once('connect', () => {
    isConnected = true
  })
  const close = () => void client.destroy()
  let status: number | undefined
  let timer: NodeJS.Timeout | undefined
  try {
    const response = await client.request({ path, method, headers, body: request.body ?? null, signal: signal ?? null })
    if (response.statusCode === 200) return { kind: 'open', chunks: untilAborted(response.body, signal), close }
    status = response.statusCode
    timer = setTimeout(() => void client.destroy(new WireError('DEADLINE', `no complete answer within ${timeoutMs} ms`)), timeoutMs)
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      size += chunk.length
      if (size > maxAnswerBytes) throw tooLargeError(maxAnswerBytes)
      chunks.push(chunk)
    }
    close()
    return { kind: 'answer', status, headers: flatHeaders(response.headers), body: Buffer.concat(chunks), durationMs: 0 }
  } catch (error) {
    close()
    const failure = { error: error instanceof Error ? error : new Error(String(error)), durationMs: 0 }
    return isConnected ? { kind: 'lost', ...failure, ...(status === undefined ? {} : { status }) } : { kind: 'not-sent', ...failure }
  } finally {
    clearTimeout(timer)
  }
}

/** Yields the chunks. Ends without an error if `signal` is aborted. */
async function* untilAborted(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* chunks
  } catch (error) {
    if (signal?.aborted !== true) throw error
  }
}
