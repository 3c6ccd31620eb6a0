/** The repair's own part: what was seen to differ is withdrawn, so that the ordinary plan puts it again. */
import type pg from 'pg'
import { noteRun } from '../../store/audit.ts'
import { queryable } from '../../store/database.ts'
import { currentRound } from '../../store/rounds.ts'
import { withdrawnBy, withdrawnKinds } from '../../store/withdrawn.ts'
import { unsettledKeys } from '../plan/todo.ts'

/**
 * Inside the plan's transaction: both stand, or neither. Only own products that are wanted, whose confirmed content is still the
 * one that was compared and that nothing is under way for; foreign ones have no row here to change. What no listing can show is
 * withdrawn too, because a put is the only way to ask for it (guarantees 2, 'Not promised'). Plans made before are stale by it:
 * the synced state moved. Returns how many of each kind.
 */
export async function withdrawDrifted(
  client: pg.PoolClient,
  run: { readonly id: number; readonly destinationId: number },
  actor: string,
): Promise<number> {
  const { destinationId } = run
  await client.query('update sluice.destination set state_version = state_version + 1 where id = $1', [destinationId])
  const { rows } = await client.query<{ kind: string; n: number }>(
    `with gone as (
       update sluice.remote m set synced_hash = ${withdrawnBy('a.verdict', run.id)}, round = ${currentRound}
       from audited a
       where m.destination_id = $1 and m.key = a.key and a.verdict = any($2) and m.held > 0 and m.synced_hash = a.synced_hash
         and m.key not in (${unsettledKeys(destinationId)})
       returning a.verdict)
     select verdict as kind, count(*)::int as n from gone group by verdict`,
    [destinationId, withdrawnKinds],
  )
  const detail = Object.fromEntries(rows.map(({ kind, n }) => [kind, n]))
  await noteRun(queryable(client), { actor, what: 'catalog.withdrawn', runId: run.id, detail })
  return rows.reduce((sum, { n }) => sum + n, 0)
}
