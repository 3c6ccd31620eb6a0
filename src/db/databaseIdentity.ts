/**
 * Recognizes a database that was restored or copied by a dump, because its object ids or its cluster differ. Such a database must not send.
 * Its state may be older than the state at the service. Or another environment may send from the original. A copy of the files, such as a
 * snapshot of the disk, has the same ids and is not recognized (docs/database.md#copies).
 */
import { errorCode } from '../unknownValue.ts'
import type { Queryable } from './queryable.ts'

/**
 * SQLSTATEs of a role or a hosted server that cannot read the id of the cluster: `insufficient_privilege`, `feature_not_supported`,
 * `undefined_function`.
 */
const unreadable = new Set(['42501', '0A000', '42883'])

/** Returns the id of the cluster, which `initdb` chose; null if it cannot be read. */
export async function clusterOf(db: Queryable): Promise<string | null> {
  try {
    const [row] = await db.query<{ id: string }>('select system_identifier::text as id from pg_control_system()')
    return row?.id ?? null
  } catch (error) {
    if (unreadable.has(String(errorCode(error)))) return null
    throw error
  }
}

/**
 * SQL of the object ids of the database and of tables that no migration creates again. A dump does not contain them. They stay the same in
 * pg_upgrade (to Postgres 15 and newer), on a standby and after a failover.
 */
const objectIds = `concat_ws('.', (select d.oid from pg_database d where d.datname = current_database()),
  'destination'::regclass::oid, 'run'::regclass::oid, 'batch'::regclass::oid)`

const majorVersion = `current_setting('server_version_num')::int / 10000`

/** Returns the SQL of the identity: object ids, id of the cluster and major version. `cluster`: SQL of the result of `clusterOf`. */
export const databaseIdentity = (cluster: string) =>
  `(select ${objectIds} || coalesce('@' || ${cluster}::text || '/' || ${majorVersion}, ''))`

/**
 * Returns the SQL condition that a destination was last synced from this database, or never. Two new clusters give equal object ids to the
 * tables of the same dump, so the cluster must be the same too. `pg_upgrade` creates a cluster of a newer version and keeps the object ids.
 * Earlier versions stored no cluster. `row`: alias of the destination's row. `cluster`: SQL of the result of `clusterOf`.
 */
export function isSyncedHere(row: string, cluster: string): string {
  const [ids, place] = [1, 2].map((part) => `split_part(${row}.database_identity, '@', ${part})`)
  return `coalesce(${ids} = ${objectIds} and (${cluster}::text is null or ${place} = '' or split_part(${place}, '/', 1) = ${cluster}::text
    or nullif(split_part(${place}, '/', 2), '')::int < ${majorVersion}), true)`
}
