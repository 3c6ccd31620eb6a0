/** What happened, and what the service told. */
import { bigint, index, jsonb, text } from 'drizzle-orm/pg-core'
import { instant, now, sluice } from './sluice.ts'

/** Who did what, and why: every transition that a person may ask about (I25). */
export const audit = sluice.table(
  'audit',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    at: instant('at').notNull().default(now()),
    actor: text('actor').notNull(),
    what: text('what').notNull(),
    runId: bigint('run_id', { mode: 'number' }),
    planId: text('plan_id'),
    batchId: bigint('batch_id', { mode: 'number' }),
    detail: jsonb('detail').notNull().default({}),
  },
  (t) => [index('audit_run').on(t.runId)],
)

/** Events that the service delivered, once each (I23). */
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
