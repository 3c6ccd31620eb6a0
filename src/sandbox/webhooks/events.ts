/** Activity events: made, matched with webhooks and subscriptions, delivered, retried (spec 6; docs/spec-notes.md#webhooks). */
import { randomUUID } from 'node:crypto'
import pLimit from 'p-limit'
import { deprecatedEventTypes } from '../../service/contract/webhookResources.ts'
import type { World } from '../area.ts'
import { sendToStreams } from './stream.ts'
import type { Post } from '../posts/state.ts'
import { sendEvent } from './outbound.ts'
import { once } from './runtime.ts'
import type { Delivery, LoggedEvent, Subscription, SubscriptionFilter, WebhooksState } from './state.ts'

/** Attempts of one delivery, and the pause between them by the sandbox's clock (docs/spec-notes.md#webhooks Delivery). */
const ATTEMPTS = 3
const PAUSE_MS = 60_000
const REPLAY_DAYS_MS = 5 * 86_400_000

export interface ActivityEvent {
  readonly event_type: string
  readonly filter: SubscriptionFilter
  readonly payload: unknown
  readonly event_uuid?: string
  readonly tag?: string
  readonly includes?: unknown
}

export interface EmitOptions {
  readonly signature?: 'good' | 'bad' | 'none'
  /** Sends the body no faster. */
  readonly bytesPerS?: number
  /** Only to this webhook. */
  readonly webhookId?: string
  /** Only where a subscription asks for it; otherwise webhooks without subscriptions get everything. */
  readonly subscribedOnly?: boolean
}

const sending = pLimit(32)

/** `post.create` for those who subscribed to the author. Does not wait for the receivers. */
export function emitPost(world: World, post: Post): null {
  const payload = { id: post.id, text: post.text, author_id: post.author_id, created_at: new Date(post.createdAt).toISOString() }
  noteEvent(world, { event_type: 'post.create', filter: { user_id: post.author_id }, payload }, { subscribedOnly: true })
  void deliverDue(world, stateOf(world))
  return null
}

/**
 * Emits an event: stores it for replays, sends it to the streams, and queues it, signed as requested, for every webhook
 * that it is for; `deliverDue` sends. Hands back the event's id.
 */
export function noteEvent(world: World, event: ActivityEvent, options: EmitOptions = {}): string {
  const state = stateOf(world)
  const uuid = event.event_uuid ?? randomUUID()
  const envelope = (tag: string | null | undefined) =>
    JSON.stringify({
      data: {
        event_uuid: uuid,
        filter: shownFilter(world, event),
        event_type: event.event_type,
        ...(tag == null ? {} : { tag }),
        payload: event.payload,
        ...(event.includes === undefined ? {} : { includes: event.includes }),
      },
    })
  const subscriptions = [...state.subscriptions.values()]
  const entries: LoggedEvent[] = []
  for (const webhook of state.webhooks.values()) {
    if (options.webhookId !== undefined && webhook.id !== options.webhookId) continue
    const own = subscriptions.filter((one) => one.webhook_id === webhook.id)
    const tags =
      own.length === 0
        ? options.subscribedOnly === true
          ? []
          : [event.tag]
        : own.filter((one) => matches(one, event)).map((one) => one.tag ?? event.tag)
    for (const tag of tags) entries.push({ at: world.now(), webhookId: webhook.id, uuid, body: envelope(tag) })
  }
  if (entries.length > 0)
    world.record('webhooks', {
      kind: 'event',
      entries,
      signature: options.signature ?? 'good',
      ...(options.bytesPerS === undefined ? {} : { bytesPerS: options.bytesPerS }),
    })
  const streamed = subscriptions.filter((one) => one.webhook_id === null)
  const lines =
    streamed.length === 0
      ? options.subscribedOnly === true
        ? []
        : [envelope(event.tag)]
      : streamed.filter((one) => matches(one, event)).map((one) => envelope(one.tag ?? event.tag))
  sendToStreams(state, lines)
  return uuid
}

