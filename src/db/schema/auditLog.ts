/** Defines the tables of the audit log and of webhook events. */
import { sql } from 'drizzle-orm'
import { bigint, index, jsonb, text } from 'drizzle-orm/pg-core'
import { instant, now, sluice } from './sluice.ts'

/** Audit log: state transitions, events and actions of operators, with the actor (docs/guarantees.md#nothing-silent). */
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
    /** Pipeline of an operator's action. */
    pipeline: text('pipeline'),
    detail: jsonb('detail').notNull().default({}),
  },
  (t) => [
    index('audit_run').on(t.runId),
    index('audit_pipeline')
      .on(t.pipeline, t.id)
      .where(sql`pipeline is not null`),
  ],
)

/** Events of the service, each stored once (docs/guarantees.md#webhook-delivery). */
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
