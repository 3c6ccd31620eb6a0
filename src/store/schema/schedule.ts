/** When it runs, and how fast it may send. */
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, integer, primaryKey, text } from 'drizzle-orm/pg-core'
import { instant, now, sluice } from './sluice.ts'

/** A pipeline's schedule as the scheduler last saw it. */
export const schedule = sluice.table(
  'schedule',
  {
    pipeline: text('pipeline').primaryKey(),
    cron: text('cron').notNull(),
    timezone: text('timezone').notNull(),
    overlap: text('overlap').notNull(),
    /** The last tick that was decided, as an instant. */
    lastScheduledFor: instant('last_scheduled_for').notNull().default(now()),
    enabled: boolean('enabled').notNull().default(true),
  },
  (t) => [check('schedule_overlap', sql`${t.overlap} in ('skip', 'queue')`)],
)

/** Every tick has a line: ran, queued, skipped, coalesced into a catch-up, and why. */
export const tick = sluice.table(
  'tick',
  {
    pipeline: text('pipeline').notNull(),
    scheduledFor: instant('scheduled_for').notNull(),
    outcome: text('outcome').notNull(),
    reason: text('reason'),
    runId: bigint('run_id', { mode: 'number' }),
    decidedAt: instant('decided_at').notNull().default(now()),
  },
  (t) => [
    primaryKey({ name: 'tick_pkey', columns: [t.pipeline, t.scheduledFor] }),
    check('tick_outcome', sql`${t.outcome} in ('ran', 'queued', 'skipped', 'missed')`),
  ],
)

/** The shared budget: head of the ring of grants of one class of limit (scale.md 3). */
export const budget = sluice.table('budget', {
  class: text('class').primaryKey(),
  granted: bigint('granted', { mode: 'number' }).notNull().default(0),
  /** Grants in a window; answer headers may lower it. */
  limit: integer('request_limit').notNull(),
  windowMs: integer('window_ms').notNull(),
  blockedUntil: instant('blocked_until'),
})

export const budgetSlot = sluice.table(
  'budget_slot',
  {
    class: text('class').notNull(),
    slot: integer('slot').notNull(),
    grantedAt: instant('granted_at').notNull(),
  },
  (t) => [primaryKey({ name: 'budget_slot_pkey', columns: [t.class, t.slot] })],
)
