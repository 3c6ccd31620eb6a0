/** Anything that runs SQL: the pool, or one transaction. Its types need no driver, so that the packed library is checked without `@types/pg`. */
export interface Queryable {
  /** Rows as `pg` decodes them: bigint and numeric as strings, timestamptz as Date, bytea as Buffer. */
  readonly query: <Row extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]) => Promise<Row[]>
  /** Number of rows an insert, update or delete hit. */
  readonly execute: (text: string, values?: readonly unknown[]) => Promise<number>
}
