/** An answer that is read while it arrives, on a connection of its own. */
import { Client } from 'undici'
import { connectorOverInterim } from '../../http/interimAnswers.ts'
import type { Exchange } from './exchange.ts'
import type { WireRequest } from './wire.ts'

export type Opened = { readonly kind: 'open'; readonly chunks: AsyncIterable<Uint8Array>; readonly close: () => void } | Exchange

/** `timeoutMs` counts to the head of the answer; after that the stream lives until it is closed or aborted. */
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
    const {
      statusCode,
      headers: raw,
      body,
    } = await client.request({ path, method, headers, body: request.body ?? null, signal: signal ?? null })
    if (statusCode === 200) return { kind: 'open', chunks: untilAborted(body, signal), close }
    const flat = Object.fromEntries(
      Object.entries(raw).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
    )
    const answer: Exchange = {
      kind: 'answer',
      status: statusCode,
      headers: flat,
      body: Buffer.from(await body.arrayBuffer()),
      durationMs: 0,
    }
    close()
    return answer
  } catch (error) {
    close()
    return { kind: 'lost', error: error instanceof Error ? error : new Error(String(error)), durationMs: 0 }
  }
}

/** An abort is a wish, not a failure: the chunks end. */
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
