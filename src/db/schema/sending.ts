/** Tables of sending: frozen plans, their requests, their operations, every attempt. docs/states.md draws the transitions. */
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, jsonb, primaryKey, smallint, text, unique } from 'drizzle-orm/pg-core'
import { destination, run } from './runs.ts'
import { bytea, instant, now, sluice } from './sluice.ts'

/** Frozen operations of one run, written in one transaction (docs/guarantees.md#atomic-plan), sent exactly as they are. */
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
    /** `destination.state_version` it was made at. */
    stateVersion: bigint('state_version', { mode: 'number' }).notNull(),
    /** SHA-256 over all batch bodies in order: what was reviewed. */
    digest: text('digest').notNull(),
    counts: jsonb('counts').notNull(),
    guards: jsonb('guards').notNull(),
    /** Samples and reasons for people: update fields, held deletes. `desiredVersion`: the destination's behind this plan. */
    review: jsonb('review').notNull().default({}),
    /** `{ rules, changes }`: the product sets that an apply keeps, and what that was expected to change. Null: none. */
    productSets: jsonb('product_sets'),
    createdAt: instant('created_at').notNull().default(now()),
    appliedAt: instant('applied_at'),
  },
  (t) => [check('plan_status', sql`${t.status} in ('ready', 'applying', 'applied', 'superseded')`)],
)

/** One request: its frozen body, its lease, its outcome. docs/states.md draws the transitions. */
export const batch = sluice.table(
  'batch',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
    planId: text('plan_id')
      .notNull()
      .references(() => plan.id),
    destinationId: integer('destination_id').notNull(),
    seq: integer('seq').notNull(),
    /** 0: delete of an erasure, which no run waits for. 1: may be sent immediately. 2: only when every delete batch of phase 1 is settled (delete, then update). */
    phase: smallint('phase').notNull().default(1),
    operation: text('operation').$type<'upsert' | 'delete'>().notNull(),
    status: text('status')
      .$type<'pending' | 'in_flight' | 'ambiguous' | 'parked' | 'settled' | 'split' | 'superseded'>()
      .notNull()
      .default('pending'),
    /** UTF-8 JSON as sent. Null if `batch_entries.template` has it, and once retention removed it. */
    body: bytea('body'),
    bodySha256: bytea('body_sha256').notNull(),
    entryCount: integer('entry_count').notNull(),
    userCount: integer('user_count').notNull(),
    parentId: bigint('parent_id', { mode: 'number' }),
    /**
     * Earliest frozen expiry: past it the batch is cancelled and planned again (docs/guarantees.md#freshness). Of a settled one: no membership that
     * it confirmed ends before; null if all of them have ended or were renewed.
     */
    expiresAt: instant('expires_at'),
    epoch: integer('epoch').notNull().default(0),
    workerId: text('worker_id'),
    leaseUntil: instant('lease_until'),
    attempts: integer('attempts').notNull().default(0),
    /** Complete answers in a row that were wrong alike (docs/guarantees.md#isolation-of-a-failing-record). */
    wrongAlike: integer('wrong_alike').notNull().default(0),
    nextAttemptAt: instant('next_attempt_at'),
    /** Run of the first load that it is part of: keys of its records may be implied (`db/impliedKeys.ts`). */
    loadId: bigint('load_id', { mode: 'number' }),
    /** Lowest record key of a batch of a load. Its records are those up to the next batch's. */
    firstKey: bytea('first_key'),
    /** True for a batch of a load if none of its keys is implied any more. */
    keysStored: boolean('keys_stored').notNull().default(false),
    /** Code of why it is parked, refused, superseded or waiting. */
    reason: text('reason'),
    createdAt: instant('created_at').notNull().default(now()),
    settledAt: instant('settled_at'),
  },
  (t) => [
    unique('batch_seq').on(t.planId, t.seq),
    index('batch_open')
      .on(t.destinationId, t.phase, t.seq)
      .where(sql`status in ('pending', 'in_flight', 'ambiguous', 'parked')`),
    // Where to look for memberships to renew: their own ends are in no index, because every answer writes them.
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
    check('batch_lease_held', sql`(${t.status} = 'in_flight') = (${t.leaseUntil} is not null)`),
    check('batch_load', sql`${t.loadId} is null or ${t.keysStored} or ${t.status} not in ('parked', 'split', 'superseded')`),
    check('batch_load_key', sql`(${t.loadId} is null) = (${t.firstKey} is null)`),
    check('batch_settled', sql`(${t.settledAt} is not null) = (${t.status} in ('settled', 'split', 'superseded'))`),
  ],
)

/** One frozen operation of a batch: a product, a product key to delete, one user. Most updates of people are in `batch_entries` instead. */
export const entry = sluice.table(
  'entry',
  {
    batchId: bigint('batch_id', { mode: 'number' }).notNull(),
    /** Place in the body, from 0. */
    ord: integer('ord').notNull(),
    destinationId: integer('destination_id').notNull(),
    /** Record it came from; for deletes of identifiers without a record, their group. */
    recordKey: bytea('record_key').notNull(),
    /** Keys of `remote` that it decides: one product id, or a user's identifiers. */
    keys: bytea('keys').array().notNull(),
    change: text('change').notNull(),
    /** `desired_hash` that a confirmation makes `synced_hash`; null for deletes. */
    hash: bytea('hash'),
    expiresAt: instant('expires_at'),
    users: integer('users').notNull().default(1),
    /** Slice of the body: a re-cut copies it, never edits it. */
    offset: integer('byte_offset').notNull(),
    length: integer('byte_length').notNull(),
    /** In a settled batch `pending` means confirmed, in a superseded one superseded: where it is so of all, nothing is written of each (`entryOutcome`). */
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
 * All entries of a batch in one row, as long as they do not differ: updates of people that are pending, confirmed
 * or superseded as a whole (docs/decisions/packed-state.md). The first answer that distinguishes them turns them into rows of `entry`
 * (`db/entries/expand.ts`). Arrays are in the order of the body; `changes`, `hashes`, `users` and `byte_lengths` have one element where all are alike.
 */
export const batchEntries = sluice.table(
  'batch_entries',
  {
    batchId: bigint('batch_id', { mode: 'number' }).primaryKey(),
    destinationId: integer('destination_id').notNull(),
    /** Lowest and highest record key: which batches may have a record is known without reading the arrays. */
    firstKey: bytea('first_key').notNull(),
    lastKey: bytea('last_key').notNull(),
    recordKeys: bytea('record_keys').array().notNull(),
    /** For each entry its keys one after the other, 33 bytes each. */
    keys: bytea('keys').array().notNull(),
    changes: text('changes').array().notNull(),
    hashes: bytea('hashes').array().notNull(),
    users: integer('users').array().notNull(),
    /** Expiry of every entry. */
    expiresAt: instant('expires_at'),
    /** Offset of the first entry in the body; one byte lies between two. */
    firstOffset: integer('first_offset').notNull(),
    lengths: integer('byte_lengths').array().notNull(),
    /** The body without the digests of its keys (`db/bodyTemplate.ts`). Null: `batch.body` has it, or retention removed it. */
    template: bytea('template'),
  },
  (t) => [index('batch_entries_destination').on(t.destinationId)],
)

/** One attempt of a batch: committed before the first byte leaves, finished when its answer is classified. */
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
    /** Counts, statuses and codes of the answer; no echo, no identifiers. */
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
