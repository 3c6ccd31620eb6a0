import { index, jsonb, text } from 'drizzle-orm/pg-core'
import { instant, now, sluice } from './sluice.ts'

/**
 * Events of the service, each stored once (docs/guarantees.md#webhook-delivery). `webhooks/eventStore.ts` writes them, and
 * `db/webhookEvents.ts` deletes old ones.
 */
export const webhookEvent = sluice.table(
  'webhook_event',
  {
    /** The event's own id, or the SHA-256 of its body. */
    id: text('id').primaryKey(),
    type: text('type').notNull(),
    body: jsonb('body').notNull(),
    receivedAt: instant('received_at').notNull().default(now()),
  },
  (t) => [index('webhook_event_received').on(t.receivedAt)],
)
