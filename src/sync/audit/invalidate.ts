import { logEvent } from '../../db/auditLog.ts'
import type { Transaction } from '../../db/database.ts'
import { raiseStateVersion } from '../../db/destinations.ts'
import { storeListedKeys } from '../../db/remote/productKeys.ts'
import { invalidateKeys } from '../../db/remote/syncedState.ts'
import { unresolvedKeys } from '../plan/pendingChanges.ts'

/**
 * Marks the confirmed content of products as invalid, so that a plan sends them again, and returns their number. These are the products
 * with the outcome `changed`, `notListed` or `hidden` in the table `audited`. Hidden ones are included, because only a put can check them
 * (docs/decisions/invalidated.md). Leaves out products with a request that is unresolved or may still arrive, and products whose confirmed
 * content changed since the comparison.
 *
 * Also stores the listed product keys, except those of unmanaged and unresolved products, and makes earlier plans of the destination stale.
 * Must run in the transaction of the plan.
 */
export async function invalidateDrifted(
  tx: Transaction,
  run: { readonly id: number; readonly destinationId: number },
  actor: string,
): Promise<number> {
  const { destinationId } = run
  await raiseStateVersion(tx, destinationId)
  await storeListedKeys(
    tx,
    run,
    `select key, product_key from audited where product_key is not null and outcome not in ('unmanaged', 'unresolved')`,
  )
  const counts = await invalidateKeys(tx, run, 'select key, outcome, synced_hash from audited', unresolvedKeys(destinationId))
  const detail = Object.fromEntries(counts.map(({ kind, n }) => [kind, n]))
  await logEvent(tx, { actor, what: 'catalog.withdrawn', runId: run.id, detail })
  return counts.reduce((sum, { n }) => sum + n, 0)
}
