/**
 * Reads the rows of a query in portions, by a cursor. Postgres collects the next portion while the caller works on the current portion, so
 * two portions are in memory.
 */
import type pg from 'pg'
import { errorCode } from '../unknownValue.ts'

/** Errors of portions that were fetched in advance, by connection. */
const failures = new WeakMap<pg.PoolClient, unknown>()

/**
 * If `error` only reports that the transaction has failed before (25P02), returns the error that `setCause` stored for the connection.
 * Otherwise returns `error`.
 */
export function causeOf(client: pg.PoolClient, error: unknown): unknown {
  return errorCode(error) === '25P02' ? (failures.get(client) ?? error) : error
}

/** Stores the error of a portion that was fetched in advance. `causeOf` returns this error. */
export function setCause(client: pg.PoolClient, error: unknown): void {
  failures.set(client, error)
}

/** Removes the stored error of the connection. Must be called before the first portion is fetched in advance. */
export function forgetCause(client: pg.PoolClient): void {
  failures.delete(client)
}

/**
 * Yields portions of `portionRows` rows; the last one may have fewer. Requires an open transaction. `query`: trusted SQL without
 * parameters. Only one cursor of the same `name` may be open.
 */
export async function* eachPortion<Row extends pg.QueryResultRow>(
  client: pg.PoolClient,
  name: string,
  query: string,
  portionRows: number,
): AsyncGenerator<Row[]> {
  forgetCause(client)
  await client.query(`declare ${name} no scroll cursor for ${query}`)
  try {
    const fetch = () => {
      const portion = client.query<Row>(`fetch ${portionRows} from ${name}`)
      // After an error, all later statements of the transaction fail too. `close` is the first of them. Its error would hide this one.
      portion.catch((error: unknown) => setCause(client, error))
      return portion
    }
    let next = fetch()
    for (;;) {
      const portion = (await next).rows
      const isLast = portion.length < portionRows
      if (!isLast) next = fetch()
      if (portion.length > 0) yield portion
      if (isLast) break
    }
  } finally {
    await client.query(`close ${name}`)
  }
}
