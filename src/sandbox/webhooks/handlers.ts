/** Handles the endpoints of webhooks (spec 4.7, 6.1; docs/spec-notes.md#webhooks). */
import type { webhookReasons } from '../../service/contract/webhookResources.ts'
import type { Call, Handler } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { v2ParameterRefusal, type Refusal } from '../refusal.ts'
import { recordCheck, sendChallenge } from './checks.ts'
import { REPLAYABLE_MS } from './events.ts'
import { parseMinute, runJobs } from './replay.ts'
import { cancelSignal } from './runtime.ts'
import type { CheckOutcome, Webhook, WebhooksState } from './state.ts'
import { webhookUrlProblem } from './url.ts'

/** Maximum number of webhooks of the app. Assumed, because the number is not published. */
const MAX_WEBHOOKS = 10
const MINUTE = 60_000

type Reason = (typeof webhookReasons)[number]

export const webhookHandlers: Readonly<Record<string, Handler<WebhooksState>>> = {
  'webhooks.create': async (call) => {
    const url = String(call.params['url'])
    const urlProblem = webhookUrlProblem(url, call.world.switchValue('webhook_dev_urls') === 'on')
    if (urlProblem !== undefined) throw webhookRefusal('UrlValidationFailed', urlProblem, 'url', url)
    const checkRegistrations = (): void => {
      if ([...call.state.webhooks.values()].some((one) => one.url === url))
        throw webhookRefusal('DuplicateUrlFailed', 'the url is registered already', 'url', url)
      if (call.state.webhooks.size >= MAX_WEBHOOKS)
        throw webhookRefusal('WebhookLimitExceeded', `an app has at most ${MAX_WEBHOOKS} webhooks`, 'url', url)
    }
    checkRegistrations()
    const id = call.world.newId()
    const outcome = await call.runEffect(() => sendChallenge(call.world, url), 'valid')
    if (outcome !== 'valid') throw webhookRefusal('CrcValidationFailed', failureReason(outcome), 'url', url)
    // Another call may have registered a webhook while this one waited for the receiver.
    checkRegistrations()
    const webhook: Webhook = {
      id,
      url,
      valid: true,
      created_at: new Date(call.now).toISOString(),
      lastSuccessAt: call.now,
      lastCheckAt: call.now,
      lastOutcome: 'valid',
    }
    call.state.webhooks.set(id, webhook)
    return { kind: 'json', body: { data: toWire(webhook) } }
  },
  'webhooks.list': (call) => {
    const data = [...call.state.webhooks.values()].map(toWire)
    return { kind: 'json', body: { data, meta: { result_count: data.length } } }
  },
  'webhooks.check': async (call) => {
    const webhook = findWebhook(call, call.params['webhook_id'])
    const outcome = await call.runEffect(() => sendChallenge(call.world, webhook.url), 'valid')
    // Another call may have deleted the webhook while this one waited for the receiver.
    findWebhook(call, webhook.id)
    if (outcome !== 'valid') {
      // The journal does not contain refused calls. So an event records the outcome.
      call.world.recordEvent(areaRefs.webhooks, { kind: 'checked', id: webhook.id, outcome, at: call.now })
      throw webhookRefusal('CrcValidationFailed', failureReason(outcome), 'webhook_id', webhook.id)
    }
    recordCheck(webhook, 'valid', call.now)
    return { kind: 'json', body: { data: { valid: true } } }
  },
  'webhooks.delete': (call) => {
    const webhook = findWebhook(call, call.params['webhook_id'])
    call.state.webhooks.delete(webhook.id)
    for (const [id, subscription] of call.state.subscriptions)
      if (subscription.webhook_id === webhook.id) call.state.subscriptions.delete(id)
    for (const [key, delivery] of call.state.pending) if (delivery.webhookId === webhook.id) call.state.pending.delete(key)
    return { kind: 'json', body: { data: { deleted: true } } }
  },
  'webhooks.replay': async (call) => {
    const webhook = findWebhook(call, call.params['webhook_id'])
    const from = minuteOf(call, 'from_date')
    const to = minuteOf(call, 'to_date')
    // Events of the last 5 days can be replayed. `from_date` has no seconds, so it may be up to a minute earlier.
    if (from < call.now - REPLAYABLE_MS - MINUTE || from > call.now)
      throw v2ParameterRefusal('from_date', String(call.params['from_date']), 'from_date must be a time of the last 5 days')
    if (to <= from) throw v2ParameterRefusal('to_date', String(call.params['to_date']), 'to_date must be later than from_date')
    const id = call.world.newId()
    const created = new Date(call.now).toISOString()
    // The range includes the whole minute of `to_date`.
    call.state.jobs.set(id, { job_id: id, webhookId: webhook.id, from, to: to + MINUTE, created_at: created, state: 'pending' })
    await call.runEffect(() => {
      const cancelled = cancelSignal(call.world)
      setImmediate(() => {
        if (!cancelled.aborted) void runJobs(call.world, call.state)
      })
      return Promise.resolve(null)
    }, null)
    return { kind: 'json', body: { data: { job_id: id, created_at: created } } }
  },
}

/** Returns the webhook with the id. @throws {Refusal} `WebhookIdInvalid` */
export function findWebhook(call: Call<WebhooksState>, id: unknown): Webhook {
  const webhook = call.state.webhooks.get(String(id))
  if (webhook === undefined) throw webhookRefusal('WebhookIdInvalid', 'no webhook of this app has that id', 'webhook_id', String(id))
  return webhook
}

/** Returns the 400 whose message begins with the reason. */
function webhookRefusal(reason: Reason, message: string, parameter: string, value: string): Refusal {
  return v2ParameterRefusal(parameter, value, `${reason}: ${message}`)
}

function toWire({ id, url, valid, created_at }: Webhook): Pick<Webhook, 'id' | 'url' | 'valid' | 'created_at'> {
  return { id, url, valid, created_at }
}

/** Returns a `yyyymmddhhmm` parameter in milliseconds since 1970. @throws {Refusal} for any other text */
function minuteOf(call: Call<WebhooksState>, name: string): number {
  const text = String(call.params[name])
  const at = parseMinute(text)
  if (at === undefined) throw v2ParameterRefusal(name, text, `${name} must be a minute in UTC as yyyymmddhhmm`)
  return at
}

function failureReason(outcome: CheckOutcome): string {
  switch (outcome) {
    case 'wrong-token':
      return 'the answer to the challenge had no correct response_token'
    case 'redirect':
      return 'the url answered with a redirect'
    case 'tls':
      return 'the TLS connection failed'
    default:
      return 'the url did not answer the challenge with a success within 10 seconds'
  }
}
