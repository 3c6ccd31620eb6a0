/** Defines the tables of destinations, runs, snapshots and rejected rows. */
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, jsonb, smallint, text, unique, uniqueIndex } from 'drizzle-orm/pg-core'
import type { RunTrigger, StoredRunStatus } from '../../model/report.ts'
import { bytea, instant, now, sluice } from './sluice.ts'

/** Catalog, audience or do-not-reach list of one service. Written by `db/destinations.ts`. */
export const destination = sluice.table(
  'destination',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    /** Address of the advertising host. It is part of the row's identity. So the state of a sandbox is never used for the service. */
    service: text('service').notNull(),
    /** Application and user that the destination belongs to (docs/decisions/fence.md). Null until its first run. */
    credentials: text('credentials'),
    /** Type of destination. `destinations/index.ts` checks the types, not a CHECK constraint, so that a new type needs no migration. */
    kind: text('kind').notNull(),
    accountId: text('account_id').notNull().default(''),
    targetId: text('target_id').notNull(),
    /**
     * Version of the synced state. Rises with every answer that confirms or refuses entries and with the start of a plan. Also rises if
     * an audit invalidates content, and if the state is deleted. A plan for an older version is stale.
     */
    stateVersion: bigint('state_version', { mode: 'number' }).notNull().default(0),
    /**
     * Version of the desired content. Rises with every plan that changes the content, and if the state is deleted. For a do-not-reach list
     * also with every answered or expired batch after which a member may no longer be suppressed. Then the account's audiences read their
     * sources again.
     */
    desiredVersion: bigint('desired_version', { mode: 'number' }).notNull().default(0),
    /** Key of the digests of raw records. Random, so that the writer of a feed cannot construct a collision. */
    digestKey: bytea('digest_key')
      .notNull()
      .default(sql`uuid_send(gen_random_uuid())`),
    /** True if any key may be out of sync: after a first load, or after very many changes. False if only keys in `changed_key` may be. */
    allChanged: boolean('all_changed').notNull().default(true),
    /** Instance of the sandbox that the synced state belongs to. Null for the service. */
    instance: text('instance'),
    /** Identity of the database from which the destination is synced (`db/databaseIdentity.ts`). Null until its first run. */
    databaseIdentity: text('database_identity'),
    /** Time at which a push or the cancellation of a run paused the destination. The next run ends the pause. Null if it is not paused. */
    pausedAt: instant('paused_at'),
    pausedReason: text('paused_reason'),
    createdAt: instant('created_at').notNull().default(now()),
  },
  (t) => [unique('destination_identity').on(t.service, t.kind, t.accountId, t.targetId)],
)

