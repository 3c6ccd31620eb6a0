/** Opens streams: answers that are read while they arrive, on a connection of their own. */
import { Client } from 'undici'
import { connectorOverInterim } from '../../http/interimAnswers.ts'
import type { Exchange } from './exchange.ts'
import { flatHeaders, type WireRequest } from './wire.ts'

export interface Open {
  readonly kind: 'open'
  readonly chunks: AsyncIterable<Uint8Array>
  readonly close: () => void
}

export type Opened = Open | Exchange

/**
 * Opens a stream on a new connection. Returns the answer if its status is not 200. Returns any failure as `lost`, even if no byte was sent:
 * the request changes nothing. `timeoutMs` limits the time to connect, and then the time to the headers of the answer. `durationMs` is 0.
 */
export async function openWire(request: WireRequest): Promise<Opened> {
  const { origin, path, method, headers, timeoutMs, signal } = request
  const client = new Client(origin, {
    allowH2: false,
    headersTimeout: timeoutMs,
    bodyTimeout: 0,
    connect: connectorOverInterim({ timeout: timeoutMs, minVersion: 'TLSv1.2', allowH2: false }),
  })
  const close = () => void client.destroy()
  try {
    const response = await client.request({ path, method, headers, body: request.body ?? null, signal: signal ?? null })
    if (response.statusCode === 200) return { kind: 'open', chunks: untilAborted(response.body, signal), close }
    const answer: Exchange = {
      kind: 'answer',
      status: response.statusCode,
      headers: flatHeaders(response.headers),
      body: Buffer.from(await response.body.arrayBuffer()),
      durationMs: 0,
    }
    close()
    return answer
  } catch (error) {
    close()
    return { kind: 'lost', error: error instanceof Error ? error : new Error(String(error)), durationMs: 0 }
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
