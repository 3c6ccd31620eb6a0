/** Defines the webhooks area: registrations, activity events, replays (spec 3.1, 4.7, 6; docs/spec-notes.md#webhooks). */
import { activityHandlers } from './activity.ts'
import { defineArea } from '../area.ts'
import { expire, recordCheck, runChecks } from './checks.ts'
import { emitControl } from './control.ts'
import { applyEntries, deliverDue } from './events.ts'
import { webhookHandlers } from './handlers.ts'
import { runJobs } from './replay.ts'
import { createRuntime, endRuntime } from './runtime.ts'
import { createWebhooks, type CheckOutcome, type Delivery, type LoggedEvent, type ReplayJob, type WebhooksState } from './state.ts'

/** Event of the journal: a change without a request. */
type WebhookEvent =
  | { readonly kind: 'checked'; readonly id: string; readonly outcome: CheckOutcome; readonly at: number }
  | { readonly kind: 'expired'; readonly id: string }
  | {
      readonly kind: 'event'
      readonly entries: readonly LoggedEvent[]
      readonly signature: Delivery['signature']
      readonly bytesPerS?: number
    }
  | { readonly kind: 'attempt'; readonly key: string; readonly done: boolean; readonly dueAt: number }
  | { readonly kind: 'replayed'; readonly id: string; readonly state: ReplayJob['state'] }

export const webhooksArea = defineArea({
  name: 'webhooks',
  createState: createWebhooks,
  // The journal contains a WebhooksState of this version. Its connections ended with their process.
  loadState: (_world, plain) => ({ ...(plain as WebhooksState), runtime: createRuntime() }),
  handlers: { ...webhookHandlers, ...activityHandlers },
  control: { 'POST /_sandbox/events': emitControl },
  onClock: async (world, state) => {
    await runChecks(world, state)
    await Promise.all([deliverDue(world, state), runJobs(world, state)])
  },
  applyEvent: (world, state, recorded) => {
    // Files of this folder recorded it: no other code records events of this area.
    const event = recorded as WebhookEvent
    switch (event.kind) {
      case 'checked': {
        const webhook = state.webhooks.get(event.id)
        if (webhook !== undefined) recordCheck(webhook, event.outcome, event.at)
        return
      }
      case 'expired': {
        const webhook = state.webhooks.get(event.id)
        if (webhook !== undefined) expire(webhook, world.now())
        return
      }
      case 'event':
        return applyEntries(world, state, event.entries, {
          signature: event.signature,
          ...(event.bytesPerS === undefined ? {} : { bytesPerS: event.bytesPerS }),
        })
      case 'attempt': {
        const delivery = state.pending.get(event.key)
        if (delivery === undefined) return
        delivery.attempts++
        delivery.dueAt = event.dueAt
        if (event.done) state.pending.delete(event.key)
        return
      }
      case 'replayed': {
        const job = state.jobs.get(event.id)
        if (job !== undefined) job.state = event.state
      }
    }
  },
  stop: (state) => endRuntime(state.runtime),
})
