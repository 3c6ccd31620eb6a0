/** Emits activity events: matches them with webhooks and subscriptions, delivers and retries them (spec 6; docs/spec-notes.md#webhooks). */
import { randomUUID } from 'node:crypto'
import pLimit from 'p-limit'
import { deprecatedEventTypes } from '../../service/contract/webhookResources.ts'
import type { World } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { sendToStreams } from './stream.ts'
import type { Post } from '../posts/state.ts'
import { sendEvent } from './outbound.ts'
import { startUnlessRunning } from './runtime.ts'
import type { Delivery, LoggedEvent, Subscription, SubscriptionFilter, WebhooksState } from './state.ts'

const MAX_ATTEMPTS = 3
/** Time between two attempts, by the sandbox's clock. */
const RETRY_DELAY_MS = 60_000
/** Age up to which an event can be replayed. */
export const REPLAYABLE_MS = 5 * 86_400_000
/** Current names of event types by their deprecated names. */
const CURRENT_TYPES: ReadonlyMap<string, string> = new Map(Object.entries(deprecatedEventTypes))

export interface ActivityEvent {
  readonly event_type: string
  readonly filter: SubscriptionFilter
  readonly payload: unknown
  /** Default: random. */
  readonly event_uuid?: string
  readonly tag?: string
  readonly includes?: unknown
}

/** Options of the deliveries of an event. */
export interface EmitOptions {
  /** Default: `good`. */
  readonly signature?: 'good' | 'bad' | 'none'
  /** Speed of the body in bytes per second. Default: no limit. */
  readonly bytesPerS?: number
  /** Delivers only to this webhook, and to no stream. */
  readonly webhookId?: string
  /**
   * Delivers only to matching subscriptions. By default, a webhook without subscriptions gets every event. Streams get every event, unless
   * a subscription is for them.
   */
  readonly subscribedOnly?: boolean
}

/** Limits how many deliveries run at the same time, over all sandboxes of the process. */
const attemptLimit = pLimit(32)

/**
 * Emits `post.create` or `post.delete` for a post to the matching subscriptions. Does not wait for the deliveries. Returns null: the
 * journal stores what this function returns, and there is nothing to store.
 */
export function emitPostEvent(world: World, type: 'post.create' | 'post.delete', post: Post): null {
  const deletion = { id: post.id, author_id: post.author_id }
  const payload = type === 'post.delete' ? deletion : { ...deletion, text: post.text, created_at: new Date(post.createdAt).toISOString() }
  emitEvent(world, { event_type: type, filter: { user_id: post.author_id }, payload }, { subscribedOnly: true })
  void deliverDue(world, world.stateOf(areaRefs.webhooks))
  return null
}

/**
 * Adds the copies of an event (`copiesFor`) to the log for replays. Queues the copies for valid webhooks; `deliverDue` sends them. Writes
 * the event to the open streams. Returns the id of the event.
 */
export function emitEvent(world: World, event: ActivityEvent, options: EmitOptions = {}): string {
  const state = world.stateOf(areaRefs.webhooks)
  const uuid = event.event_uuid ?? randomUUID()
  const envelope = ({ tag, keyword }: CopyFields) =>
    JSON.stringify({
      data: {
        event_uuid: uuid,
        filter: { ...shownFilter(world, event), ...(keyword === undefined ? {} : { keyword }) },
        event_type: event.event_type,
        ...(tag == null ? {} : { tag }),
        payload: event.payload,
        ...(event.includes === undefined ? {} : { includes: event.includes }),
      },
    })
  const subscriptions = [...state.subscriptions.values()]
  const entries: LoggedEvent[] = []
  for (const webhook of state.webhooks.values()) {
    for (const copy of copiesFor(webhook.id, subscriptions, event, options))
      entries.push({ at: world.now(), webhookId: webhook.id, uuid, body: envelope(copy) })
  }
  if (entries.length > 0)
    world.recordEvent(areaRefs.webhooks, {
      kind: 'event',
      entries,
      signature: options.signature ?? 'good',
      ...(options.bytesPerS === undefined ? {} : { bytesPerS: options.bytesPerS }),
    })
  sendToStreams(world, copiesFor(null, subscriptions, event, options).map(envelope))
  return uuid
}

/** Fields of a delivered event that depend on the subscription. */
interface CopyFields {
  readonly tag?: string | null | undefined
  readonly keyword?: string | undefined
}

/**
 * Returns the copies of the event that a receiver gets. `receiver`: id of a webhook, or null for the streams.
 * - A receiver with subscriptions gets a copy for each matching subscription.
 * - A receiver without subscriptions gets one copy; with `subscribedOnly` none.
 * - With `webhookId`, other receivers get none.
 */
function copiesFor(
  receiver: string | null,
  subscriptions: readonly Subscription[],
  event: ActivityEvent,
  options: EmitOptions,
): CopyFields[] {
  if (options.webhookId !== undefined && receiver !== options.webhookId) return []
  const ofReceiver = subscriptions.filter((one) => one.webhook_id === receiver)
  if (ofReceiver.length > 0)
    return ofReceiver
      .filter((one) => matchesSubscription(one, event))
      .map(({ tag, filter }) => ({ tag: tag ?? event.tag, keyword: filter.keyword }))
  return options.subscribedOnly === true ? [] : [{ tag: event.tag }]
}

/** Callback after each attempt. Not called if nothing was sent because the webhook is invalid, or if the attempt was cancelled. */
type OnAttempt = (delivery: Delivery, isAccepted: boolean) => void

/**
 * Makes one attempt of every delivery that is due. Resolves when all these attempts have ended. Also waits for attempts that were already
 * running, but does not call `onAttempt` for them.
 */
