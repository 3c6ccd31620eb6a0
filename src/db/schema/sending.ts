/** Defines the tables of plans, batches, entries and attempts. docs/states.md has their transitions. */
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, jsonb, primaryKey, smallint, text, unique } from 'drizzle-orm/pg-core'
import type { Change } from '../../model/report.ts'
import { destination, run } from './runs.ts'
import { bytea, instant, now, sluice } from './sluice.ts'

/**
 * Plan: frozen operations of one run, which are sent unchanged. Written in one transaction (docs/guarantees.md#atomic-plan), or in one
 * transaction for each part of a first load (docs/decisions/first-load-in-parts.md).
 * Written by `db/plans.ts`.
 */
export const plan = sluice.table(
  'plan',
  {
    id: text('id').primaryKey(),
    runId: bigint('run_id', { mode: 'number' })
      .notNull()
      .references(() => run.id),
    pipeline: text('pipeline').notNull(),
    destinationId: integer('destination_id')
      .notNull()
      .references(() => destination.id),
    snapshotId: bigint('snapshot_id', { mode: 'number' }),
    status: text('status').$type<'ready' | 'applying' | 'applied' | 'superseded'>().notNull(),
    /** `destination.state_version` that the plan is based on. */
    stateVersion: bigint('state_version', { mode: 'number' }).notNull(),
    /** SHA-256 over the `body_sha256` of all batches in order. An approval in the dashboard contains it. */
    digest: text('digest').notNull(),
    counts: jsonb('counts').notNull(),
    guards: jsonb('guards').notNull(),
    /**
     * Data for a review, such as the fields that updates change. `desiredVersion`: version of the destination's desired content after this
     * plan. `writesContent`: true if the plan wrote the new content of changed groups; otherwise an apply writes it.
     */
    review: jsonb('review').notNull().default({}),
    /** `{ rules, changes }`: rules of the product sets that an apply keeps, and the expected changes. Null if there are none. */
    productSets: jsonb('product_sets'),
    createdAt: instant('created_at').notNull().default(now()),
    appliedAt: instant('applied_at'),
  },
  (t) => [
    check('plan_status', sql`${t.status} in ('ready', 'applying', 'applied', 'superseded')`),
    // The last plan of a destination (`lastPlanOf` in `db/plans.ts`).
    index('plan_last').on(t.destinationId, sql`coalesce(applied_at, created_at)`),
    // The newest plan (`sync/reports/review.ts`).
    index('plan_created').on(t.destinationId, t.createdAt),
    index('plan_applying')
      .on(t.destinationId)
      .where(sql`status = 'applying'`),
    index('plan_snapshot').on(t.snapshotId),
    index('plan_run').on(t.runId),
  ],
)

