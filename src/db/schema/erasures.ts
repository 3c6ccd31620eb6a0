/** Erasures: people who asked to be forgotten, by the digests of their identifiers (docs/erasure.md). */
import { bigint, boolean, index, integer, primaryKey, text } from 'drizzle-orm/pg-core'
import { batch } from './sending.ts'
import { bytea, instant, now, sluice } from './sluice.ts'

/** One request to forget a person: its receipt. Rows are added and completed, never deleted. */
export const erasure = sluice.table(
  'erasure',
  {
    /** Given out under one lock, so that a higher one is committed later. */
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    /** Address of the advertising host that the person was erased from. */
    service: text('service').notNull(),
    actor: text('actor').notNull(),
    reason: text('reason'),
    /** Digests that are suppressed from here on. */
    identifiers: integer('identifiers').notNull(),
    erasedAt: instant('erased_at').notNull().default(now()),
    /** Audiences that have had the person, known once their deletes are planned. */
    audiences: integer('audiences'),
    plannedAt: instant('planned_at'),
    /** Nothing of the person is stored any more but the digests in `erased_key`. */
    purgedAt: instant('purged_at'),
  },
  (t) => [index('erasure_service').on(t.service, t.id)],
)

/** Suppressed for good: a packed identifier for all audiences of the service, or the record key of one audience. */
export const erasedKey = sluice.table(
  'erased_key',
  {
    service: text('service').notNull(),
    /** 0: an identifier, in every audience. Else the audience whose record key it is. */
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

/** Delete that an erasure planned. */
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
