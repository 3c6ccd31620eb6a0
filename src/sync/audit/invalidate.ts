/** Repairs drift: invalidates products that differ, so that an ordinary plan sends them again. */
import type pg from 'pg'
import { noteRun } from '../../db/audit.ts'
import { queryable } from '../../db/database.ts'
import { raiseStateVersion } from '../../db/destinations.ts'
import { addChanged } from '../../db/changedKeys.ts'
import { invalidatedBy, invalidatedKinds } from '../../db/invalidated.ts'
import { unsettledKeys } from '../plan/pendingChanges.ts'

/**
 * Invalidates drifted products inside the plan's transaction, so both are committed or neither. Covers only desired products whose
 * confirmed content is still the compared one and that have no request under way; unmanaged products have no row here. Also
 * invalidates products that no listing can show, because a put is the only way to check them (docs/guarantees.md). Earlier plans
 * become stale, because the synced state changed. Returns the number of invalidated products.
 */
export async function invalidateDrifted(
  client: pg.PoolClient,
  run: { readonly id: number; readonly destinationId: number },
  actor: string,
): Promise<number> {
  const { destinationId } = run
  await raiseStateVersion(queryable(client), destinationId)
  const { rows } = await client.query<{ kind: string; n: number }>(
    `with gone as (
       update remote m set synced_hash = ${invalidatedBy('a.outcome', run.id)}
       from audited a
       where m.destination_id = $1 and m.key = a.key and a.outcome = any($2) and m.held > 0 and m.synced_hash = a.synced_hash
         and m.key not in (${unsettledKeys(destinationId)})
       returning a.outcome, m.key),
     noted as (${addChanged('select key from gone')})
     select outcome as kind, count(*)::int as n from gone group by outcome`,
    [destinationId, invalidatedKinds],
  )
  const detail = Object.fromEntries(rows.map(({ kind, n }) => [kind, n]))
  await noteRun(queryable(client), { actor, what: 'catalog.withdrawn', runId: run.id, detail })
  return rows.reduce((sum, { n }) => sum + n, 0)
}
