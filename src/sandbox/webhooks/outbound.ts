/** Sends requests to a developer's receiver: challenges and events (spec 6.1, docs/spec-notes.md#webhooks). */
import { createHmac, randomBytes } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import type { CheckOutcome } from './state.ts'
import { errorCode, jsonOf, recordOf } from '../../unknownValue.ts'

/** Time in milliseconds in which a receiver must answer (spec 8). */
export const RESPONSE_LIMIT_MS = 10_000
const MAX_ANSWER_BYTES = 65_536

const agents = { http: new http.Agent({ keepAlive: true, maxSockets: 64 }), https: new https.Agent({ keepAlive: true, maxSockets: 64 }) }

/** Encoding of a signature (the switch `signature_form`). */
export type SignatureForm = 'base64' | 'hex'

/** Returns `sha256=` and the HMAC-SHA256 of the bytes under the consumer secret. */
function sign(bytes: string | Uint8Array, secret: string, form: SignatureForm): string {
  return `sha256=${createHmac('sha256', secret).update(bytes).digest(form)}`
}

/** Request to a receiver. `secret`: consumer secret. The sandbox signs events with it, and the receiver signs tokens of challenges. */
interface ReceiverRequest {
  readonly url: string
  readonly secret: string
  readonly form: SignatureForm
  /** Time for the complete answer. Default: `RESPONSE_LIMIT_MS`. */
  readonly limitMs?: number
  /** Ends the request when it aborts. */
  readonly cancelled?: AbortSignal
}

/** Challenge to send. `token`: default random. A test may send a hostile token. */
export interface ChallengeRequest extends ReceiverRequest {
  readonly token?: string | undefined
}

/** Sends a challenge and classifies the answer (spec 3.1). Does not reject if the request fails. @throws {TypeError} for an invalid URL */
export async function checkWebhook({ url, secret, form, token, limitMs, cancelled }: ChallengeRequest): Promise<CheckOutcome> {
  const expected = token ?? randomBytes(32).toString('base64url')
  const target = new URL(url)
  target.searchParams.set('crc_token', expected)
  const answer = await sendRequest(target, { method: 'GET', limitMs, cancelled })
  if ('error' in answer) return isTlsError(answer.error) ? 'tls' : 'transient'
  if (answer.status >= 300 && answer.status < 400) return 'redirect'
  if (answer.status < 200 || answer.status >= 400) return 'transient'
  // An answer that is not JSON fails the check.
  const response = recordOf(jsonOf(answer.body))
  return response['response_token'] === sign(expected, secret, form) ? 'valid' : 'wrong-token'
}

export interface EventRequest extends ReceiverRequest {
  readonly body: string
  readonly signature: 'good' | 'bad' | 'none'
  /** Name of the header with the signature. */
  readonly header: string
  /** Speed of the body. Default: no limit. */
  readonly bytesPerS?: number
}

/** Posts an event. Resolves to the status of the answer; 0 if the request failed. Follows no redirect. */
export async function sendEvent(request: EventRequest): Promise<number> {
  const bytes = Buffer.from(request.body)
  const key = request.signature === 'bad' ? `${request.secret}-wrong` : request.secret
  const signature = request.signature === 'none' ? {} : { [request.header]: sign(bytes, key, request.form) }
  const headers = { 'content-type': 'application/json', 'content-length': bytes.length, ...signature }
  const { limitMs, bytesPerS, cancelled } = request
  const answer = await sendRequest(new URL(request.url), { method: 'POST', headers, body: bytes, limitMs, bytesPerS, cancelled })
  return 'error' in answer ? 0 : answer.status
}

type ReceiverAnswer = { readonly status: number; readonly body: string } | { readonly error: Error }

interface SendOptions {
  readonly method: 'GET' | 'POST'
  readonly headers?: http.OutgoingHttpHeaders
  readonly body?: Buffer
  readonly limitMs: number | undefined
  /** Speed of the body; undefined for no limit. */
  readonly bytesPerS?: number | undefined
  readonly cancelled: AbortSignal | undefined
}

/**
 * Sends a request to an http or https URL. Resolves to an error if the request fails, the answer is too long, or the answer is not complete
 * within `limitMs`.
 */
function sendRequest(
  url: URL,
  { method, headers = {}, body, limitMs = RESPONSE_LIMIT_MS, bytesPerS, cancelled }: SendOptions,
): Promise<ReceiverAnswer> {
  return new Promise((resolve) => {
    const secure = url.protocol === 'https:'
    const request = (secure ? https : http).request(
      url,
      {
        method,
        headers,
        agent: secure ? agents.https : agents.http,
        ...(cancelled === undefined ? {} : { signal: cancelled }),
        ...(secure ? { minVersion: 'TLSv1.2' } : {}),
      },
      (response) => {
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > MAX_ANSWER_BYTES) response.destroy(new Error('the answer is too long'))
          else chunks.push(chunk)
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }))
        response.on('error', (error) => resolve({ error }))
      },
    )
    request.on('error', (error) => resolve({ error }))
    const deadline = setTimeout(() => request.destroy(new Error('no answer in time')), limitMs).unref()
    request.on('close', () => clearTimeout(deadline))
    if (bytesPerS === undefined || body === undefined) request.end(body)
    else void sendSlowly(request, body, bytesPerS)
  })
}

/** Sends the body at `bytesPerS`, in pieces for a tenth of a second, each of at least one byte. Stops when the request has ended. */
async function sendSlowly(request: http.ClientRequest, body: Buffer, bytesPerS: number): Promise<void> {
  const step = Math.max(1, Math.floor(bytesPerS / 10))
  for (let at = 0; at < body.length && !request.destroyed; at += step) {
    request.write(body.subarray(at, at + step))
    await new Promise((resolve) => setTimeout(resolve, (step * 1000) / bytesPerS))
  }
  if (!request.destroyed) request.end()
}

function isTlsError(error: Error): boolean {
  const code = errorCode(error) ?? ''
  return /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|EPROTO)/.test(code)
}
