/** Defines the tables of desired and synced state, by destination and key. They are the largest tables. */
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core'
import { bytea, instant, sluice } from './sluice.ts'

/** Content of each row of the source, a product or a member, at its last read. Written by `db/records.ts`. */
export const record = sluice.table(
  'record',
  {
    destinationId: integer('destination_id').notNull(),
    /** Product id as UTF-8, or 16 bytes of SHA-256 over the customer key. */
    key: bytea('key').notNull(),
    /** Hash of the content. Records with equal hashes have equal content. */
    hash: bytea('hash').notNull(),
    /** Products: the written fields as JSON. Null for members. */
    body: text('body'),
    /**
     * Packed identifiers (`PackedIdentifier` in `model/record.ts`), sorted. Null for products, and if `joined_identifiers` has them. Used
     * for a member with an identifier that is not a digest, and for a member that lost an opted-out identifier. Also used for a member that
     * an earlier version wrote.
     */
    identifiers: bytea('identifiers').array(),
    effectiveAt: instant('effective_at'),
    expiresAt: instant('expires_at'),
    line: bigint('line', { mode: 'number' }).notNull(),
    /**
     * live: desired. stale: its row is now rejected, so the earlier content is kept. missing: no longer in the source, and kept
     * unchanged, as out of stock, or until its delete is confirmed.
     */
    status: text('status').notNull().default('live'),
    /** Snapshot of the read that last wrote the content. */
    snapshotId: bigint('snapshot_id', { mode: 'number' }).notNull(),
    /**
     * Number of the first load that wrote the record. The keys of such a record may be implied, without rows in `remote`
     * (`db/impliedKeys.ts`).
     */
    loadId: bigint('load_id', { mode: 'number' }),
    /** Packed identifiers, sorted and concatenated. Null if `identifiers` has them. `db/identifiers.ts` has the SQL that reads both forms. */
    joinedIdentifiers: bytea('joined_identifiers'),
  },
  (t) => [
    primaryKey({ name: 'record_pkey', columns: [t.destinationId, t.key] }),
    index('record_not_live')
      .on(t.destinationId)
      .where(sql`status <> 'live'`),
    // Every plan reads this index. It is empty if no row has times.
    index('record_timed')
      .on(t.destinationId)
      .where(sql`effective_at is not null or expires_at is not null`),
    check('record_status', sql`${t.status} in ('live', 'stale', 'missing')`),
  ],
)

/**
 * Digests of the raw records of the last complete read with their record keys, in chunks (docs/benchmarks.md). Stored only if every valid
 * record has a digest. Written by `db/digests.ts`.
 */
export const recordDigest = sluice.table(
  'record_digest',
  {
    destinationId: integer('destination_id').notNull(),
    chunk: integer('chunk').notNull(),
    /** Concatenated digests of 16 bytes. */
    digests: bytea('digests').notNull(),
    /** Two bytes per digest, big-endian: number of the record's feature set (`record_quality`). */
    featureSets: bytea('feature_sets')
      .notNull()
      .default(sql`''`),
    /** Concatenated record keys, one per digest. */
    keys: bytea('keys').notNull(),
    /** Offset of the end of each record key; empty if all keys are equally long. */
    keyEnds: integer('key_ends').array().notNull(),
    /** Positions, from 0, of digests that a later read did not find. */
    outdated: integer('outdated')
      .array()
      .notNull()
      .default(sql`'{}'`),
  },
  (t) => [primaryKey({ name: 'record_digest_pkey', columns: [t.destinationId, t.chunk] })],
)

/**
 * Row statistics for reads that skip unchanged records (docs/architecture.md#three-gates-work-that-is-skipped-safely). They contain:
 * - the feature sets (combinations of warnings, currency, stock …) to which the numbers beside the digests refer
 * - values that occur on many rows (mapping/statistics/readStatistics.ts)
 *
 * Stored only together with digests. Written by `db/digests.ts`.
 */
export const recordQuality = sluice.table('record_quality', {
  destinationId: integer('destination_id').primaryKey(),
  quality: jsonb('quality').notNull(),
})

