/**
 * Functions that run SQL on the pool, on one connection, or in one transaction. Without types of the driver, so that users of the library
 * do not need `@types/pg`.
 */
export interface Queryable {
  /** Returns the rows as `pg` decodes them: bigint and numeric as strings, timestamptz as Date, bytea as Buffer. */
  readonly query: <Row extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]) => Promise<Row[]>
  /** Returns the number of rows that an insert, update or delete changed. */
  readonly execute: (text: string, values?: readonly unknown[]) => Promise<number>
}
