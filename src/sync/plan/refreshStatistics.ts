/**
 * Prevents slow query plans because of old statistics. Autoanalyze misses a destination that was just loaded, or that is small beside
 * another. Then Postgres expects one or two rows and uses nested loops: 276 s instead of 7 for a second catalog of 20,000 products.
 */
import type { Transaction } from '../../db/database.ts'
import { hasRows } from '../../db/queryable.ts'
import { analyzeWithSmallSample } from './planTables.ts'

/** Up to this number of records a wrong query plan does not matter: 1,000 products take at most 40 ms more. */
const fewRows = 1_000
/** Factor up to which a wrong estimate does not change the query plans of Postgres. */
const toleratedFactor = 4
/** A load of at least this share of its table is analyzed with a smaller sample, because autoanalyze soon follows. */
const largeShare = 1 / 10
/**
 * Columns of `remote` by which queries search and join. To analyze all columns takes a third longer: 40 instead of 30 ms for 30,000 keys.
 */
const searchedColumns = 'destination_id, key, ref_count, group_key'

/**
 * Analyzes each of `tables` that has far more rows of the destination than Postgres expects. ANALYZE reads only a sample, which may contain
 * no row of a small destination. So, if Postgres still expects too few rows, turns nested loops and JIT off for the rest of the
 * transaction. `records`: number of records that the destination has or gets in this transaction.
 *
 * After a batch is settled, most keys in `remote` are confirmed (`synced_hash` is set). If Postgres still expects few such keys, also
 * analyzes `remote`. Otherwise a run with 3 % changes after a first load of 100,000 people takes 418 s instead of 2.
 */
export async function refreshStatistics(
  tx: Transaction,
  destinationId: number,
  records: number,
  tables: readonly ('record' | 'remote')[] = ['record', 'remote'],
): Promise<void> {
  if (records <= fewRows) return
  const isUnderestimated = async (table: string, where = 'true'): Promise<boolean> => {
    const toleratedRows = (await expectedRows(tx, table, destinationId, where)) * toleratedFactor
    if (toleratedRows >= records) return false
    // `remote` may have fewer rows than there are records: records share keys, or imply them (docs/decisions/implied-keys.md).
    return hasRows(tx, `select from ${table} where destination_id = $1 offset $2`, [destinationId, Math.max(toleratedRows, fewRows)])
  }
  const findUnderestimated = async () => {
    const found: ('record' | 'remote')[] = []
    for (const table of tables) if (await isUnderestimated(table)) found.push(table)
    return found
  }
  const hasSettled = await hasRows(tx, `select from batch where destination_id = $1 and status = 'settled'`, [destinationId])
  const underestimated = await findUnderestimated()
  const checksConfirmed = hasSettled && tables.includes('remote') && !underestimated.includes('remote')
  if (checksConfirmed && (await isUnderestimated('remote', 'synced_hash is not null')))
    await tx.query(`analyze remote (${searchedColumns}, synced_hash)`)
  if (underestimated.length === 0) return
  // Before the first answers, `synced_hash` is null in all rows. Statistics of this would soon be wrong.
  const targets = { record: 'record', remote: `remote (${searchedColumns}${hasSettled ? ', synced_hash' : ''})` }
  await tx.query(`analyze ${underestimated.map((table) => targets[table]).join(', ')}`)
  if ((await findUnderestimated()).length === 0) return
  await tx.query('set local enable_nestloop = off')
  await tx.query('set local jit = off')
}

/**
 * Analyzes `record` after a load if Postgres expects far fewer rows of the destination than `records`, their actual number. For a large
 * load, a tenth of the usual sample is enough: 28 instead of 235 ms for a million records.
 */
export async function analyzeLoaded(tx: Transaction, destinationId: number, records: number): Promise<void> {
  if (records <= fewRows || (await expectedRows(tx, 'record', destinationId, 'true')) * toleratedFactor >= records) return
  const allRecords = await expectedRows(tx, 'record', undefined, 'true')
  if (records < allRecords * largeShare) await tx.query('analyze record')
  else await analyzeWithSmallSample(tx, 'record')
}

/** Returns the number of rows that Postgres expects, of one destination or of all. `where`: trusted SQL. */
async function expectedRows(tx: Transaction, table: string, destinationId: number | undefined, where: string): Promise<number> {
  const ofDestination = destinationId === undefined ? 'true' : `destination_id = ${destinationId}`
  const rows = await tx.query<{ 'QUERY PLAN': readonly [{ readonly Plan: { readonly 'Plan Rows': number } }] }>(
    `explain (format json) select from ${table} where ${ofDestination} and ${where}`,
  )
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0
}
