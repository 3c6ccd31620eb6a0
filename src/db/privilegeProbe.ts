/** Tests the privileges that a run and `serve` need. A probe uses the privilege and undoes the effect, or reads the catalog of Postgres. */
import pg from 'pg'
import { RunError } from '../errors.ts'
import { quoteName } from '../schemaName.ts'
import { commandConnectMs } from './connectionFault.ts'
import type { Database } from './database.ts'
import { readQueueVersion } from './migrate.ts'

/** Maximum number of connections of a run. */
export const connectionsOfRun = 10
/** Maximum number of connections of `serve`, including the connections of its checks. */
export const connectionsOfServe = 12

/** Creates a temporary table, and drops it. @throws the error of Postgres if the right is missing */
export async function probeTemporary(db: Database): Promise<void> {
  const client = await db.connect()
  try {
    await client.query('begin')
    await client.query('create temp table sluice_probe (n int) on commit drop')
  } finally {
    // Closes the connection, so that Postgres rolls back the transaction.
    client.release(true)
  }
}

/**
 * Returns the tables of the schema that the role may not read and write completely, each as `name (missing rights)`. Also returns the
 * sequence of the ids of batches, which plans reserve, if the role may not use it.
 */
export async function probeTables(db: Database): Promise<readonly string[]> {
  const rows = await db.query<{ name: string; missing: string }>(
    `select c.relname as name, string_agg(r, ', ') as missing
     from pg_class c cross join unnest(array['select', 'insert', 'update', 'delete']) as r
     where c.relnamespace = to_regnamespace($1) and c.relkind in ('r', 'p') and not has_table_privilege(c.oid, r)
     group by c.relname
     union all
     select c.relname, 'usage' from pg_class c
     where c.oid = pg_get_serial_sequence($2, 'id')::regclass and not has_sequence_privilege(c.oid, 'usage, update')
     order by name`,
    [quoteName(db.schema), `${quoteName(db.schema)}.batch`],
  )
  return rows.map(({ name, missing }) => `${name} (${missing})`)
}

/**
 * Tests whether the tables of the queue have the version `needed` or a later one (`there`), or can be created or upgraded. Undoes its
 * changes.
 *
 * @throws the error of Postgres if the right is missing
 */
export async function probeQueue(db: Database, needed: number): Promise<'there' | 'can be created' | 'can be upgraded'> {
  const client = await db.connect()
  try {
    const version = await readQueueVersion(client, db.schema)
    if (version !== undefined && version >= needed) return 'there'
    await client.query('begin')
    await client.query(`create table ${quoteName(db.schema)}.sluice_probe (n int)`)
    // Only the owner may comment on a table, or alter it.
    if (version !== undefined) await client.query(`comment on table ${quoteName(db.schema)}.version is null`)
    await client.query('rollback')
    return version === undefined ? 'can be created' : 'can be upgraded'
  } finally {
    client.release(true)
  }
}

/** Sends a notification to its own connection. Returns false if the notification does not arrive within 2 s. */
export async function probeNotifications(db: Database): Promise<boolean> {
  const client = await db.connect()
  try {
    const received = new Promise<boolean>((resolve) => {
      client.once('notification', () => resolve(true))
      setTimeout(() => resolve(false), 2_000).unref()
    })
    await client.query('listen sluice_probe')
    await client.query(`select pg_notify('sluice_probe', '')`)
    return await received
  } finally {
    client.release(true)
  }
}

/**
 * Opens `count` connections in parallel, and closes them once each has answered a statement. A pooler accepts connections for which its pool
 * has no connection to the server; their statements wait.
 *
 * @throws {RunError} `DATABASE_UNUSABLE` if statements are not answered, as with a small pool of a pooler
 * @throws the first error of a connection, for example at a limit
 */
export async function probeConnections(db: Database, count: number): Promise<void> {
  const limits = { connectionTimeoutMillis: commandConnectMs, query_timeout: commandConnectMs }
  const clients = Array.from({ length: count }, () => new pg.Client({ ...db.connection, application_name: 'sluice probe', ...limits }))
  let opened = 0
  try {
    const answers = await Promise.allSettled(
      clients.map(async (client) => {
        client.on('error', () => undefined)
        await client.connect()
        opened++
        await client.query('select')
      }),
    )
    const failed = answers.filter((result) => result.status === 'rejected')
    if (failed.length === 0) return
    if (opened < count) throw failed[0]?.reason
    throw new RunError('DATABASE_UNUSABLE', `only ${count - failed.length} of ${count} connections answer at the same time`, {
      where: 'database',
      hint: `let the pooler open ${connectionsOfServe} or more connections to the server (default_pool_size of PgBouncer)`,
      cause: failed[0]?.reason,
    })
  } finally {
    await Promise.allSettled(clients.map((client) => client.end()))
  }
}
