/**
 * Defines the schema `sluice`; the other files of this folder define its tables. CHECK constraints limit the states, times are
 * `timestamptz` by the database's clock, digests are `bytea`. The primary keys of large tables begin with `destination_id`, so that the
 * tables can be partitioned or distributed. drizzle-kit generates migrations/ from this folder.
 */
import { sql } from 'drizzle-orm'
import { customType, pgSchema, timestamp } from 'drizzle-orm/pg-core'

export const sluice = pgSchema('sluice')

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
export const instant = <Name extends string>(name: Name) => timestamp(name, { withTimezone: true })
export const now = () => sql`clock_timestamp()`
