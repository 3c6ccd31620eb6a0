/** Product sets that pipelines keep (docs/pipelines.md#product-sets). */
import { sql } from 'drizzle-orm'
import { bigint, check, index, integer, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { destination } from './runs.ts'
import { instant, now, sluice } from './sluice.ts'

/** A set that a pipeline created at the service. A set without a row is unmanaged: it is never changed or deleted. */
export const productSet = sluice.table(
  'product_set',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    destinationId: integer('destination_id')
      .notNull()
      .references(() => destination.id),
    name: text('name').notNull(),
    /** creating: its create was sent, or is about to be. kept: the service has it. removing: its delete was decided. */
    state: text('state').$type<'creating' | 'kept' | 'removing'>().notNull(),
    /** The service's id; null until the create was answered. */
    setId: text('set_id'),
    /** Content that was confirmed; of a set that is being created, the requested one. */
    content: jsonb('content').notNull(),
    /** Ids of sets that the service had before the create: none of them is the one that it made. Null: the service lists none. */
    knownIds: text('known_ids').array(),
    /** Bytes of an unresolved create may arrive until then. */
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
