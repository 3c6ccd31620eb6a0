/** Writes `remote.remote_key`: the product_key of a product, which is its id at the service. */
import type { EntryOutcome } from '../../destinations/destination.ts'
import { auditLinesSql } from '../auditLog.ts'
import type { ClaimedBatch } from '../batches/claim.ts'
import type { Queryable } from '../queryable.ts'

/**
 * Stores the product keys from an answer to a put. The answer may have the key of a refused product too. `outcomes`: in the order of the
 * body. Adds a line to the audit log for each stored key that changes.
 */
export async function storeAnsweredKeys(tx: Queryable, batch: ClaimedBatch, outcomes: readonly EntryOutcome[]): Promise<void> {
  const keyed = outcomes.flatMap((entry, ord) =>
    entry.outcome !== 'ambiguous' && entry.remoteKey !== undefined ? [{ ord, key: entry.remoteKey }] : [],
  )
  if (keyed.length === 0) return
  const values = [batch.id, keyed.map(({ ord }) => ord), keyed.map(({ key }) => key)]
  const changes = `entry e, unnest($2::int[], $3::text[]) as x (ord, remote_key)
     where e.batch_id = $1 and e.ord = x.ord and m.destination_id = e.destination_id and m.key = e.keys[1] and m.remote_key is distinct from x.remote_key`
  // The service should never change the product key of a product, so a change is logged.
  await tx.execute(
    auditLinesSql(
      `select 'reconcile', 'product_key.changed', $4, $1, jsonb_build_object('ord', x.ord) from remote m, ${changes} and m.remote_key is not null`,
    ),
    [...values, batch.planId],
  )
  await tx.execute(`update remote m set remote_key = x.remote_key from ${changes}`, values)
}

/**
 * Stores the product keys of a listing. Adds a line to the audit log for each stored key that changes. `listed`: SQL of `key` and
 * `product_key`, without parameters.
 */
export async function storeListedKeys(
  tx: Queryable,
  run: { readonly id: number; readonly destinationId: number },
  listed: string,
): Promise<void> {
  const changes = `(${listed}) a where m.destination_id = $1 and m.key = a.key and m.remote_key is distinct from a.product_key`
  await tx.execute(
    auditLinesSql(
      `select 'audit', 'product_key.changed', null, m.batch_id, jsonb_build_object('runId', $2::int) from remote m, ${changes} and m.remote_key is not null`,
    ),
    [run.destinationId, run.id],
  )
  await tx.execute(`update remote m set remote_key = a.product_key from ${changes}`, [run.destinationId])
}
