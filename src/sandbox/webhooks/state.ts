/**
 * State of the webhooks area: webhooks, subscriptions, events, deliveries and replay jobs (spec 3.1, 6). `runtime.ts` has the open streams
 * and the running work.
 */

/** Outcome of a check (spec 3.1). `wrong-token`, `redirect` and `tls` make the webhook invalid immediately. */
export type CheckOutcome = 'valid' | 'wrong-token' | 'redirect' | 'tls' | 'transient'

export interface Webhook {
  readonly id: string
  readonly url: string
  valid: boolean
  readonly created_at: string
  /** Times of the last successful check and of the last check, by the sandbox's clock, milliseconds since 1970. */
  lastSuccessAt: number
  lastCheckAt: number
  lastOutcome: CheckOutcome
}

export interface SubscriptionFilter {
  readonly user_id?: string
  readonly keyword?: string
  readonly direction?: string
}

export interface Subscription {
  readonly subscription_id: string
  readonly event_type: string
  readonly filter: SubscriptionFilter
  readonly tag: string | null
  /** Receiver of the events; null for the activity streams. */
  readonly webhook_id: string | null
  readonly created_at: string
  readonly updated_at: string
}

/** Event for one webhook, delivered or not. `at`: milliseconds since 1970, by the sandbox's clock. */
export interface LoggedEvent {
  readonly at: number
  readonly webhookId: string
  readonly uuid: string
  /** The exact JSON text that is signed. */
  readonly body: string
}

/** Event whose next attempt is outstanding or running. Times are milliseconds since 1970, by the sandbox's clock. */
export interface Delivery {
  readonly key: string
  readonly webhookId: string
  readonly uuid: string
  readonly body: string
  readonly signature: 'good' | 'bad' | 'none'
  readonly bytesPerS?: number
  attempts: number
  /** Time of the next attempt. */
  dueAt: number
}

/** Replay of the events of a webhook from `from` (inclusive) to `to` (exclusive), in milliseconds since 1970. */
export interface ReplayJob {
  readonly job_id: string
  readonly webhookId: string
  readonly from: number
  readonly to: number
  readonly created_at: string
  state: 'pending' | 'Complete' | 'Incomplete'
}

/** State of the webhooks area. Keys are ids; in `pending`, `Delivery.key`. */
export interface WebhooksState {
  readonly webhooks: Map<string, Webhook>
  readonly subscriptions: Map<string, Subscription>
  /** Events for replays, in the order in which they were emitted. With each new event, events older than five days are dropped. */
  readonly log: LoggedEvent[]
  readonly pending: Map<string, Delivery>
  readonly jobs: Map<string, ReplayJob>
  /** Number in the key of the next delivery. */
  nextDelivery: number
}

/** Event of the journal: a change without a request. */
export type WebhooksJournalEvent =
  | { readonly kind: 'checked'; readonly id: string; readonly outcome: CheckOutcome; readonly at: number }
  | { readonly kind: 'expired'; readonly id: string }
  | {
      readonly kind: 'event'
      readonly entries: readonly LoggedEvent[]
      readonly signature: Delivery['signature']
      readonly bytesPerS?: number
    }
  /** Attempt of the delivery `key`. `dueAt`: time of the next attempt. `done`: true if there is none. */
  | { readonly kind: 'attempt'; readonly key: string; readonly done: boolean; readonly dueAt: number }
  | { readonly kind: 'replayed'; readonly id: string; readonly state: ReplayJob['state'] }

/** Returns the first state: no webhooks and no subscriptions. */
export function createWebhooksState(): WebhooksState {
  return {
    webhooks: new Map(),
    subscriptions: new Map(),
    log: [],
    pending: new Map(),
    jobs: new Map(),
    nextDelivery: 1,
  }
}
