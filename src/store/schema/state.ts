/** What the source wants and what the service confirmed: the large tables, keyed by destination and key (decision 9). */
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core'
import { openRound } from '../rounds.ts'
import { bytea, instant, sluice } from './sluice.ts'

/** Desired state: what the last closed snapshot says of each record, product or member. */
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
     * live: wanted. stale: its row is now invalid or a duplicate. missing: gone; kept as it was, as out of stock, or until its
     * delete is confirmed.
     */
    status: text('status').notNull().default('live'),
    /** Snapshot that last changed it. */
    snapshotId: bigint('snapshot_id', { mode: 'number' }).notNull(),
  },
  (t) => [
    primaryKey({ name: 'record_pkey', columns: [t.destinationId, t.key] }),
    index('record_not_live')
      .on(t.destinationId)
      .where(sql`status <> 'live'`),
    // Empty where no row names an end, and asked about by every plan.
    index('record_expiring')
      .on(t.destinationId)
      .where(sql`expires_at is not null`),
    check('record_status', sql`${t.status} in ('live', 'stale', 'missing')`),
  ],
)

/**
 * Digests of the raw records of the last closed snapshot, and the keys that they became, in chunks (performance.md,
 * gate 2). There only when every valid record has one.
 */
export const recordDigest = sluice.table(
  'record_digest',
  {
    destinationId: integer('destination_id').notNull(),
    chunk: integer('chunk').notNull(),
    /** 16 bytes each. */
    digests: bytea('digests').notNull(),
    /** Two bytes each, the higher one first: which set of traits the record has (`record_quality`). */
    traits: bytea('traits')
      .notNull()
      .default(sql`''`),
    /** The keys one behind the other; where in them each ends, counted from 0. As many as digests. */
    keys: bytea('keys').notNull(),
    keyEnds: integer('key_ends').array().notNull(),
    /** Positions, from 0, that a later snapshot did not hold any more. */
    gone: integer('gone')
      .array()
      .notNull()
      .default(sql`'{}'`),
  },
  (t) => [primaryKey({ name: 'record_digest_pkey', columns: [t.destinationId, t.chunk] })],
)

/**
 * What a reading that knows records by their digests alone tells of them all the same: the sets of traits that the numbers
 * beside the digests stand for, and what stands on many rows (records/qualityBooks.ts). There only with digests.
 */
export const recordQuality = sluice.table('record_quality', {
  destinationId: integer('destination_id').primaryKey(),
  quality: jsonb('quality').notNull(),
})

/**
 * What we want of, and know about, each key at the service: a product id, or a packed identifier. A row lives while the
 * key is wanted (`held` > 0) or confirmed (`synced_hash` not null) or unsettled.
 */
export const remote = sluice.table(
  'remote',
  {
    destinationId: integer('destination_id').notNull(),
    key: bytea('key').notNull(),
    /** Live records that carry it. 0: it is to be deleted once confirmed there (I20). */
    held: integer('held').notNull().default(0),
    /** Of one that nobody carries: who carried it came onto a do-not-reach list. No guard holds its delete (I9, I16). */
    erase: boolean('erase').notNull().default(false),
    /** Identifiers: the record under which it is sent, and so beside which others it stands at the service. */
    groupKey: bytea('group_key'),
    /**
     * Content wanted, content confirmed. Identifiers: hash of their explicit times (all alike without). What an audit withdrew
     * is confirmed no more, though something of it may stand there (`store/withdrawn.ts`).
     */
    desiredHash: bytea('desired_hash'),
    syncedHash: bytea('synced_hash'),
    /** Products: the service's product_key. */
    remoteKey: text('remote_key'),
    /** Confirmed end of the membership. */
    expiresAt: instant('expires_at'),
    /** Bytes of an ambiguous attempt may land until then: nothing newer goes before (horizon). */
    lateUntil: instant('late_until'),
    /**
     * Round of its destination in which what is wanted of it last changed. Only keys above `destination.settled_round` can be
     * other than wanted: whoever makes a key so raises it, and settling, which makes it as wanted, leaves it alone.
     */
    round: integer('round').notNull().default(openRound),
    syncedAt: instant('synced_at'),
    /** The batch whose answer confirmed it (I1). */
    batchId: bigint('batch_id', { mode: 'number' }),
    /** Last final refusal by the service; cleared by the next confirmation. */
    refusedCode: text('refused_code'),
    refusedMessage: text('refused_message'),
  },
  (t) => [
    primaryKey({ name: 'remote_pkey', columns: [t.destinationId, t.key] }),
    // No index holds what an answer changes (`synced_hash`, `expires_at` …): settling then writes no index at all (HOT).
    index('remote_open').on(t.destinationId, t.round),
    index('remote_group')
      .on(t.destinationId, t.groupKey)
      .where(sql`group_key is not null`),
    index('remote_late')
      .on(t.destinationId)
      .where(sql`late_until is not null`),
  ],
)
