/**
 * Reads the rows of a query in portions, through a cursor of the transaction that the connection is in. Postgres collects the next
 * portion while the caller works on one, so two are in memory.
 */
import type pg from 'pg'

/** Yields up to `rows` rows at a time. `query` is SQL from our code without parameters. One cursor of a `name` may be open. */
export async function* eachPortion<Row extends pg.QueryResultRow>(
  client: pg.PoolClient,
  name: string,
  query: string,
  rows: number,
): AsyncGenerator<Row[]> {
  await client.query(`declare ${name} no scroll cursor for ${query}`)
  try {
    const fetch = () => client.query<Row>(`fetch ${rows} from ${name}`)
    let next = fetch()
    for (;;) {
      const portion = (await next).rows
      const last = portion.length < rows
      if (!last) {
        next = fetch()
        // A caller that stops or fails does not await it.
        next.catch(() => undefined)
      }
      if (portion.length > 0) yield portion
      if (last) break
    }
  } finally {
    await client.query(`close ${name}`)
  }
}
