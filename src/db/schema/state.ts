/** Desired and confirmed state: the large tables, keyed by destination and key. */
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core'
import { bytea, instant, sluice } from './sluice.ts'

/** Desired state of each record, product or member, from the last complete read. */
export const record = sluice.table(
  'record',
  {
    destinationId: integer('destination_id').notNull(),
    /** Product id as UTF-8, or 16 bytes of SHA-256 over the customer key. */
    key: bytea('key').notNull(),
    /** Content: two equal hashes are the same thing to send. */
    hash: bytea('hash').notNull(),
    /** Products: the written fields as JSON. Null for members. */
    body: text('body'),
    /** Members: packed identifiers, sorted. Null for products. */
    identifiers: bytea('identifiers').array(),
    effectiveAt: instant('effective_at'),
    expiresAt: instant('expires_at'),
    line: bigint('line', { mode: 'number' }).notNull(),
    /**
     * live: desired. stale: its row is now invalid or a duplicate. missing: no longer in the source; kept as it was, as out of stock,
     * or until its delete is confirmed.
     */
    status: text('status').notNull().default('live'),
    /** Snapshot that last changed it. */
    snapshotId: bigint('snapshot_id', { mode: 'number' }).notNull(),
    /** Run of the first load that wrote it. Its keys may be implied: they have no rows in `remote` (`db/impliedKeys.ts`). */
    loadId: bigint('load_id', { mode: 'number' }),
  },
  (t) => [
    primaryKey({ name: 'record_pkey', columns: [t.destinationId, t.key] }),
    index('record_not_live')
      .on(t.destinationId)
      .where(sql`status <> 'live'`),
    // Every plan reads it; it is empty if no row has an expiry.
    index('record_expiring')
      .on(t.destinationId)
      .where(sql`expires_at is not null`),
    check('record_status', sql`${t.status} in ('live', 'stale', 'missing')`),
  ],
)

/**
 * Digests of the raw records of the last closed snapshot, and the keys that they became, in chunks (docs/benchmarks.md). There only when every valid record has one.
 */
export const recordDigest = sluice.table(
  'record_digest',
  {
    destinationId: integer('destination_id').notNull(),
    chunk: integer('chunk').notNull(),
    /** 16 bytes each. */
    digests: bytea('digests').notNull(),
    /** Two bytes each, the higher one first: number of the record's row statistics (`record_quality`). */
    traits: bytea('traits')
      .notNull()
      .default(sql`''`),
    /** Concatenated keys, and the end of each, counted from 0. As many as digests. */
    keys: bytea('keys').notNull(),
    keyEnds: integer('key_ends').array().notNull(),
    /** Positions, from 0, of records that a later snapshot does not have. */
    gone: integer('gone')
      .array()
      .notNull()
      .default(sql`'{}'`),
  },
  (t) => [primaryKey({ name: 'record_digest_pkey', columns: [t.destinationId, t.chunk] })],
)

/**
 * Row statistics for readings that know records only by their digests: the statistics that the numbers beside the digests refer
 * to, and values that occur on many rows (mapping/qualityStatistics.ts). Stored only together with digests.
 */
export const recordQuality = sluice.table('record_quality', {
  destinationId: integer('destination_id').primaryKey(),
  quality: jsonb('quality').notNull(),
})

/**
 * Desired and confirmed content of each key at the service: a product id, or a packed identifier. The row is kept while the
 * key is desired (`held` > 0), confirmed (`synced_hash` not null) or unresolved.
 */
export const remote = sluice.table(
  'remote',
  {
    destinationId: integer('destination_id').notNull(),
    key: bytea('key').notNull(),
    /** Number of live records that have it. 0: it is deleted once it is confirmed at the service (docs/guarantees.md#reference-counts). */
    held: integer('held').notNull().default(0),
    /** True when its last record was suppressed. No guard withholds its delete (docs/guarantees.md#mass-delete-guard, docs/guarantees.md#suppression-wins). */
    erase: boolean('erase').notNull().default(false),
    /** Identifiers: the record under which it is sent, together with that record's other identifiers. */
    groupKey: bytea('group_key'),
    /**
     * Desired content and confirmed content. Identifiers: hash of their explicit times (equal for all without). Content that an audit
     * invalidated is no longer confirmed, though some of it may be at the service (`db/invalidated.ts`).
     */
    desiredHash: bytea('desired_hash'),
    syncedHash: bytea('synced_hash'),
    /** Products: the service's product_key. */
    remoteKey: text('remote_key'),
    /** Confirmed end of the membership. */
    expiresAt: instant('expires_at'),
    /** Bytes of an ambiguous attempt may land until then: nothing newer goes before (horizon). */
    lateUntil: instant('late_until'),
    syncedAt: instant('synced_at'),
    /** The batch whose answer confirmed it (docs/guarantees.md#confirmed-only). */
    batchId: bigint('batch_id', { mode: 'number' }),
    /** Last final refusal by the service; cleared by the next confirmation. */
    refusedCode: text('refused_code'),
    refusedMessage: text('refused_message'),
  },
  (t) => [
    primaryKey({ name: 'remote_pkey', columns: [t.destinationId, t.key] }),
    // No index holds what a plan or an answer changes (`held`, `synced_hash`, `expires_at` …): neither writes any index (HOT).
    index('remote_group')
      .on(t.destinationId, t.groupKey)
      .where(sql`group_key is not null`),
    index('remote_late')
      .on(t.destinationId)
      .where(sql`late_until is not null`),
  ],
)

/**
 * Finds the record of an implied key (`db/impliedKeySearch.ts`). Chunk: the first 12 bits of the identifier's digest. A load writes one
 * part of each chunk at a time.
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
 * Keys that may be out of sync: written with each change of a key's desired or confirmed content, and deleted when a run
 * ends with the key in sync. A key may be here more than once, or without a row in `remote`.
 */
export const changedKey = sluice.table(
  'changed_key',
  {
    destinationId: integer('destination_id').notNull(),
    key: bytea('key').notNull(),
  },
  (t) => [index('changed_key_destination').on(t.destinationId)],
)
