/** Empties databases of ended tests for the next test, and keeps their connections. Only rows may differ from a copy of the template. */
import type pg from 'pg'
import { queryable, type Database, type Queryable } from '../../src/db/database.ts'

/** Database of tests with its open pool. */
export interface Handle {
  readonly name: string
  readonly db: Database
  /** Number of tests so far. */
  readonly uses: number
  /** Number of listeners to events of the pool at first. */
  readonly listeners: number
}

const events = ['acquire', 'connect', 'error', 'release', 'remove']

/** Returns the number of listeners to events of the pool. */
export function listenersOf({ pool }: Database): number {
  return events.reduce((sum, event) => sum + pool.listenerCount(event), 0)
}

/** Maximum number of tests of one database. Each temporary table of a run makes the catalogs of Postgres larger. */
const mostUses = 40
/** Maximum growth in bytes. Deletes of more rows take longer than a copy of the template. */
const mostGrowth = 6 * 1024 * 1024

/** State of a copy of the template, the same for all. */
interface Original {
  readonly definitions: string
  readonly bytes: number
}
let original: Original | undefined

/**
 * Deletes all rows but those of the migrations, and resets sequences and sessions. Returns false if the caller must drop the database,
 * because a test
 * - changed its definitions
 * - loaded many rows
 * - let Postgres collect statistics
 * - left sessions behind
 */
export async function emptyAgain({ db, uses, listeners }: Handle): Promise<boolean> {
  const { pool } = db
  const idle = pool.idleCount
  if (uses >= mostUses || pool.ending || Object.hasOwn(pool, 'connect') || listenersOf(db) !== listeners) return false
  if (idle === 0 || pool.totalCount !== idle || pool.waitingCount > 0) return false
  let clients: pg.PoolClient[] = []
  try {
    clients = await Promise.all(Array.from({ length: idle }, () => pool.connect()))
    const [client] = clients
    if (client === undefined) return false
    for (const one of clients) await resetSession(pool, one)
    if (!(await isAlone(client, clients.length)) || !(await isOriginal(client))) return false
    await emptyTables(client, db.schema)
    return true
  } catch {
    return false
  } finally {
    for (const client of clients) client.release()
  }
}

/**
 * Resets a connection to its initial state. It keeps the cached definitions of tables, which make it faster, and prepared statements.
 * `discard all` would include `deallocate all`, but the driver would still use the statements.
 */
async function resetSession(pool: pg.Pool, client: pg.PoolClient): Promise<void> {
  await client.query(
    `close all; reset session authorization; reset all; unlisten *; select pg_advisory_unlock_all();
     discard plans; discard temp; discard sequences`,
  )
  await (pool.options as { readonly onConnect?: (client: pg.ClientBase) => unknown }).onConnect?.(client)
}

/** Returns true if no other session is connected. A command that just ended may still be connected for a moment. */
async function isAlone(client: pg.PoolClient, sessions: number): Promise<boolean> {
  for (let attempt = 0; attempt < 10; attempt++) {
    const { rowCount } = await client.query('select from pg_stat_activity where datname = current_database()')
    if (rowCount === sessions) return true
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return false
}

/** Catalogs with the condition on rows that are not part of Postgres. Statistics count as definitions: they change query plans. */
const catalogs = {
  pg_class: 'oid >= 16384',
  pg_attribute: 'attrelid >= 16384',
  pg_attrdef: 'true',
  pg_constraint: 'oid >= 16384',
  pg_index: 'indrelid >= 16384',
  pg_proc: 'oid >= 16384',
  pg_trigger: 'true',
  pg_type: 'oid >= 16384',
  pg_rewrite: 'oid >= 16384',
  pg_policy: 'true',
  pg_extension: 'true',
  pg_namespace: `nspname !~ '^pg_(toast_)?temp_'`,
  pg_statistic: 'starelid >= 16384',
  pg_default_acl: 'true',
  pg_event_trigger: 'true',
  pg_db_role_setting: 'setdatabase = (select oid from pg_database where datname = current_database())',
}

const definitions = Object.entries(catalogs)
  .map(([name, where]) => `(select count(*) || ' ' || coalesce(max(xmin::text::bigint), 0) from ${name} where ${where})`)
  // An analysis of an empty table is not stored in pg_statistic.
  .concat('(select sum(reltuples) from pg_class where oid >= 16384)')
  .join(', ')

/** Remembers the state that all copies of the template begin with. `db`: a new copy. */
export async function rememberOriginal(db: Database): Promise<void> {
  original ??= await readState(db)
}

async function isOriginal(client: pg.PoolClient): Promise<boolean> {
  const now = await readState(queryable(client))
  return now.definitions === original?.definitions && now.bytes <= original.bytes + mostGrowth
}

async function readState(db: Queryable): Promise<Original> {
  const [row] = await db.query<Original>(
    `select concat_ws(',', ${definitions}) as definitions, pg_database_size(current_database())::int as bytes`,
  )
  if (row === undefined) throw new Error('a state has one row')
  return row
}

async function emptyTables(client: pg.PoolClient, schema: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = $1 and tablename <> 'migration'`,
    [schema],
  )
  const deletes = rows.map(({ name }) => `delete from ${schema}.${name};`)
  // Without checks of foreign keys and triggers, so the order is free.
  await client.query(
    `begin; set local session_replication_role = replica; ${deletes.join(' ')}
     select setval(seqrelid, seqstart, false) from pg_sequence; commit`,
  )
}
