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
 * does not show them either (one row in 30,000), the rest of the transaction does without nested loops. Analyzes `remote` too if Postgres
 * expects few confirmed keys where there are answers: behind a first load a run with 3 % changed compared each key with each change
 * (100,000 people: 418 s instead of 2).
 */
export async function refreshStatistics(
  client: pg.PoolClient,
  destinationId: number,
  records: number,
  tables: readonly ('record' | 'remote')[] = ['record', 'remote'],
): Promise<void> {
  const confirmed = await isConfirmedInPart(client, destinationId)
  const unexpected = await findUnexpected(client, destinationId, records, tables)
  if (confirmed && tables.includes('remote') && records > fewRows && !unexpected.includes('remote')) {
    if ((await expectedRows(client, 'remote', destinationId, 'synced_hash is not null')) * tolerated < records)
      await client.query('analyze remote')
  }
  if (unexpected.length === 0) return
  // Before the first answer nothing is confirmed: as a statistic of the column, that would hold for all the answers to come.
  const target = { record: 'record', remote: confirmed ? 'remote' : 'remote (destination_id, key, held, group_key)' }
  await client.query(`analyze ${unexpected.map((table) => target[table]).join(', ')}`)
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

/** True: an answer was recorded, so keys may be confirmed. */
async function isConfirmedInPart(client: pg.PoolClient, destinationId: number): Promise<boolean> {
  return (await client.query(`select from batch where destination_id = $1 and status = 'settled' limit 1`, [destinationId])).rowCount === 1
}

async function expectedRows(client: pg.PoolClient, table: string, destinationId: number, where = 'true'): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': readonly [{ readonly Plan: { readonly 'Plan Rows': number } }] }>(
    `explain (format json) select from ${table} where destination_id = ${destinationId} and ${where}`,
  )
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0
}
