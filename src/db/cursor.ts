/**
 * Reads the rows of a query in portions, through a cursor of the transaction that the connection is in. Postgres collects the next
 * portion while the caller works on one, so two are in memory.
 */
import type pg from 'pg'
import { errorCode } from '../unknownValue.ts'

const failures = new WeakMap<pg.PoolClient, unknown>()

/**
 * Returns the error of a portion that was being fetched, if it made later statements of its transaction fail with `error`; otherwise
 * `error`.
 */
export function causeOf(client: pg.PoolClient, error: unknown): unknown {
  return errorCode(error) === '25P02' ? (failures.get(client) ?? error) : error
}

/** Sets the error that `causeOf` returns. */
export function setCause(client: pg.PoolClient, error: unknown): void {
  failures.set(client, error)
}

export function forgetCause(client: pg.PoolClient): void {
  failures.delete(client)
}

/** Yields up to `rows` rows at a time. `query` is SQL from our code without parameters. Only one cursor of the same `name` may be open. */
export async function* eachPortion<Row extends pg.QueryResultRow>(
  client: pg.PoolClient,
  name: string,
  query: string,
  rows: number,
): AsyncGenerator<Row[]> {
  forgetCause(client)
  await client.query(`declare ${name} no scroll cursor for ${query}`)
  try {
    const fetch = () => client.query<Row>(`fetch ${rows} from ${name}`)
    let next = fetch()
    for (;;) {
      const portion = (await next).rows
      const last = portion.length < rows
      if (!last) {
        next = fetch()
        // A caller that stops or fails does not await this promise. Its own statement then fails too.
        next.catch((error: unknown) => setCause(client, error))
      }
      if (portion.length > 0) yield portion
      if (last) break
    }
  } finally {
    await client.query(`close ${name}`)
  }
}