/** Batch: one request with its frozen body, lease and state. Written by `db/batches/`. */
export const batch = sluice.table(
  'batch',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
    planId: text('plan_id')
      .notNull()
      .references(() => plan.id),
    destinationId: integer('destination_id').notNull(),
    /** Number of the batch in its plan, in the order of sending. */
    seq: integer('seq').notNull(),
    /**
     * 0: delete of an erasure, for which no run waits. 1: may be sent immediately. 2: sent after every delete batch of phase 1 is
     * settled.
     */
    phase: smallint('phase').notNull().default(1),
    operation: text('operation').$type<'upsert' | 'delete'>().notNull(),
    status: text('status')
      .$type<'pending' | 'in_flight' | 'ambiguous' | 'parked' | 'settled' | 'split' | 'superseded'>()
      .notNull()
      .default('pending'),
    /** Body as UTF-8 JSON. Null if `batch_entries.template` has the body, or after retention or an erasure removed it. */
    body: bytea('body'),
    bodySha256: bytea('body_sha256').notNull(),
    entryCount: integer('entry_count').notNull(),
    userCount: integer('user_count').notNull(),
    parentId: bigint('parent_id', { mode: 'number' }),
    /**
     * Earliest end of its memberships. After this time the batch is not sent, and the next plan has new times
     * (docs/guarantees.md#freshness). For a settled batch: a lower bound of the ends of the memberships that this batch confirmed last.
     * Null if there are none.
     */
    expiresAt: instant('expires_at'),
    epoch: integer('epoch').notNull().default(0),
    workerId: text('worker_id'),
    leaseUntil: instant('lease_until'),
    attempts: integer('attempts').notNull().default(0),
    /**
     * True if the service may have applied an entry of the batch: the outcome of an attempt is unknown. The attempt is of this batch, or of
     * a batch whose entries moved to this one. Also true for a new delete beside an update (`insertDeleteBatch`). Never set to false again.
     */
    maybeApplied: boolean('maybe_applied').notNull().default(false),
    /** Number of consecutive complete answers with wrong counts or without results (docs/guarantees.md#isolation-of-a-failing-record). */
    miscounts: integer('miscounts').notNull().default(0),
    nextAttemptAt: instant('next_attempt_at'),
    /**
     * Run of the first load that the batch is part of; null for other batches. The keys of such a batch may be implied, without rows in
     * `remote` (`db/impliedKeys.ts`).
     */
    loadId: bigint('load_id', { mode: 'number' }),
    /** Lowest record key of a batch of a load. All its record keys are below the `first_key` of the next batch of the load. */
    firstKey: bytea('first_key'),
    /** True once no key of the batch is implied any more; always false for batches without `load_id`. */
    keysStored: boolean('keys_stored').notNull().default(false),
    /** Code of the reason for which the batch is open again, parked, split, superseded or waiting. */
    reason: text('reason'),
    createdAt: instant('created_at').notNull().default(now()),
    /**
     * Time from which no attempt of the batch can arrive at the service any more; null while the batch is open. Usually the time at which
     * the batch ended. Up to one horizon later if an attempt may arrive late (docs/decisions/late-arrival-horizon.md).
     */
    settledAt: instant('settled_at'),
  },
  (t) => [
    unique('batch_seq').on(t.planId, t.seq),
    index('batch_open')
      .on(t.destinationId, t.phase, t.seq)
      .where(sql`status in ('pending', 'in_flight', 'ambiguous', 'parked')`),
    // Finds memberships to renew. The ends of keys have no index, because every answer writes these ends.
    index('batch_ends')
      .on(t.destinationId, t.expiresAt)
      .where(sql`status = 'settled' and expires_at is not null`),
    index('batch_of_load')
      .on(t.destinationId, t.loadId, t.firstKey)
      .where(sql`load_id is not null`),
    index('batch_lease')
      .on(t.leaseUntil)
      .where(sql`status = 'in_flight'`),
    check('batch_operation', sql`${t.operation} in ('upsert', 'delete')`),
    check('batch_status', sql`${t.status} in ('pending', 'in_flight', 'ambiguous', 'parked', 'settled', 'split', 'superseded')`),
    check(
      'batch_maybe_applied',
      sql`case ${t.status} when 'pending' then not ${t.maybeApplied} when 'ambiguous' then ${t.maybeApplied} else true end`,
    ),
    check('batch_lease_held', sql`(${t.status} = 'in_flight') = (${t.leaseUntil} is not null)`),
    check('batch_load', sql`${t.loadId} is null or ${t.keysStored} or ${t.status} not in ('parked', 'split', 'superseded')`),
    check('batch_load_key', sql`(${t.loadId} is null) = (${t.firstKey} is null)`),
    check('batch_settled', sql`(${t.settledAt} is not null) = (${t.status} in ('settled', 'split', 'superseded'))`),
  ],
)

/**
 * Entry: one frozen operation of a batch, for a product, a product key to delete, or users. Most operations on people are in
 * `batch_entries` instead.
 * Written by `db/entries/`.
 */
