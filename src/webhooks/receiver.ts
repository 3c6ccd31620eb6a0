/**
 * The receiver of the service's webhooks as a node:http handler: answers challenges from memory, stores verified events
 * once, and answers 200 only after the insert (spec 6.1; docs/spec-notes.md#webhooks; docs/guarantees.md#webhook-delivery).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemClock, type Clock } from '../clock.ts'
import { silentLogger, type Logger } from '../log.ts'
import { answer } from './answer.ts'
import { memoryEventStore, type EventStore, type ReceivedEvent } from './eventStore.ts'
import { parseEvent } from './events.ts'
import { GapKeeper, type Gap } from './gap.ts'
import { readBody, refuseBody } from './requestBody.ts'
import { isChallengeToken, isSigned, sign } from './signature.ts'
import { errorCode } from '../unknownValue.ts'

export interface WebhookReceiverOptions {
  /** Store of the events, once each. Default: in memory, for as long as the process lives. */
  readonly store?: EventStore
  /** Called with each new event after it was stored and answered. Not called for a repeated delivery. */
  readonly onEvent?: (event: ReceivedEvent) => void
  /** Consumer secrets, the current one first; during a rotation also the old one. A function is called for each request. */
  readonly secrets: readonly string[] | (() => readonly string[])
  /** Path that the service calls. Default `/webhooks`. */
  readonly path?: string
  /** Default: nothing is logged. */
  readonly log?: Logger
  readonly clock?: Clock
  /** The service's own spelling of the header. Default `x-service-webhooks-signature`. */
  readonly signatureHeader?: string
  /** Called once events are stored again after a database outage and the gap is in the audit log, so that a replay can be requested. */
  readonly onGap?: (gap: Gap) => void
  /** Default 1 MiB, checked before anything is hashed. */
  readonly maxBodyBytes?: number
  /** Maximum time from the first byte of the request to the end of its body. Default 5 s: the service waits 10 s. */
  readonly bodyTimeoutMs?: number
  /** Longest wait for the insert. Default 4 s. */
  readonly storeTimeoutMs?: number
}

export interface WebhookReceiver {
  readonly path: string
  /** Answers the request and resolves true; false, untouched, when it is for another path. Never rejects. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>
  /** Since when events are refused because the database is down. */
  readonly refusingSince: () => Date | undefined
  /** While events are refused: asks the database whether it is back, and ends the gap without waiting for an event. Never rejects. */
  readonly probe: () => Promise<void>
}

const SIGNATURE_HEADER = 'x-service-webhooks-signature'

/**
 * Creates a receiver of the service's webhooks as a `node:http` handler. It verifies the signature over the raw bytes, stores each event
 * once and answers 200 only after that (spec 6.1, docs/webhooks.md).
 */
export function createWebhookReceiver(options: WebhookReceiverOptions): WebhookReceiver {
  const path = options.path ?? '/webhooks'
  const clock = options.clock ?? systemClock
  const log = options.log ?? silentLogger
  const store = options.store ?? memoryEventStore()
  const gap = new GapKeeper(log, clock.now)
  const header = (options.signatureHeader ?? SIGNATURE_HEADER).toLowerCase()
  const secrets = () => (typeof options.secrets === 'function' ? options.secrets() : options.secrets)

  return {
    path,
    refusingSince: () => gap.since,
    async probe() {
      if (gap.since === undefined) return
      try {
        await within(store.probe(), options.storeTimeoutMs ?? 4000)
      } catch {
        // Still down: the next probe asks again, and an event that is stored ends the gap as well.
        return
      }
      const ended = gap.stored()
      if (ended !== undefined) await reportGap(ended)
    },
    async handle(request, response) {
      const url = new URL(request.url ?? '/', 'http://receiver')
      if (url.pathname !== path) return false
      try {
        if (request.method === 'GET') answerChallenge(url, response, secrets()[0])
        else if (request.method === 'POST') await receive(request, response)
        else answer(response, 405, { error: 'GET or POST' }, { allow: 'GET, POST' })
      } catch (error) {
        log.error({ error: error instanceof Error ? error.name : 'unknown' }, 'a webhook request failed')
        if (!response.headersSent) answer(response, 500, { error: 'failed' })
      }
      return true
    },
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request, options.maxBodyBytes ?? 1_048_576, options.bodyTimeoutMs ?? 5000)
    if (typeof body === 'number') return refuseBody(request, response, body)
    const signature = request.headers[header]
    if (!isSigned(body, typeof signature === 'string' ? signature : undefined, secrets())) {
      log.warn({}, 'a webhook request without a valid signature was refused')
      return answer(response, 401, { error: 'the signature is not valid' })
    }
    const event = parseEvent(body)
    if (event === undefined) return answer(response, 400, { error: 'the body is not a JSON object' })
    let isNew: boolean
    try {
      isNew = await within(store.add(event), options.storeTimeoutMs ?? 4000)
      log.debug({ type: event.type, isNew }, 'webhook event')
    } catch (error) {
      gap.refused()
      log.debug({ code: errorCode(error) ?? 'timeout' }, 'webhook event not stored')
      return answer(response, 503, { error: 'not stored, send it again' }, { 'retry-after': '60' })
    }
    answer(response, 200, {})
    if (isNew) options.onEvent?.(event)
    const ended = gap.stored()
    if (ended !== undefined) await reportGap(ended)
  }

  /** Stored, so that an operator sees it without the log. */
  async function reportGap(ended: Gap): Promise<void> {
    try {
      await store.recordGap?.(ended)
    } catch (error) {
      // Down again immediately: the gap continues and is recorded when it ends.
      gap.reopen(ended)
      log.error(
        { error: error instanceof Error ? error.name : 'unknown', refused: ended.refused },
        'the gap in webhook events could not be recorded yet',
      )
      return
    }
    options.onGap?.(ended)
  }
}

/** Needs no database, and signs only what cannot be an event. */
function answerChallenge(url: URL, response: ServerResponse, secret: string | undefined): void {
  const [token, ...more] = url.searchParams.getAll('crc_token')
  if (token === undefined || more.length > 0 || !isChallengeToken(token))
    return answer(response, 400, { error: 'crc_token must be 1 to 256 letters, digits or any of _ + / = -' })
  if (secret === undefined) return answer(response, 503, { error: 'no consumer secret is configured' })
  answer(response, 200, { response_token: sign(token, secret) })
}

async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the database did not answer in time')), timeoutMs)
  })
  // Whichever ends second must not become an unhandled rejection.
  work.catch(() => undefined)
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
