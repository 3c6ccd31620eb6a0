/**
 * Defines the schema `sluice`; the other files of this folder define its tables. CHECK constraints limit the states, times are
 * `timestamptz` by the database's clock, digests are `bytea`. The primary keys in `state.ts` begin with `destination_id`, so that these
 * large tables can be partitioned or distributed. drizzle-kit generates migrations/ from this folder.
 */
import { sql } from 'drizzle-orm'
import { customType, pgSchema, timestamp } from 'drizzle-orm/pg-core'

/** Schema with all tables. `db/migrations.ts` replaces its name if the environment uses another schema. */
export const sluice = pgSchema('sluice')

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
/** Defines a `timestamptz` column. */
export const instant = <Name extends string>(name: Name) => timestamp(name, { withTimezone: true })
/** Returns SQL of the current time, which differs between the statements of a transaction. */
export const now = () => sql`clock_timestamp()`