export const entry = sluice.table(
  'entry',
  {
    batchId: bigint('batch_id', { mode: 'number' }).notNull(),
    /** Place in the body, from 0. */
    ord: integer('ord').notNull(),
    destinationId: integer('destination_id').notNull(),
    /**
     * Key of the record; for several users the key of the first user. For a delete of identifiers, the key of their group. If the person is
     * suppressed or erased, the first identifier.
     */
    recordKey: bytea('record_key').notNull(),
    /** Keys of `remote` that its outcome applies to: one product id, or the identifiers of users. */
    keys: bytea('keys').array().notNull(),
    change: text('change').$type<Change>().notNull(),
    /** True for the put of a product that must be deleted. The delete in a later plan needs the product_key of the answer. */
    keyLookup: boolean('key_lookup').notNull().default(false),
    /** `desired_hash` of the keys, which becomes their `synced_hash` when the operation is confirmed; null for deletes. */
    hash: bytea('hash'),
    expiresAt: instant('expires_at'),
    users: integer('users').notNull().default(1),
    /** Offset of the entry's bytes in the body. A split copies these bytes and never edits them. */
    offset: integer('byte_offset').notNull(),
    length: integer('byte_length').notNull(),
    /**
     * An outcome of the whole batch is not written to each entry (`entryOutcome` in `db/entries/read.ts`). So `pending` means confirmed in
     * a settled batch, and superseded in a superseded batch.
     */
    outcome: text('outcome').notNull().default('pending'),
    code: text('code'),
    message: text('message'),
  },
  (t) => [
    primaryKey({ name: 'entry_pkey', columns: [t.batchId, t.ord] }),
    index('entry_record').on(t.destinationId, t.recordKey),
    check('entry_change', sql`${t.change} in ('create', 'update', 'delete', 'renewal')`),
    check('entry_outcome', sql`${t.outcome} in ('pending', 'confirmed', 'refused', 'ambiguous', 'superseded')`),
  ],
)

/**
 * All entries of a batch in one row (docs/decisions/packed-state.md). They are updates or deletes of people, and are pending, confirmed or
 * superseded as a whole. Before one of the entries gets another outcome, all of them are replaced by rows of `entry`
 * (`db/entries/expand.ts`). Arrays are in the order of the body. `changes`, `hashes`, `users` and `byte_lengths` have one element if all
 * are equal; deletes have no hashes.
 */
export const batchEntries = sluice.table(
  'batch_entries',
  {
    batchId: bigint('batch_id', { mode: 'number' }).primaryKey(),
    destinationId: integer('destination_id').notNull(),
    /** Lowest and highest record key, to find the batches of a record without reading the arrays. */
    firstKey: bytea('first_key').notNull(),
    lastKey: bytea('last_key').notNull(),
    recordKeys: bytea('record_keys').array().notNull(),
    /** For each entry its concatenated keys, 33 bytes each. */
    keys: bytea('keys').array().notNull(),
    changes: text('changes').array().notNull(),
    hashes: bytea('hashes').array().notNull(),
    users: integer('users').array().notNull(),
    /** End of the memberships of all entries; null for deletes. */
    expiresAt: instant('expires_at'),
    /** Offset of the first entry in the body. There is one byte between two entries. */
    firstOffset: integer('first_offset').notNull(),
    lengths: integer('byte_lengths').array().notNull(),
    /**
     * Body without the digests of its keys (`db/bodyTemplate.ts`). Null if `batch.body` has the body, or after retention removed
     * it.
     */
    template: bytea('template'),
  },
  (t) => [index('batch_entries_destination').on(t.destinationId)],
)

/** Attempt of a batch: committed before the first byte is sent, finished when its answer is classified. Written by `db/attempts.ts`. */
export const attempt = sluice.table(
  'attempt',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    batchId: bigint('batch_id', { mode: 'number' }).notNull(),
    runId: bigint('run_id', { mode: 'number' }).notNull(),
    epoch: integer('epoch').notNull(),
    workerId: text('worker_id').notNull(),
    bodySha256: bytea('body_sha256').notNull(),
    startedAt: instant('started_at').notNull().default(now()),
    finishedAt: instant('finished_at'),
    outcome: text('outcome'),
    httpStatus: smallint('http_status'),
    reason: text('reason'),
    /** Counts, statuses and codes of the answer, without echoed records and identifiers. */
    answer: jsonb('answer'),
    answerSha256: bytea('answer_sha256'),
    durationMs: integer('duration_ms'),
  },
  (t) => [
    index('attempt_batch').on(t.batchId),
    index('attempt_run').on(t.runId),
    check('attempt_outcome', sql`${t.outcome} in ('confirmed', 'partial', 'refused', 'retry', 'pause', 'ambiguous')`),
  ],
)
