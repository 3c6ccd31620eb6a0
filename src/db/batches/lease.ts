/** Renews the leases of claimed batches (docs/states.md#batch), and finds expired leases. */
import type { Queryable } from '../queryable.ts'

/** Thrown if another process has recovered or claimed the batch. Then the result of this process must be dropped. */
export class LeaseLost extends Error {}

/**
 * Returns the SQL condition: the lease with this end has expired. An end in more than an hour was written while the clock of the database
 * was ahead; leases take a minute, and a live process writes the end again with its next heartbeat.
 */
export function isExpired(leaseUntil: string): string {
  return `(${leaseUntil} < statement_timestamp() or ${leaseUntil} > statement_timestamp() + interval '1 hour')`
}

/**
 * Renews the leases of these batches of this worker that have not expired. Returns their number. A batch that the worker lost track of,
 * because the database failed, must not be among them: its lease would never expire, and the next run of its destination would never end.
 */
export async function renewLeases(db: Queryable, workerId: string, leaseMs: number, batchIds: readonly number[]): Promise<number> {
  if (batchIds.length === 0) return 0
  return db.execute(
    `update batch set lease_until = statement_timestamp() + $2 * interval '1 millisecond'
     where id = any($3::bigint[]) and worker_id = $1 and status = 'in_flight' and lease_until > statement_timestamp()`,
    [workerId, leaseMs, batchIds],
  )
}
