/**
 * Recognizes a database that was restored or copied by a dump: its object ids differ. Its state is older than what the service has, or
 * another environment sends from the original too. A copy of the files, such as a snapshot of the disk, has the same object ids and is
 * not recognized.
 */

/**
 * SQL of the identity: object ids of the database and of tables that no migration creates again. A dump does not contain them. They stay
 * the same in pg_upgrade (to Postgres 15 and newer), on a standby and after a failover.
 */
export const databaseIdentity = `(select concat_ws('.', (select d.oid from pg_database d where d.datname = current_database()),
  'destination'::regclass::oid, 'run'::regclass::oid, 'batch'::regclass::oid))`

/** Returns the SQL condition: destination `row` was synced from this database last, or never. */
export function isSyncedHere(row: string): string {
  return `coalesce(${row}.database_identity = ${databaseIdentity}, true)`
}
