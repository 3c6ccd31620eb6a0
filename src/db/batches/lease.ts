/** Renews the leases of claimed batches (docs/states.md#batch), and defines when a lease has expired. */
import type { Queryable } from '../queryable.ts'

/** Thrown if another process has recovered or claimed the batch. Then the result of this process must be dropped. */
export class LeaseLost extends Error {}

/**
 * Returns the SQL condition that a lease has expired. `leaseUntil`: SQL of its end. An end more than an hour from now also counts as
 * expired. A lease takes a minute, so the clock of the database was ahead when that end was written. A live process corrects it with its
 * next heartbeat.
 */
export function isExpired(leaseUntil: string): string {
  return `(${leaseUntil} < statement_timestamp() or ${leaseUntil} > statement_timestamp() + interval '1 hour')`
}

/**
 * Renews the unexpired leases of this worker for the batches `batchIds`. Returns the number of renewed leases. `batchIds` must leave out
 * the batches that the worker no longer handles. Otherwise their leases would never expire, and the next run of the destination would never
 * end.
 */
export async function renewLeases(db: Queryable, workerId: string, leaseMs: number, batchIds: readonly number[]): Promise<number> {
  if (batchIds.length === 0) return 0
  return db.execute(
    `update batch set lease_until = statement_timestamp() + $2 * interval '1 millisecond'
     where id = any($3::bigint[]) and worker_id = $1 and status = 'in_flight' and lease_until > statement_timestamp()`,
    [workerId, leaseMs, batchIds],
  )
}
