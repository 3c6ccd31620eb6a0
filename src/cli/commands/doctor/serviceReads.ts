/** Sends requests to the service, and reads answers of unknown shape. */
import type { Answer, Exchange, Transport } from '../../../service/client/exchange.ts'

const timeoutMs = 15_000

/** Sends a GET to the advertising host, once, with a timeout of 15 s. */
export function getFromAds(transport: Transport, path: string): Promise<Exchange> {
  return transport.exchange({ method: 'GET', host: 'ads', path, timeoutMs })
}

/** Returns the parsed body; undefined if it is not JSON. */
export function parsedBody(answer: Answer): unknown {
  try {
    return JSON.parse(answer.body.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Returns the value as a list with one text, for `flatMap`. Returns an empty list for anything but a text or number. */
export function textOf(value: unknown): readonly string[] {
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : []
}
