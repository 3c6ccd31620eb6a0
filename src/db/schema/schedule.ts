/** Defines the tables of schedules and of their ticks (the times at which a schedule is due). */
import { sql } from 'drizzle-orm'
import { bigint, check, integer, primaryKey, text, unique } from 'drizzle-orm/pg-core'
import { destination } from './runs.ts'
import { instant, now, sluice } from './sluice.ts'

/**
 * Schedule that a folder of pipelines declares. The same schedule in two folders, or on two machines, has one row. So only one scheduler
 * decides whether a tick starts a run. A scheduler does not end schedules of other folders (docs/decisions/fence.md). Written by
 * `db/schedules.ts`.
 */
export const pipelineSchedule = sluice.table(
  'pipeline_schedule',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    destinationId: integer('destination_id')
      .notNull()
      .references(() => destination.id),
    /** Credentials of the environment that declares the schedule. */
    credentials: text('credentials').notNull(),
    pipeline: text('pipeline').notNull(),
    cron: text('cron').notNull(),
    timezone: text('timezone').notNull(),
    overlap: text('overlap').$type<'skip' | 'queue'>().notNull(),
    /** Time of the last decided tick; at first, the time of the declaration. */
    lastScheduledFor: instant('last_scheduled_for').notNull().default(now()),
    /** Real path of the folder that declared the schedule last. */
    folder: text('folder').notNull().default(''),
    declaredAt: instant('declared_at').notNull().default(now()),
    /**
     * Time at which the schedule was marked as undeclared, because its folder no longer has it. Null while declared. A schedule that is
     * declared again starts at the time of the new declaration.
     */
    undeclaredAt: instant('undeclared_at'),
  },
  (t) => [
    unique('pipeline_schedule_identity').on(t.destinationId, t.credentials, t.pipeline, t.cron, t.timezone),
    check('pipeline_schedule_overlap', sql`${t.overlap} in ('skip', 'queue')`),
  ],
)

/** Tick of a schedule with its outcome (ran, queued, skipped, missed) and the reason. Written by `db/schedules.ts`. */
export const tick = sluice.table(
  'tick',
  {
    /** 0 for the daily cleanup, which has no destination. */
    destinationId: integer('destination_id').notNull().default(0),
    pipeline: text('pipeline').notNull(),
    scheduledFor: instant('scheduled_for').notNull(),
    outcome: text('outcome').notNull(),
    reason: text('reason'),
    runId: bigint('run_id', { mode: 'number' }),
    decidedAt: instant('decided_at').notNull().default(now()),
  },
  (t) => [
    primaryKey({ name: 'tick_pkey', columns: [t.destinationId, t.pipeline, t.scheduledFor] }),
    check('tick_outcome', sql`${t.outcome} in ('ran', 'queued', 'skipped', 'missed')`),
  ],
)
