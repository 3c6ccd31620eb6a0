/**
 * Ends of memberships that rows name themselves (`expires_at`). An identifier of several rows ends when the last of them
 * ends, and not at all where one of them names no end: nobody leaves while a row still holds them (I20).
 */
import type pg from 'pg'
import { createTable } from './planTables.ts'

/** Beside an alias `m` of `remote`: its group's row `r`, and `x` where other rows have a say. */
export function joinOwnEnds(destinationId: number): string {
  return `left join record r on r.destination_id = ${destinationId} and r.key = m.group_key left join own_end x on x.key = m.key`
}

/** Null: the pipeline's `expires_in` decides. */
export const ownExpiresAt = 'case when x.key is null then r.expires_at else x.expires_at end'
export const ownEffectiveAt = 'case when x.key is null then r.effective_at else x.effective_at end'

/** What ended by its rows' own wish stays ended (I19). */
export const notEnded = `(m.held = 0 or ${ownExpiresAt} is null or ${ownExpiresAt} > statement_timestamp())`

/** Has ended by its rows' own wish, and stands at the service for longer, because its shorter end was never confirmed. */
export const overdue = `(m.held > 0 and m.synced_hash is not null and ${ownExpiresAt} <= statement_timestamp() and m.expires_at > statement_timestamp())`

/**
 * Fills `own_end`: identifiers whose times are not simply those of the row they are sent under, because several rows hold
 * them, or another one does. False: no row names an end, and the table is empty. Costs one pass over all identifiers.
 */
export async function collectOwnEnds(client: pg.PoolClient, destinationId: number): Promise<boolean> {
  await createTable(client, 'own_end')
  const named = await client.query(`select from record where destination_id = ${destinationId} and expires_at is not null limit 1`)
  if (named.rowCount === 0) return false
  await client.query(
    `insert into own_end
     select m.key, case when bool_or(r.effective_at is null) then null else min(r.effective_at) end,
       case when bool_or(r.expires_at is null) then null else max(r.expires_at) end
     from record r cross join lateral unnest(r.identifiers) as i (identifier)
       join remote m on m.destination_id = ${destinationId} and m.key = i.identifier and (m.held > 1 or m.group_key <> r.key)
     where r.destination_id = ${destinationId} group by m.key`,
  )
  await client.query('analyze own_end')
  return true
}
