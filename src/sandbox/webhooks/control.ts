/** Handles `POST /_sandbox/events`: emits activity events, also forged and repeated ones (docs/sandbox.md#events). */
import type { ControlHandler } from '../area.ts'
import { checkFields, ControlError, requireObject } from '../controlError.ts'
import { FIXED_USER } from '../firstIds.ts'
import { sendChallenge } from './checks.ts'
import { canonicalType, deliverDue, emitEvent, type ActivityEvent, type EmitOptions } from './events.ts'
import type { SubscriptionFilter, WebhooksState } from './state.ts'
import { listOf } from '../../unknownValue.ts'
import { withoutUndefined } from '../../withoutUndefined.ts'

/** Maximum of `times`, so that a mistyped number does not fill the memory. */
const MAX_TIMES = 1_000_000
const SIGNATURES = ['good', 'bad', 'none'] as const

/** Event to emit. Its values may be malformed, to test a receiver. */
interface EventFields {
  readonly event_type?: string
  readonly user_id?: string | number
  readonly filter?: Omit<SubscriptionFilter, 'user_id'> & Pick<EventFields, 'user_id'>
  readonly payload?: unknown
  readonly event_uuid?: string | number
  readonly tag?: string
  readonly includes?: unknown
}

interface EventInput extends EventFields {
  /** Event in the form of a delivery, instead of the fields above. */
  readonly data?: EventFields
  /** Number of events. Each has its own id, unless `event_uuid` is set. */
  readonly times?: number
  readonly signature?: (typeof SIGNATURES)[number]
  readonly webhook_id?: string
  /** Speed of the body, to test the timeout of a receiver. */
  readonly bytes_per_s?: number
  /**
   * Id of a webhook that gets a challenge. The outcome does not change the webhook. Only the first element of an array may have this field.
   * No events are then emitted.
   */
  readonly challenge?: string
  /** Token of the challenge. Default: random. */
  readonly token?: string
}

const EVENT_FIELDS = [
  'event_type',
  'user_id',
  'filter',
  'payload',
  'event_uuid',
  'tag',
  'includes',
] as const satisfies (keyof EventFields)[]
const SETTINGS = ['data', 'times', 'signature', 'webhook_id', 'bytes_per_s', 'challenge', 'token'] as const satisfies (keyof EventInput)[]

/**
 * Emits the event or events of the body. Every field is optional: `{}` is a `post.create` of user 1001.
 *
 * Resolves to `{ events: [uuid…], deliveries: { delivered, failed } }` when every due attempt has ended. `failed` counts deliveries that
 * failed at the first attempt; they are retried. Streams and invalid webhooks count as neither.
 *
 * If the body has a `challenge`, sends only the challenge, and resolves to `{ outcome }`: `unknown` for an unknown webhook.
 */
export const emitEvents: ControlHandler<WebhooksState> = async ({ world, state, body }) => {
  const inputs = (Array.isArray(body) ? listOf(body) : [body ?? {}]).map(readInput)
  const [first, ...others] = inputs
  if (others.some((input) => input.challenge !== undefined)) throw new ControlError('only the first element may have challenge')
  if (first?.challenge !== undefined) {
    const webhook = state.webhooks.get(first.challenge)
    return { outcome: webhook === undefined ? 'unknown' : await sendChallenge(world, webhook.url, first.token) }
  }
  const events = inputs.flatMap((input) => {
    const options: EmitOptions = {
      signature: input.signature ?? 'good',
      ...withoutUndefined({ webhookId: input.webhook_id, bytesPerS: input.bytes_per_s }),
    }
    return Array.from({ length: input.times ?? 1 }, () => emitEvent(world, eventOf(input.data ?? input), options))
  })
  const deliveries = { delivered: 0, failed: 0 }
  await deliverDue(world, state, ({ attempts }, isAccepted) => {
    // The other due deliveries are further attempts for earlier events.
    if (attempts === 0) deliveries[isAccepted ? 'delivered' : 'failed']++
  })
  return { events, deliveries }
}

/** Reads one event, and checks its fields, its type and the values of its settings. @throws {ControlError} */
function readInput(value: unknown): EventInput {
  const input = requireObject(value, 'an event')
  checkFields(input, [...EVENT_FIELDS, ...SETTINGS])
  const { data, times = 1, signature = 'good', bytes_per_s: speed } = input
  const event = data == null ? input : requireObject(data, 'data')
  if (event !== input) {
    checkFields(event, EVENT_FIELDS, 'data.')
    const beside = EVENT_FIELDS.find((name) => Object.hasOwn(input, name))
    if (beside !== undefined) throw new ControlError(`${beside} must be in data, not beside it`)
  }
  const { event_type: type } = event
  if (type !== undefined && typeof type !== 'string') throw new ControlError('event_type must be a text')
  if (!Number.isInteger(times) || Number(times) < 0 || Number(times) > MAX_TIMES)
    throw new ControlError(`times must be a whole number from 0 to ${MAX_TIMES}`)
  if (!SIGNATURES.some((known) => known === signature)) throw new ControlError(`signature must be one of: ${SIGNATURES.join(', ')}`)
  if (speed !== undefined && !(typeof speed === 'number' && speed > 0)) throw new ControlError('bytes_per_s must be a number above 0')
  for (const name of ['webhook_id', 'challenge', 'token'] as const)
    if (input[name] !== undefined && typeof input[name] !== 'string') throw new ControlError(`${name} must be a text`)
  // The values of the other fields are not checked: a test may emit malformed events.
  return input as EventInput
}

function eventOf(input: EventInput): ActivityEvent {
  const type = input.event_type ?? 'post.create'
  const user = String(input.user_id ?? input.filter?.user_id ?? FIXED_USER)
  const filter = { user_id: user, ...input.filter }
  return {
    event_type: type,
    filter: { ...filter, user_id: typeof filter.user_id === 'number' ? String(filter.user_id) : filter.user_id },
    payload: input.payload ?? payloadOf(type, user),
    ...(input.event_uuid === undefined ? {} : { event_uuid: String(input.event_uuid) }),
    ...withoutUndefined({ tag: input.tag, includes: input.includes }),
  }
}

/** Returns an invented payload in the shape of the event's type. A type without a known shape gets only the user. */
function payloadOf(givenType: string, user: string): unknown {
  const type = canonicalType(givenType)
  if (type === 'post.delete') return { id: '1166476031668015106', author_id: user }
  if (type.startsWith('post.')) return { id: '1166476031668015106', text: 'See how our mugs are made', author_id: user }
  if (type.startsWith('profile.update.')) return { before: 'Mugs', after: 'Mugs, made by hand' }
  if (type.startsWith('follow.')) return { source: { id: '2001' }, target: { id: user } }
  if (type === 'spaces.start' || type === 'spaces.end')
    return { user: { id: user }, broadcast_id: '1djGwlrkdwvKj', event_type: type.replace('.', '_') }
  if (type === 'dm.sent' || type === 'dm.received') {
    const [sender, recipient] = type === 'dm.sent' ? [user, '2001'] : ['2001', user]
    const message = { target: { recipient_id: recipient }, sender_id: sender, message_data: { text: 'Do you ship to Berlin?' } }
    return {
      direct_message_events: [
        { type: 'message_create', id: '1166476031668015200', created_timestamp: '1767225600000', message_create: message },
      ],
      users: {},
    }
  }
  if (type === 'oauth.revoke') return { date_time: '2027-01-15T12:00:00.000Z', user_id: user, app_id: '1' }
  return { user_id: user }
}
