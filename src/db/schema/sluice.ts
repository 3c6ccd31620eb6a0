/**
 * The schema `sluice`: the files beside this one define its tables. States are CHECKed, durable times
 * are `timestamptz` set by the database's clock, digests are `bytea`. `destination_id` and `key` lead every large
 * table's primary key, so that they can be partitioned or distributed. Generated into migrations/ by drizzle-kit.
 */
import { sql } from 'drizzle-orm'
import { customType, pgSchema, timestamp } from 'drizzle-orm/pg-core'

export const sluice = pgSchema('sluice')

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
export const instant = <Name extends string>(name: Name) => timestamp(name, { withTimezone: true })
export const now = () => sql`clock_timestamp()`
