/**
 * Statistics of Postgres on the large tables. Autoanalyze does not notice a small destination beside a large one, and one that was
 * just loaded is not in them either: Postgres then expects a row or two, and compares all with all. A second catalog of 20,000
 * products took 276 s to plan so, and 7 s with statistics.
 */
import type pg from 'pg'

/** So few rows are quick in any order of joins: 1,000 products take 40 ms more at the most. */
const fewRows = 1_000
/** An estimate off by less than this leads to the same plans. */
const tolerated = 4

/**
 * Analyzes `record` and `remote` if Postgres expects far fewer rows of the destination than the `records` that it has. Where a sample
 * does not show them either (one row in 30,000), the rest of the transaction does without nested loops.
 */
export async function refreshStatistics(
  client: pg.PoolClient,
  destinationId: number,
  records: number,
  tables: readonly ('record' | 'remote')[] = ['record', 'remote'],
): Promise<void> {
  const unexpected = await findUnexpected(client, destinationId, records, tables)
  if (unexpected.length === 0) return
  await client.query(`analyze ${unexpected.join(', ')}`)
  if ((await findUnexpected(client, destinationId, records, tables)).length === 0) return
  await client.query('set local enable_nestloop = off')
  await client.query('set local jit = off')
}

async function findUnexpected<Table extends string>(
  client: pg.PoolClient,
  destinationId: number,
  records: number,
  tables: readonly Table[],
): Promise<Table[]> {
  const unexpected: Table[] = []
  if (records <= fewRows) return unexpected
  // Each record has a key at least, though few may share one.
  for (const table of tables) if ((await expectedRows(client, table, destinationId)) * tolerated < records) unexpected.push(table)
  return unexpected
}

async function expectedRows(client: pg.PoolClient, table: string, destinationId: number): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': readonly [{ readonly Plan: { readonly 'Plan Rows': number } }] }>(
    `explain (format json) select from ${table} where destination_id = ${destinationId}`,
  )
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0
}
