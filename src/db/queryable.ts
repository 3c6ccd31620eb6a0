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

/** Returns true if `query` (SQL without a `limit`) has a row. */
export async function hasRows(db: Pick<Queryable, 'query'>, query: string, values?: readonly unknown[]): Promise<boolean> {
  return (await db.query(`${query} limit 1`, values)).length > 0
}

/** Counts the rows of `query`, trusted SQL. */
export async function countRows(db: Pick<Queryable, 'query'>, query: string, values?: readonly unknown[]): Promise<number> {
  const [row] = await db.query<{ n: string }>(`select count(*) as n from (${query}) c`, values)
  return Number(row?.n)
}
