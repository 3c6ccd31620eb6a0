import { sql } from 'drizzle-orm'
import { bigint, index, jsonb, text } from 'drizzle-orm/pg-core'
import { instant, now, sluice } from './sluice.ts'

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
