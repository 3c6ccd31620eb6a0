/** Defines the tables of pauses, run requests and alerts, and the audit log. */
import { sql } from 'drizzle-orm'
import { bigint, check, index, integer, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { destination } from './runs.ts'
import { instant, now, sluice } from './sluice.ts'

/** Paused pipeline: no run that sends starts until the row is deleted. Written by `db/pauses.ts`. */
export const pipelinePause = sluice.table('pipeline_pause', {
  /** Destination of the pipeline, because pipelines of two environments may have the same name. */
  destinationId: integer('destination_id')
    .primaryKey()
    .references(() => destination.id),
  pipeline: text('pipeline').notNull(),
  pausedAt: instant('paused_at').notNull().default(now()),
  actor: text('actor').notNull(),
  reason: text('reason'),
})

/**
 * Run request with an `Idempotency-Key`, and the run that the request got. Written by `db/runs/idempotency.ts`.
 */
export const runRequest = sluice.table(
  'run_request',
  {
    /** SHA-256 of destination, pipeline and `Idempotency-Key`. */
    key: text('key').primaryKey(),
    pipeline: text('pipeline').notNull(),
    runId: bigint('run_id', { mode: 'number' }).notNull(),
    /** Options of the request. Null if an earlier version stored the request. */
    options: text('options'),
    requestedAt: instant('requested_at').notNull().default(now()),
  },
  (t) => [index('run_request_age').on(t.requestedAt)],
)

/**
 * Condition that needs an operator. Begins with the check that found it, and ends with the check that no longer found it. Written by
 * `db/alerts.ts`.
 */
export const alert = sluice.table(
  'alert',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    /**
     * Environment of the pipeline (docs/decisions/fence.md), because pipelines of two environments may have the same name. Both are empty for
     * an alert of an earlier version whose environment is not known. Such an alert belongs to every environment.
     */
    service: text('service').notNull().default(''),
    credentials: text('credentials').notNull().default(''),
    /** Name of a pipeline, or of a file without a valid pipeline. */
    pipeline: text('pipeline').notNull(),
    event: text('event').notNull(),
    /** Details of the condition: code, message, hint, run, counts. */
    detail: jsonb('detail').notNull(),
    firedAt: instant('fired_at').notNull().default(now()),
    recoveredAt: instant('recovered_at'),
  },
  (t) => [
    // Only one open alert per condition, with any number of processes.
    uniqueIndex('alert_firing')
      .on(t.service, t.credentials, t.pipeline, t.event)
      .where(sql`recovered_at is null`),
    index('alert_recent').on(t.firedAt),
  ],
)

/** One message to one receiver. It is sent until the receiver accepts it or the message is too old. Written by `db/alerts.ts`. */
export const alertDelivery = sluice.table(
  'alert_delivery',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    alertId: bigint('alert_id', { mode: 'number' })
      .notNull()
      .references(() => alert.id, { onDelete: 'cascade' }),
    /** Name of the receiver in sluice.yaml. */
    receiver: text('receiver').notNull(),
    state: text('state').$type<'firing' | 'recovered'>().notNull(),
    attempts: integer('attempts').notNull().default(0),
    nextAttemptAt: instant('next_attempt_at').notNull().default(now()),
    deliveredAt: instant('delivered_at'),
    failedAt: instant('failed_at'),
    lastError: text('last_error'),
    createdAt: instant('created_at').notNull().default(now()),
  },
  (t) => [
    index('alert_delivery_open')
      .on(t.nextAttemptAt)
      .where(sql`delivered_at is null and failed_at is null`),
    check('alert_delivery_state', sql`${t.state} in ('firing', 'recovered')`),
  ],
)

/**
 * Line of the audit log: a state transition, an event or an action of an operator, with the actor (docs/guarantees.md#nothing-silent).
 * Written by `db/auditLog.ts`.
 */
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
    /** Pipeline that an operator's action is about; null for all other lines. */
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
