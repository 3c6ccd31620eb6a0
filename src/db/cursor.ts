/** Reads the rows of a query in portions, through a cursor of the transaction that the connection is in. */
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
    for (;;) {
      const portion = (await client.query<Row>(`fetch ${rows} from ${name}`)).rows
      if (portion.length > 0) yield portion
      if (portion.length < rows) break
    }
  } finally {
    await client.query(`close ${name}`)
  }
}
