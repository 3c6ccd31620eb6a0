/** Defines the webhooks area: registrations, activity events, replays (spec 3.1, 4.7, 6; docs/spec-notes.md#webhooks). */
import { activityHandlers } from './activity.ts'
import { defineArea } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { invalidateIfExpired, recordCheck, runChecks } from './checks.ts'
import { emitEvents } from './control.ts'
import { deliverDue, logAndQueue } from './events.ts'
import { webhookHandlers } from './handlers.ts'
import { runJobs } from './replay.ts'
import { cancelSignal, cancelWork, endRuntime } from './runtime.ts'
import { createWebhooksState } from './state.ts'

export const webhooksArea = defineArea({
  ref: areaRefs.webhooks,
  createState: createWebhooksState,
  handlers: { ...webhookHandlers, ...activityHandlers },
  control: { 'POST /_sandbox/events': emitEvents },
  onClock: async (world, state) => {
    const cancelled = cancelSignal(world)
    await runChecks(world, state)
    if (cancelled.aborted) return
    await Promise.all([deliverDue(world, state), runJobs(world, state)])
  },
  // For the fault `stale`, the sandbox keeps a copy of the state before each event that reads can show. Those are only checks and expiry.
  // A copy for each of 2,000 events of one call exceeded the memory of Node.
  isHiddenFromReads: ({ kind }) => kind !== 'checked' && kind !== 'expired',
  applyEvent: (world, state, event) => {
    switch (event.kind) {
      case 'checked': {
        const webhook = state.webhooks.get(event.id)
        if (webhook !== undefined) recordCheck(webhook, event.outcome, event.at)
        return
      }
      case 'expired': {
        const webhook = state.webhooks.get(event.id)
        if (webhook !== undefined) invalidateIfExpired(webhook, world.now())
        return
      }
      case 'event':
        return logAndQueue(world, state, event.entries, {
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
  cancelWork,
  stop: endRuntime,
})
