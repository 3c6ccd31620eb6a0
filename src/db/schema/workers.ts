/** Defines the tables of processes, and of the rate limit that they share. */
import { integer, text, bigint, primaryKey } from 'drizzle-orm/pg-core'
import { instant, now, sluice } from './sluice.ts'

/**
 * Worker: a process that may have leases. Other processes on the same machine can detect from its pid that the process has ended.
 * Written by `db/workers.ts`.
 */
export const worker = sluice.table('worker', {
  id: text('id').primaryKey(),
  role: text('role').notNull(),
  host: text('host').notNull(),
  /** Boot id and pid namespace: the pid is comparable only if both are equal. */
  hostScope: text('host_scope').notNull(),
  pid: integer('pid').notNull(),
  /** Start time of the process in clock ticks since boot, to detect a reused pid. Empty if unknown. */
  pidStarted: text('pid_started').notNull(),
  concurrency: integer('concurrency').notNull().default(1),
  startedAt: instant('started_at').notNull().default(now()),
  seenAt: instant('seen_at').notNull().default(now()),
})

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
