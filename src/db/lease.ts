/** Decides when a lease has expired, by the database's clock. */

/**
 * Returns the SQL condition: the lease with this end has expired. An end in more than an hour was written while the clock of the database
 * was ahead; leases take a minute, and a live process writes the end again with its next heartbeat.
 */
export function isExpired(leaseUntil: string): string {
  return `(${leaseUntil} < statement_timestamp() or ${leaseUntil} > statement_timestamp() + interval '1 hour')`
}
