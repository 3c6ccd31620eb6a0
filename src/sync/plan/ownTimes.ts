/**
 * Computes own times: the start and end of a membership that rows set (`effective_at`, `expires_at`). An identifier of several rows has the
 * first start and the last end. If one of its rows has no start, the plan's time applies. If one has no end, the pipeline's `expires_in`
 * applies.
 */
import type { Transaction } from '../../db/database.ts'
import { rowIdentifiers } from '../../db/identifiers.ts'
import { analyzeWithSmallSample, createOrEmptyTable } from './planTables.ts'

/**
 * Returns SQL of two joins with the row `m` of `remote`:
 *
 * - `r`: the record of the group of `m`
 * - `x`: the times of the identifier, only if they may differ from those of `r`
 */
export function ownTimesJoinSql(destinationId: number): string {
  return `left join record r on r.destination_id = ${destinationId} and r.key = m.group_key left join own_times x on x.key = m.key`
}

/** SQL of the end; null if the pipeline's `expires_in` applies. */
export const ownExpiresAtSql = 'case when x.key is null then r.expires_at else x.expires_at end'
/** SQL of the start; null if the time of the plan applies. */
export const ownEffectiveAtSql = 'case when x.key is null then r.effective_at else x.effective_at end'

/** SQL: false if a row still has the key, and the end that the rows set has passed; otherwise true. */
export const notEndedSql = `(m.ref_count = 0 or ${ownExpiresAtSql} is null or ${ownExpiresAtSql} > statement_timestamp())`

/** SQL: true if the end that the rows set has passed, but the end that the service confirmed has not. */
export const overdueSql = `(m.ref_count > 0 and m.synced_hash is not null
  and ${ownExpiresAtSql} <= statement_timestamp() and m.expires_at > statement_timestamp())`

/**
 * Fills the table `own_times` with the identifiers that are in several rows, or are sent under another row. Their times are those over all
 * rows. Leaves the table empty unless a row has an end or a future start: a start in the past counts as now. Returns `rowsExpire`: true if
 * a row has an end.
 */
export async function collectOwnTimes(tx: Transaction, destinationId: number): Promise<{ readonly rowsExpire: boolean }> {
  await createOrEmptyTable(tx, 'own_times')
  const [found] = await tx.query<{ readonly expiry: boolean; readonly future_start: boolean }>(
    `select exists (select from record where destination_id = ${destinationId} and expires_at is not null) as expiry,
       exists (select from record where destination_id = ${destinationId} and effective_at > statement_timestamp()) as future_start`,
  )
  const rowsExpire = found?.expiry === true
  const hasFutureStart = found?.future_start === true
  if (!rowsExpire && !hasFutureStart) return { rowsExpire }
  await tx.query(
    `insert into own_times
     select m.key, case when bool_or(r.effective_at is null) then null else min(r.effective_at) end,
       case when bool_or(r.expires_at is null) then null else max(r.expires_at) end
     from record r cross join lateral unnest(${rowIdentifiers('r')}) as i (identifier)
       join remote m on m.destination_id = ${destinationId} and m.key = i.identifier and (m.ref_count > 1 or m.group_key <> r.key)
     where r.destination_id = ${destinationId} group by m.key`,
  )
  await analyzeWithSmallSample(tx, 'own_times')
  return { rowsExpire }
}
