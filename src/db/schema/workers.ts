import { integer, text } from 'drizzle-orm/pg-core'
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
