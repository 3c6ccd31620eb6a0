/** Receives webhooks of the service: answers challenges, and verifies and stores events (spec 6.1; docs/spec-notes.md#webhooks). */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemClock, type Clock } from '../clock.ts'
import { inTime } from '../inTime.ts'
import { silentLogger, type Logger } from '../log.ts'
import { memoryEventStore, type EventStore, type ReceivedEvent } from './eventStore.ts'
import { parseEvent } from './parseEvent.ts'
import { GapTracker, type Gap } from './gap.ts'
import { answer, readBody, refuseBody } from './httpBodies.ts'
import { isChallengeToken, isSigned, sign } from './signature.ts'
import { errorCode } from '../unknownValue.ts'

export interface WebhookReceiverOptions {
  /** Store of the events. Default: memory of this process. */
  readonly store?: EventStore
  /**
   * Called with each new event after it was stored and answered. Not called for a repeated delivery. Not awaited. An error or a
   * rejection is only logged.
   */
  readonly onEvent?: (event: ReceivedEvent) => unknown
  /**
   * Consumer secrets, the current one first; during a rotation also the old one. A function is called for each request. An empty text is
   * no secret.
   */
  readonly secrets: readonly string[] | (() => readonly string[])
  /** Path that the service calls. Default `/webhooks`. */
  readonly path?: string
  /** Default: nothing is logged. */
  readonly log?: Logger
  /** Default: the clock of this machine. */
  readonly clock?: Clock
  /** Name of the header with the signature, in the service's own spelling. Default `x-service-webhooks-signature`. */
  readonly signatureHeader?: string
  /** Called when events can be stored again and the gap is recorded, so that a replay can be requested. */
  readonly onGap?: (gap: Gap) => unknown
  /** Maximum size of a body, checked before it is hashed. Default 1 MiB. */
  readonly maxBodyBytes?: number
  /** Maximum time from the headers of the request to the end of its body. Default 5 s: the service waits 10 s. */
  readonly bodyTimeoutMs?: number
  /** Maximum time of an insert, of a probe of the store, and of the record of a gap. Default 4 s. */
  readonly storeTimeoutMs?: number
}

export interface WebhookReceiver {
  /** Path that the receiver answers. */
  readonly path: string
  /** Answers the request and resolves to true. Resolves to false for another path, without reading it. Never rejects. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>
  /** Returns the start of the time in which events are refused because the store fails; undefined while events are stored. */
  readonly refusingSince: () => Date | undefined
  /** While events are refused, checks whether events can be stored again, and then ends the gap. Never rejects. */
  readonly probe: () => Promise<void>
}

/** Base URL to parse the targets of requests: these are only paths. */
const baseUrl = 'http://receiver'

const defaultSignatureHeader = 'x-service-webhooks-signature'
/** Maximum size of `lateInserts` (below). If the insert of a dropped event succeeds, `onEvent` is not called for the event. */
const maxLateInserts = 10_000

/**
 * Creates a receiver as a `node:http` handler. The receiver verifies the signature over the raw bytes and stores each event once. Only then
 * does it answer 200 (docs/guarantees.md#webhook-delivery, docs/webhooks.md).
 */
