/**
 * Defines the tables of erasures (docs/erasure.md). They contain the packed identifiers of erased people (`PackedIdentifier` in
 * `model/record.ts`), but no raw email or phone number.
 */
import { bigint, boolean, index, integer, primaryKey, text } from 'drizzle-orm/pg-core'
import { batch } from './sending.ts'
import { bytea, instant, now, sluice } from './sluice.ts'

/** Receipt of one request to erase a person. Rows are added and completed, never deleted. Written by `db/erasures.ts`. */
export const erasure = sluice.table(
  'erasure',
  {
    /** Number of the erasure. A lock ensures that erasures are committed in the order of their numbers. */
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    /** Address of the advertising host that the person was erased from. */
    service: text('service').notNull(),
    actor: text('actor').notNull(),
    reason: text('reason'),
    /** Number of identifiers of the request, in all their forms. */
    identifiers: integer('identifiers').notNull(),
    erasedAt: instant('erased_at').notNull().default(now()),
    /** Number of audiences that had the person; null until their deletes are planned. */
    audiences: integer('audiences'),
    plannedAt: instant('planned_at'),
    /** Time at which all data except the digests in `erased_key` was deleted. */
    purgedAt: instant('purged_at'),
  },
  (t) => [index('erasure_service').on(t.service, t.id)],
)

/**
 * Permanently suppressed key: a packed identifier for all audiences of the service, or the record key of one audience.
 * Written by `db/erasures.ts`.
 */
export const erasedKey = sluice.table(
  'erased_key',
  {
    service: text('service').notNull(),
    /** 0 for an identifier; else the audience of the record key. */
    destinationId: integer('destination_id').notNull().default(0),
    key: bytea('key').notNull(),
    erasureId: bigint('erasure_id', { mode: 'number' })
      .notNull()
      .references(() => erasure.id),
  },
  (t) => [
    primaryKey({ name: 'erased_key_pkey', columns: [t.service, t.destinationId, t.key] }),
    index('erased_key_erasure').on(t.erasureId),
  ],
)

/** Batch with a delete that an erasure planned. Written by `db/erasures.ts`. */
export const erasureDelete = sluice.table(
  'erasure_delete',
  {
    erasureId: bigint('erasure_id', { mode: 'number' })
      .notNull()
      .references(() => erasure.id),
    batchId: bigint('batch_id', { mode: 'number' })
      .notNull()
      .references(() => batch.id, { onDelete: 'cascade' }),
    confirmed: boolean('confirmed').notNull().default(false),
  },
  (t) => [primaryKey({ name: 'erasure_delete_pkey', columns: [t.erasureId, t.batchId] })],
)