/** Run of a pipeline. `sluice plan` and `sluice apply` are runs too. Written by `db/runs/`. */
export const run = sluice.table(
  'run',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    pipeline: text('pipeline').notNull(),
    destinationId: integer('destination_id').references(() => destination.id),
    trigger: text('trigger').$type<RunTrigger>().notNull(),
    status: text('status').$type<StoredRunStatus>().notNull(),
    /** Time of the tick for which a schedule requested the run; null for all other runs. */
    scheduledFor: instant('scheduled_for'),
    /** Requested version of the pipeline. A worker needs this version to claim the run. Null: any version. */
    definition: text('definition'),
    /** Earlier run that this run repeats. */
    rerunOf: bigint('rerun_of', { mode: 'number' }),
    /** Options of the run (`RunOptions`). */
    options: jsonb('options').notNull().default({}),
    planId: text('plan_id'),
    snapshotId: bigint('snapshot_id', { mode: 'number' }),
    counts: jsonb('counts').notNull().default({}),
    guards: jsonb('guards').notNull().default([]),
    warnings: jsonb('warnings').notNull().default([]),
    /** [{stage, startedAt, durationMs}] */
    stages: jsonb('stages').notNull().default([]),
    /** Progress of the running stage: {stage, done, total, at …}. Null after the end of the run. */
    progress: jsonb('progress'),
    /** Column names of the source, in its order: the header of `rejects --csv`. */
    columns: jsonb('columns').notNull().default([]),
    error: jsonb('error'),
    /** Changes of product sets with their outcomes. Null if the pipeline has no product sets. */
    productSets: jsonb('product_sets'),
    workerId: text('worker_id'),
    epoch: integer('epoch').notNull().default(0),
    leaseUntil: instant('lease_until'),
    cancelRequestedAt: instant('cancel_requested_at'),
    createdAt: instant('created_at').notNull().default(now()),
    startedAt: instant('started_at'),
    finishedAt: instant('finished_at'),
  },
  (t) => [
    // One run per tick, with any number of schedulers (docs/guarantees.md#one-run-per-tick).
    unique('run_tick').on(t.destinationId, t.pipeline, t.scheduledFor),
    // One running run per destination, including backfills and reruns.
    uniqueIndex('run_one_active')
      .on(t.destinationId)
      .where(sql`status = 'running'`),
    index('run_by_pipeline').on(t.pipeline, t.id),
    index('run_open')
      .on(t.status)
      .where(sql`status in ('queued', 'running')`),
    // Runs that a guard stopped before their plan. They are few, so the index is small.
    index('run_stopped')
      .on(t.pipeline, t.id)
      .where(sql`plan_id is null and guards <> '[]'`),
    index('run_plan').on(t.planId),
    index('run_rerun')
      .on(t.rerunOf)
      .where(sql`rerun_of is not null`),
    check('run_trigger', sql`${t.trigger} in ('manual', 'schedule', 'backfill', 'rerun', 'plan', 'apply')`),
    check('run_status', sql`${t.status} in ('queued', 'running', 'succeeded', 'partial', 'withheld', 'failed', 'cancelled', 'skipped')`),
    check('run_finished', sql`(${t.finishedAt} is not null) = (${t.status} not in ('queued', 'running'))`),
  ],
)

/**
 * Result of one read of a pipeline's sources. A missing row causes a delete only if the snapshot is closed, so the read was complete
 * (docs/guarantees.md#deletes-need-proof).
 * Written by `db/snapshots.ts`.
 */
export const snapshot = sluice.table(
  'snapshot',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    destinationId: integer('destination_id')
      .notNull()
      .references(() => destination.id),
    runId: bigint('run_id', { mode: 'number' })
      .notNull()
      .references(() => run.id),
    status: text('status').notNull(),
    /** `SourceFacts` of each source. */
    sources: jsonb('sources').notNull().default([]),
    definitionHash: text('definition_hash').notNull(),
    /** Sum of `desired_version` of the do-not-reach lists that the read applied. */
    suppressionVersion: bigint('suppression_version', { mode: 'number' }).notNull().default(0),
    counts: jsonb('counts').notNull().default({}),
    openedAt: instant('opened_at').notNull().default(now()),
    closedAt: instant('closed_at'),
  },
  (t) => [
    check('snapshot_status', sql`${t.status} in ('open', 'closed', 'incomplete', 'discarded')`),
    check('snapshot_closed', sql`(${t.closedAt} is not null) = (${t.status} <> 'open')`),
    index('snapshot_last').on(t.destinationId, t.id),
    index('snapshot_open')
      .on(t.destinationId)
      .where(sql`status = 'open'`),
    index('snapshot_opened').on(t.destinationId, t.openedAt),
    index('snapshot_run').on(t.runId),
  ],
)

/** Rejected row. Cells are masked before they are stored (docs/guarantees.md#no-raw-identifier-at-rest). Written by `db/rejects.ts`. */
export const reject = sluice.table(
  'reject',
  {
    runId: bigint('run_id', { mode: 'number' }).notNull(),
    line: bigint('line', { mode: 'number' }).notNull(),
    /** Index of the source in the pipeline, from 0. */
    source: smallint('source').notNull().default(0),
    code: text('code').notNull(),
    field: text('field').notNull(),
    message: text('message').notNull(),
    hint: text('hint').notNull(),
    recordKey: bytea('record_key'),
    cells: jsonb('cells').notNull().default([]),
    /** Further faults of the row: `[{ code, field, message, hint }]`. */
    more: jsonb('more').notNull().default([]),
  },
  (t) => [
    index('reject_run').on(t.runId, t.source, t.line),
    index('reject_key')
      .on(t.recordKey)
      .where(sql`record_key is not null`),
  ],
)