export function createWebhookReceiver(options: WebhookReceiverOptions): WebhookReceiver {
  const path = options.path ?? '/webhooks'
  const clock = options.clock ?? systemClock
  const log = options.log ?? silentLogger
  const store = options.store ?? memoryEventStore()
  const gap = new GapTracker(log, clock)
  const storeTimeoutMs = options.storeTimeoutMs ?? 4000
  const header = (options.signatureHeader ?? defaultSignatureHeader).toLowerCase()
  /**
   * Inserts that may still succeed although their delivery was answered with 503, by the id of the event. Only the newest `maxLateInserts`.
   * If such an insert stores the event, `onEvent` is called at the next delivery of the event.
   */
  const lateInserts = new Map<string, Promise<boolean>>()
  // Anyone can sign with an empty secret, such as that of a missing variable.
  const secrets = () => (typeof options.secrets === 'function' ? options.secrets() : options.secrets).filter((secret) => secret !== '')

  return {
    path,
    refusingSince: () => gap.since,
    async probe() {
      if (gap.since === undefined) return
      try {
        await inTime(storeTimeoutMs, store.probe())
      } catch {
        // Still down. The next probe or the next stored event ends the gap.
        return
      }
      await endGap()
    },
    async handle(request, response) {
      const target = request.url ?? '/'
      // A caller may send a target that is not a URL, such as `//`.
      const url = URL.canParse(target, baseUrl) ? new URL(target, baseUrl) : undefined
      if (url?.pathname !== path) return false
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
    // The signature covers the raw bytes, which a body parser does not keep. Without this check, the answer would be a late 408.
    if (request.readableEnded) {
      log.error({}, 'a webhook request was read before the receiver: call the receiver before any body parser')
      return answer(response, 500, { error: 'the body was read before the receiver' })
    }
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
    const adding = addAfter(lateInserts.get(event.id), event)
    try {
      isNew = await inTime(storeTimeoutMs, adding)
      lateInserts.delete(event.id)
      log.debug({ type: event.type, isNew }, 'webhook event')
    } catch (error) {
      noteLateInsert(event.id, adding)
      gap.noteRefusal()
      log.debug({ code: errorCode(error) ?? 'timeout' }, 'webhook event not stored')
      return answer(response, 503, { error: 'not stored, send it again' }, { 'retry-after': '60' })
    }
    answer(response, 200, {})
    await endGap()
    if (isNew) notify('onEvent', () => options.onEvent?.(event))
  }

  /** Adds to `lateInserts` an insert that failed or did not end in time. Removes the insert again if it stores no event. */
  function noteLateInsert(id: string, adding: Promise<boolean>): void {
    const outcome: Promise<boolean> = adding
      .catch(() => false)
      .then((stored) => {
        if (!stored && lateInserts.get(id) === outcome) lateInserts.delete(id)
        return stored
      })
    lateInserts.set(id, outcome)
    const [oldest] = lateInserts.keys()
    if (lateInserts.size > maxLateInserts && oldest !== undefined) lateInserts.delete(oldest)
  }

  /** Stores the event. Resolves to true if this insert stored it, or if `earlier` did: an insert whose delivery was answered with 503. */
  async function addAfter(earlier: Promise<boolean> | undefined, event: ReceivedEvent): Promise<boolean> {
    const added = await store.add(event)
    return added || (await earlier) === true
  }

  /** Calls a function of the options. Only logs its error, because the event is stored and answered. */
  function notify(name: 'onEvent' | 'onGap', call: () => unknown): void {
    const called = async () => call()
    called().catch((error: unknown) =>
      log.error({ error: error instanceof Error ? error.name : 'unknown' }, `${name} of the webhook receiver failed`),
    )
  }

  /** Ends the gap, if there is one: records it, then calls `onGap`. */
  async function endGap(): Promise<void> {
    const ended = gap.end()
    if (ended === undefined) return
    try {
      // If the record is stored only after the timeout, the gap is recorded twice, and replayed twice.
      if (store.recordGap !== undefined) await inTime(storeTimeoutMs, store.recordGap(ended))
    } catch (error) {
      // The database is down again or does not answer, so the gap continues.
      gap.reopen(ended)
      log.error(
        { error: error instanceof Error ? error.name : 'unknown', refused: ended.refused },
        'the gap in webhook events could not be recorded yet',
      )
      return
    }
    notify('onGap', () => options.onGap?.(ended))
  }
}

/** Answers a challenge, without the database. Signs only a token that cannot be an event (docs/spec-notes.md#webhooks). */
function answerChallenge(url: URL, response: ServerResponse, secret: string | undefined): void {
  const [token, ...more] = url.searchParams.getAll('crc_token')
  if (token === undefined || more.length > 0 || !isChallengeToken(token))
    return answer(response, 400, { error: 'crc_token must be 1 to 256 letters, digits or any of _ + / = -' })
  if (secret === undefined) return answer(response, 503, { error: 'no consumer secret is configured' })
  answer(response, 200, { response_token: sign(token, secret) })
}
