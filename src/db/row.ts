/**
 * Types of the rows that queries return, derived from the schema. If a column is renamed or retyped, the type check of its queries fails.
 */
import type * as erasures from './schema/erasures.ts'
import type * as operators from './schema/operators.ts'
import type * as productSets from './schema/productSets.ts'
import type * as runs from './schema/runs.ts'
import type * as schedule from './schema/schedule.ts'
import type * as sending from './schema/sending.ts'
import type * as state from './schema/state.ts'
import type * as webhookEvents from './schema/webhookEvents.ts'
import type * as workers from './schema/workers.ts'

type Schema = typeof erasures &
  typeof operators &
  typeof productSets &
  typeof runs &
  typeof schedule &
  typeof sending &
  typeof state &
  typeof webhookEvents &
  typeof workers
type Tables = Schema[keyof Schema]
export type TableName = Tables['_']['name']
type ColumnsOf<Name extends TableName> = Extract<Tables, { readonly _: { readonly name: Name } }>['_']['columns']
type NameOf<Column> = Column extends { readonly _: { readonly name: infer Name extends string } } ? Name : never
export type ColumnName<Name extends TableName> = NameOf<ColumnsOf<Name>[keyof ColumnsOf<Name>]>

/** Properties of a column in the schema. */
interface Config {
  readonly columnType: string
  readonly data: unknown
  readonly notNull: boolean
}

/** Value of a column as the driver decodes it: bigint as text; `jsonb` is unknown until it is decoded. */
type ValueOf<Column> = Column extends { readonly _: infer C extends Config }
  ? (C['columnType'] extends 'PgBigInt53' ? string : C['data']) | (C['notNull'] extends true ? never : null)
  : never

/** Columns of a table by their names in the database: `DbRow<'run', 'id' | 'plan_id'>`. */
export type DbRow<Name extends TableName, Names extends ColumnName<Name>> = {
  readonly [Key in keyof ColumnsOf<Name> as Extract<NameOf<ColumnsOf<Name>[Key]>, Names>]: ValueOf<ColumnsOf<Name>[Key]>
}

/** Value of one column, for a query that gives it another name. */
export type Value<Name extends TableName, Key extends ColumnName<Name>> = DbRow<Name, Key>[Key & keyof DbRow<Name, Key>]

/** The same columns without null, because the condition of a query excludes null. */
export type Present<Columns> = { readonly [Key in keyof Columns]: NonNullable<Columns[Key]> }

/** The same columns with null, for an outer join. */
export type Outer<Columns> = { readonly [Key in keyof Columns]: Columns[Key] | null }
