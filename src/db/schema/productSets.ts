/** Defines the table of product sets that pipelines created (docs/pipelines.md#product-sets). */
import { sql } from 'drizzle-orm'
import { bigint, check, index, integer, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { destination } from './runs.ts'
import { instant, now, sluice } from './sluice.ts'

/**
 * Product set that a pipeline created at the service. A set without a row is unmanaged, and is never changed or deleted.
 * Written by `db/productSets.ts`.
 */
export const productSet = sluice.table(
  'product_set',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    destinationId: integer('destination_id')
      .notNull()
      .references(() => destination.id),
    name: text('name').notNull(),
    /** creating: its create was or will be sent. kept: the service has the set. removing: its delete was or will be sent. */
    state: text('state').$type<'creating' | 'kept' | 'removing'>().notNull(),
    /** Id at the service; null until the create is confirmed. */
    setId: text('set_id'),
    /** Confirmed content; for a set in state creating, the content of its create. */
    content: jsonb('content').notNull(),
    /**
     * Ids of the sets that the service listed before the create, to recognize the new set. Null if the service has no listing of
     * sets, or once the set is confirmed.
     */
    knownIds: text('known_ids').array(),
    /** Time until which the bytes of an unresolved create may arrive. */
    lateUntil: instant('late_until'),
    createdAt: instant('created_at').notNull().default(now()),
    confirmedAt: instant('confirmed_at'),
  },
  (t) => [
    index('product_set_destination').on(t.destinationId),
    uniqueIndex('product_set_id')
      .on(t.destinationId, t.setId)
      .where(sql`set_id is not null`),
    check('product_set_state', sql`${t.state} in ('creating', 'kept', 'removing')`),
    check('product_set_confirmed', sql`${t.state} = 'creating' or ${t.setId} is not null`),
  ],
)
