/**
 * Keeps the statistics of Postgres on the large tables current. Autoanalyze misses a small destination beside a large one, and a
 * destination that was just loaded. Then Postgres expects one or two rows and uses nested loops. The plan of a second catalog of 20,000
 * products took 276 s, and 7 s with statistics.
 */
import type { Transaction } from '../../db/database.ts'

/** Number of rows up to which the join order does not matter: 1,000 products take at most 40 ms more. */
const fewRows = 1_000
/** Factor up to which a wrong estimate does not change the query plans of Postgres. */
const tolerated = 4
/**
 * Columns of `remote` by which query plans search and join. Statistics of all columns take one and a half times as long, 40 instead of
 * 30 ms for 30,000 keys.
 */
const searched = 'destination_id, key, ref_count, group_key'

/**
 * Analyzes each of `tables` for which Postgres expects far fewer rows of the destination than `records`. If Postgres still expects too
 * few, because its sample of 30,000 rows has none of a small destination, turns nested loops and JIT off for the rest of the transaction.
 *
 * Also analyzes `remote` if Postgres expects few confirmed keys although there are answers. Without this, a run with 3 % changes after a
 * first load compared each key with each change (100,000 people: 418 s instead of 2).
 *
 * `records`: number of records that the destination has or gets in this transaction.
 */
export async function refreshStatistics(
  tx: Transaction,
  destinationId: number,
  records: number,
  tables: readonly ('record' | 'remote')[] = ['record', 'remote'],
): Promise<void> {
  const confirmed = await isConfirmedInPart(tx, destinationId)
  const unexpected = await findUnexpected(tx, destinationId, records, tables)
  if (confirmed && tables.includes('remote') && records > fewRows && !unexpected.includes('remote')) {
    const expected = await expectedRows(tx, 'remote', destinationId, 'synced_hash is not null')
    if (expected * tolerated < records && (await hasMore(tx, 'remote', destinationId, Math.max(expected * tolerated, fewRows))))
      await tx.query(`analyze remote (${searched}, synced_hash)`)
  }
  if (unexpected.length === 0) return
  // Before the first answer `synced_hash` is null in all rows of the destination. Statistics of these nulls would be wrong after the first
  // answers, so the column is left out.
  const target = { record: 'record', remote: `remote (${searched}${confirmed ? ', synced_hash' : ''})` }
  await tx.query(`analyze ${unexpected.map((table) => target[table]).join(', ')}`)
  if ((await findUnexpected(tx, destinationId, records, tables)).length === 0) return
  await tx.query('set local enable_nestloop = off')
  await tx.query('set local jit = off')
}

/** Returns the tables for which Postgres expects far fewer rows of the destination than there are. Empty for at most `fewRows` records. */
async function findUnexpected<Table extends string>(
  tx: Transaction,
  destinationId: number,
  records: number,
  tables: readonly Table[],
): Promise<Table[]> {
  const unexpected: Table[] = []
  if (records <= fewRows) return unexpected
  // `remote` may have fewer rows than there are records: records share keys, and keys of a load may be implied. So `hasMore` checks.
  for (const table of tables) {
    const expected = await expectedRows(tx, table, destinationId)
    if (expected * tolerated < records && (await hasMore(tx, table, destinationId, Math.max(expected * tolerated, fewRows))))
      unexpected.push(table)
  }
  return unexpected
}

/** Returns true if the table has more than `rows` rows of the destination. */
async function hasMore(tx: Transaction, table: string, destinationId: number, rows: number): Promise<boolean> {
  const more = await tx.query(`select from ${table} where destination_id = $1 offset $2 limit 1`, [destinationId, rows])
  return more.length === 1
}

/** Returns true if a batch of the destination is settled, so that keys may be confirmed. */
async function isConfirmedInPart(tx: Transaction, destinationId: number): Promise<boolean> {
  return (await tx.query(`select from batch where destination_id = $1 and status = 'settled' limit 1`, [destinationId])).length === 1
}

/** Returns the number of rows that Postgres expects. `where`: trusted SQL. */
async function expectedRows(tx: Transaction, table: string, destinationId: number, where = 'true'): Promise<number> {
  const rows = await tx.query<{ 'QUERY PLAN': readonly [{ readonly Plan: { readonly 'Plan Rows': number } }] }>(
    `explain (format json) select from ${table} where destination_id = ${destinationId} and ${where}`,
  )
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0
}
