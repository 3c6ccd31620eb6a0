/**
 * The receiver of the service's webhooks as a node:http handler: answers challenges from memory, stores verified events
 * once, and says 200 only after the insert (spec 6.1; spec/gaps.md 10; guarantees I23, H1–H6).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemClock, type Clock } from '../clock.ts'
import type { Logger } from '../log.ts'
import type { Database } from '../store/database.ts'
import { answer } from './answer.ts'
import { parseEvent, storeEvent } from './events.ts'
import { GapKeeper, type Gap } from './gap.ts'
import { readBody, refuseBody } from './requestBody.ts'
import { isChallengeToken, isSigned, sign } from './signature.ts'

export interface WebhookReceiverOptions {
  readonly db: Database
  /** Consumer secrets, the current one first; during a rotation also the old one. A function is asked on each request. */
  readonly secrets: readonly string[] | (() => readonly string[])
  /** Path that the service calls. Default `/webhooks`. */
  readonly path?: string
  readonly log: Logger
  readonly clock?: Clock
  /** The service's own spelling of the header. Default `x-service-webhooks-signature`. */
  readonly signatureHeader?: string
  /** Told once events are stored again after a database outage and the gap stands in the audit log, so that a replay can be requested. */
  readonly onGap?: (gap: Gap) => void
  /** Default 1 MiB, checked before anything is hashed. */
  readonly maxBodyBytes?: number
  /** From the first byte of the request to the last of its body. Default 5 s: the service waits 10. */
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

export function createWebhookReceiver(options: WebhookReceiverOptions): WebhookReceiver {
  const path = options.path ?? '/webhooks'
  const clock = options.clock ?? systemClock
  const gap = new GapKeeper(options.log, clock.now)
  const header = (options.signatureHeader ?? SIGNATURE_HEADER).toLowerCase()
  const secrets = () => (typeof options.secrets === 'function' ? options.secrets() : options.secrets)

  return {
    path,
    refusingSince: () => gap.since,
    async probe() {
      if (gap.since === undefined) return
      try {
        await within(options.db.query('select 1 from sluice.webhook_event limit 1'), options.storeTimeoutMs ?? 4000)
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
        options.log.error({ error: error instanceof Error ? error.name : 'unknown' }, 'a webhook request failed')
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
      options.log.warn({}, 'a webhook request without a valid signature was refused')
      return answer(response, 401, { error: 'the signature is not valid' })
    }
    const event = parseEvent(body)
    if (event === undefined) return answer(response, 400, { error: 'the body is not a JSON object' })
    try {
      const isNew = await within(storeEvent(options.db, event), options.storeTimeoutMs ?? 4000)
      options.log.debug({ type: event.type, isNew }, 'webhook event')
    } catch (error) {
      gap.refused()
      options.log.debug({ code: String((error as { code?: unknown }).code ?? 'timeout') }, 'webhook event not stored')
      return answer(response, 503, { error: 'not stored, send it again' }, { 'retry-after': '60' })
    }
    answer(response, 200, {})
    const ended = gap.stored()
    if (ended !== undefined) await reportGap(ended)
  }

  /** Durable, so that an operator sees it although nobody read the log. */
  async function reportGap(ended: Gap): Promise<void> {
    try {
      await options.db.execute('insert into sluice.audit (actor, what, detail) values ($1, $2, $3)', [
        'webhooks',
        'webhook.gap',
        JSON.stringify({ from: ended.from.toISOString(), to: ended.to.toISOString(), refused: ended.refused }),
      ])
    } catch (error) {
      // Down again at once: the gap goes on, so that it is recorded when that ends.
      gap.reopen(ended)
      options.log.error(
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