/** Sends every delivery that is due; resolves when all, also those already on their way, have ended. */
export async function deliverDue(world: World, state: WebhooksState): Promise<void> {
  const now = world.now()
  const due = [...state.pending.values()].filter((delivery) => delivery.dueAt <= now)
  await Promise.all(due.map((delivery) => once(state.runtime, delivery.key, () => sending(() => attempt(world, state, delivery)))))
}

async function attempt(world: World, state: WebhooksState, delivery: Delivery): Promise<void> {
  const webhook = state.webhooks.get(delivery.webhookId)
  // Removed or invalid meanwhile: what was missed is there for a replay.
  const status = webhook?.valid === true ? await post(world, webhook.url, delivery) : 0
  const gone = webhook?.valid !== true
  world.record('webhooks', {
    kind: 'attempt',
    key: delivery.key,
    done: gone || isSuccess(status) || delivery.attempts + 1 >= ATTEMPTS,
    dueAt: world.now() + PAUSE_MS,
  })
}

/** Status of the receiver's answer; 0 when none came. */
export function post(world: World, url: string, delivery: Pick<Delivery, 'body' | 'signature' | 'bytesPerS'>): Promise<number> {
  return sendEvent({
    url,
    body: delivery.body,
    secret: world.credentials.consumerSecret,
    form: world.switch('signature_form'),
    signature: delivery.signature,
    header: world.names.own('x-service-webhooks-signature'),
    ...(delivery.bytesPerS === undefined ? {} : { bytesPerS: delivery.bytesPerS }),
  })
}

/** The receiver answers 200 (spec 6.1); anything else is tried again. */
export function isSuccess(status: number): boolean {
  return status === 200
}

/** Puts an event into the log and queues it for its webhooks (applied through the journal). */
export function applyEntries(
  world: World,
  state: WebhooksState,
  entries: readonly LoggedEvent[],
  how: Pick<Delivery, 'signature' | 'bytesPerS'>,
): void {
  for (const entry of entries) {
    state.log.push(entry)
    if (state.webhooks.get(entry.webhookId)?.valid !== true) continue
    const key = `delivery ${state.nextDelivery++}`
    state.pending.set(key, { key, webhookId: entry.webhookId, uuid: entry.uuid, body: entry.body, ...how, attempts: 0, dueAt: entry.at })
  }
  const oldest = world.now() - REPLAY_DAYS_MS
  while ((state.log[0]?.at ?? oldest) < oldest) state.log.shift()
}

/** Returns true if a subscription requests the event. */
export function matches(subscription: Subscription, event: ActivityEvent): boolean {
  const { filter } = subscription
  if (canonicalType(subscription.event_type) !== canonicalType(event.event_type)) return false
  if (filter.user_id !== undefined && filter.user_id !== event.filter.user_id) return false
  if (
    filter.keyword !== undefined &&
    !(
      event.filter.keyword === filter.keyword ||
      JSON.stringify(event.payload ?? '')
        .toLowerCase()
        .includes(filter.keyword.toLowerCase())
    )
  )
    return false
  const wanted = canonicalDirection(filter.direction)
  return wanted === undefined || wanted === 'both' || wanted === directionOf(event)
}

/** The newer spelling of a deprecated name (spec 6.2). */
export function canonicalType(name: string): string {
  return (deprecatedEventTypes as Readonly<Record<string, string>>)[name] ?? name
}

/** `sent` and `received` are the specification's words, `outbound` and `inbound` the documentation's (docs/spec-notes.md#webhooks direction). */
function canonicalDirection(direction: string | undefined): string | undefined {
  return direction === 'inbound' ? 'received' : direction === 'outbound' ? 'sent' : direction
}

function directionOf(event: ActivityEvent): string | undefined {
  return canonicalDirection(event.filter.direction) ?? (/\.(sent|received)$/.exec(event.event_type)?.[1] as string | undefined)
}

function shownFilter(world: World, event: ActivityEvent): SubscriptionFilter {
  const direction = directionOf(event)
  if (direction === undefined || !/^(dm|chat)\./.test(event.event_type)) return event.filter
  return {
    ...event.filter,
    direction: world.switch('direction_values') === 'documented' ? (direction === 'sent' ? 'outbound' : 'inbound') : direction,
  }
}

function stateOf(world: World): WebhooksState {
  return world.stateOf('webhooks')
}
