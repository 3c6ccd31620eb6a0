/** Defines the tables of the rate limit that all processes share. */
import { bigint, integer, primaryKey, text } from 'drizzle-orm/pg-core'
import { instant, sluice } from './sluice.ts'

/**
 * Shared rate budget of one user of the service for one class of limit. `class` contains the names of service, user and limit. The grants
 * (permissions to send one request) are in `budget_slot`. Written by `db/rateBudget.ts`.
 */
export const budget = sluice.table('budget', {
  class: text('class').primaryKey(),
  /** Number of all grants so far. */
  granted: bigint('granted', { mode: 'number' }).notNull().default(0),
  /** Maximum number of grants in a window; headers of answers may change it. */
  limit: integer('request_limit').notNull(),
  /** Window in milliseconds. */
  windowMs: integer('window_ms').notNull(),
  /** Time until which nothing is granted, because the service requested a wait. */
  blockedUntil: instant('blocked_until'),
})

/** Time of one grant, in a ring of slots: grant `n` is in slot `n` modulo the size of the ring. Written by `db/rateBudget.ts`. */
export const budgetSlot = sluice.table(
  'budget_slot',
  {
    class: text('class').notNull(),
    slot: integer('slot').notNull(),
    grantedAt: instant('granted_at').notNull(),
  },
  (t) => [primaryKey({ name: 'budget_slot_pkey', columns: [t.class, t.slot] })],
)