export async function deliverDue(world: World, state: WebhooksState, onAttempt: OnAttempt = () => undefined): Promise<void> {
  const now = world.now()
  const dueDeliveries = [...state.pending.values()].filter((delivery) => delivery.dueAt <= now)
  await Promise.all(
    dueDeliveries.map((delivery) =>
      startUnlessRunning(world, delivery.key, (cancelled) =>
        attemptLimit(() => attemptDelivery(world, state, delivery, cancelled, onAttempt)),
      ),
    ),
  )
}

/**
 * Makes one attempt of a delivery, and records the result. Ends a delivery to an invalid webhook without sending. Does nothing once
 * cancelled.
 */
async function attemptDelivery(
  world: World,
  state: WebhooksState,
  delivery: Delivery,
  cancelled: AbortSignal,
  onAttempt: OnAttempt,
): Promise<void> {
  if (cancelled.aborted) return
  const webhook = state.webhooks.get(delivery.webhookId)
  // The event for an invalid webhook stays in the log. A replay can deliver it when the webhook is valid again.
  const isValid = webhook?.valid === true
  const status = isValid ? await postEvent(world, webhook.url, delivery, cancelled) : 0
  if (cancelled.aborted) return
  if (isValid) onAttempt(delivery, isSuccess(status))
  world.recordEvent(areaRefs.webhooks, {
    kind: 'attempt',
    key: delivery.key,
    done: !isValid || isSuccess(status) || delivery.attempts + 1 >= MAX_ATTEMPTS,
    dueAt: world.now() + RETRY_DELAY_MS,
  })
}

/**
 * Posts an event, signed as `delivery.signature` requests. Resolves to the status of the answer. Resolves to 0 without an answer, and if
 * cancelled.
 */
export function postEvent(
  world: World,
  url: string,
  delivery: Pick<Delivery, 'body' | 'signature' | 'bytesPerS'>,
  cancelled: AbortSignal,
): Promise<number> {
  return sendEvent({
    url,
    cancelled,
    body: delivery.body,
    secret: world.credentials.consumerSecret,
    form: world.switchValue('signature_form'),
    signature: delivery.signature,
    header: world.names.toOwn('x-service-webhooks-signature'),
    ...(delivery.bytesPerS === undefined ? {} : { bytesPerS: delivery.bytesPerS }),
  })
}

/** Returns true for 200, the only answer that accepts an event (spec 6.1). */
export function isSuccess(status: number): boolean {
  return status === 200
}

/** Adds the copies of an event to the log, and queues those for valid webhooks. Drops logged events that are too old for a replay. */
export function logAndQueue(
  world: World,
  state: WebhooksState,
  entries: readonly LoggedEvent[],
  deliverySettings: Pick<Delivery, 'signature' | 'bytesPerS'>,
): void {
  for (const entry of entries) {
    state.log.push(entry)
    if (state.webhooks.get(entry.webhookId)?.valid !== true) continue
    const key = `delivery ${state.nextDelivery++}`
    state.pending.set(key, {
      key,
      webhookId: entry.webhookId,
      uuid: entry.uuid,
      body: entry.body,
      ...deliverySettings,
      attempts: 0,
      dueAt: entry.at,
    })
  }
  const oldest = world.now() - REPLAYABLE_MS
  while ((state.log[0]?.at ?? oldest) < oldest) state.log.shift()
}

function matchesSubscription(subscription: Subscription, event: ActivityEvent): boolean {
  const { filter } = subscription
  if (canonicalType(subscription.event_type) !== canonicalType(event.event_type)) return false
  if (filter.user_id !== undefined && filter.user_id !== event.filter.user_id) return false
  if (filter.keyword !== undefined && !hasKeyword(event, filter.keyword)) return false
  const direction = canonicalDirection(filter.direction)
  return direction === undefined || direction === 'both' || direction === directionOf(event)
}

/** Returns true if the filter of the event has the keyword, or if the payload contains it. Ignores case in the payload. */
function hasKeyword({ filter, payload }: ActivityEvent, keyword: string): boolean {
  if (filter.keyword === keyword) return true
  return JSON.stringify(payload ?? '')
    .toLowerCase()
    .includes(keyword.toLowerCase())
}

/** Returns the current name of a deprecated event type (spec 6.2); any other name unchanged. */
export function canonicalType(name: string): string {
  return CURRENT_TYPES.get(name) ?? name
}

/** Returns the specification's name of a direction. The service's documentation calls `sent` `outbound` and `received` `inbound`. */
function canonicalDirection(direction: string | undefined): string | undefined {
  return direction === 'inbound' ? 'received' : direction === 'outbound' ? 'sent' : direction
}

/**
 * Returns the direction of the event, `sent` or `received`, from its filter or else from its type. Undefined for an event without
 * direction.
 */
function directionOf(event: ActivityEvent): string | undefined {
  const given = canonicalDirection(event.filter.direction)
  return given === 'sent' || given === 'received' ? given : /\.(sent|received)$/.exec(event.event_type)?.[1]
}

/**
 * Returns the filter as the event shows it. For direct messages and chats it has the direction. The switch `direction_values` selects the
 * words: `sent` or `outbound`.
 */
function shownFilter(world: World, event: ActivityEvent): SubscriptionFilter {
  const direction = directionOf(event)
  if (direction === undefined || !/^(dm|chat)\./.test(event.event_type)) return event.filter
  return {
    ...event.filter,
    direction: world.switchValue('direction_values') === 'documented' ? (direction === 'sent' ? 'outbound' : 'inbound') : direction,
  }
}