/**
 * Desired and synced content of each key: a product id, or a packed identifier. The row is kept while the key is desired (`ref_count` >
 * 0), synced (`synced_hash` not null) or unresolved. Implied keys have no row (`db/impliedKeys.ts`).
 * Written by `db/remote/`.
 */
export const remote = sluice.table(
  'remote',
  {
    destinationId: integer('destination_id').notNull(),
    key: bytea('key').notNull(),
    /**
     * Reference count: number of records that have the key. If the count is 0 and the key is synced, the key is deleted at the service
     * (docs/guarantees.md#reference-counts).
     */
    refCount: integer('ref_count').notNull().default(0),
    /**
     * True if the last record with the key was suppressed. Then no guard withholds its delete (docs/guarantees.md#mass-delete-guard,
     * docs/guarantees.md#suppression-wins).
     */
    suppressed: boolean('suppressed').notNull().default(false),
    /** Identifiers: key of the record under which the identifier is sent, together with other identifiers. Null for products. */
    groupKey: bytea('group_key'),
    /**
     * Hash of the desired content; null for a product that is not desired. For identifiers one of:
     * - a hash of the times of their row (`effective_at`, `expires_at`)
     * - a constant, if the row has no times
     * - a new value, if the group must be sent again
     */
    desiredHash: bytea('desired_hash'),
    /** `desired_hash` of the confirmed content; null if none is confirmed. A marker if it was invalidated (`db/invalidated.ts`). */
    syncedHash: bytea('synced_hash'),
    /** Products: the service's product_key. */
    remoteKey: text('remote_key'),
    /** Confirmed end of the membership. */
    expiresAt: instant('expires_at'),
    /** Time until which the bytes of an ambiguous attempt may arrive (horizon). Until then no newer request is sent for the key. */
    lateUntil: instant('late_until'),
    syncedAt: instant('synced_at'),
    /** Batch whose answer confirmed the key last (docs/guarantees.md#confirmed-only). */
    batchId: bigint('batch_id', { mode: 'number' }),
    /** Last final refusal by the service. Cleared by the next confirmation, and when the key is no longer desired. */
    refusedCode: text('refused_code'),
    refusedMessage: text('refused_message'),
  },
  (t) => [
    primaryKey({ name: 'remote_pkey', columns: [t.destinationId, t.key] }),
    // No index contains the columns that plans and answers change (`ref_count`, `synced_hash`, `expires_at` …), so these updates write
    // no index (HOT).
    index('remote_group')
      .on(t.destinationId, t.groupKey)
      .where(sql`group_key is not null`),
    index('remote_late')
      .on(t.destinationId)
      .where(sql`late_until is not null`),
  ],
)

/**
 * Index of the records of implied keys (`db/impliedKeyIndex.ts`). The chunk is the first 12 bits of the identifier's digest. A load
 * may write a chunk in several parts. Entries may be outdated, so the record must be checked.
 */
export const impliedKey = sluice.table(
  'implied_key',
  {
    destinationId: integer('destination_id').notNull(),
    chunk: integer('chunk').notNull(),
    part: integer('part').notNull(),
    /** The first 4 bytes of each digest, and the first 6 of each record key, in the same order. */
    digests: bytea('digests').notNull(),
    recordKeys: bytea('record_keys').notNull(),
  },
  (t) => [primaryKey({ name: 'implied_key_pkey', columns: [t.destinationId, t.chunk, t.part] })],
)

/**
 * Keys that may be out of sync, one row for each statement that changed keys. Written with each change that may put a key out of sync.
 * Deleted after a plan is applied and the key is in sync. May be incomplete while `destination.all_changed` is true. A key may be in
 * several rows, or without a row in `remote`. Written by `db/changedKeys.ts`.
 */
export const changedKey = sluice.table(
  'changed_key',
  {
    destinationId: integer('destination_id').notNull(),
    keys: bytea('keys').array().notNull(),
  },
  (t) => [index('changed_key_destination').on(t.destinationId)],
)
