/**
 * Recognizes a database that was restored or copied by a dump, because its object ids differ. Such a database must not send.
 * Its state may be older than the state at the service. Or another environment may send from the original. A copy of the files, such as a
 * snapshot of the disk, has the same object ids and is not recognized (docs/database.md#copies).
 */

/**
 * SQL of the identity: object ids of the database and of tables that no migration creates again. A dump does not contain them. They stay
 * the same in pg_upgrade (to Postgres 15 and newer), on a standby and after a failover.
 */
export const databaseIdentity = `(select concat_ws('.', (select d.oid from pg_database d where d.datname = current_database()),
  'destination'::regclass::oid, 'run'::regclass::oid, 'batch'::regclass::oid))`

/** Returns the SQL condition that a destination was last synced from this database, or never. `row`: alias of the destination's row. */
export function isSyncedHere(row: string): string {
  return `coalesce(${row}.database_identity = ${databaseIdentity}, true)`
}
