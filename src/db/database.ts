/** Opens pools of connections to Postgres, and runs transactions. */
import pg from 'pg'
import { defaultSchema, quoteName } from '../schemaName.ts'
import { channelOf, Notifications, type NotificationListener } from './notifications.ts'
import type { Queryable } from './queryable.ts'
import { errorCode } from '../unknownValue.ts'

export type { Queryable } from './queryable.ts'

/** One connection: later statements see its temporary tables. `client` is for COPY and cursors. */
export interface Connection extends Queryable {
  readonly client: pg.PoolClient
}

declare const isOpen: unique symbol
/** Connection with an open transaction. Only `inTransaction` returns one, so a bare connection does not pass for one. */
export interface Transaction extends Connection {
  readonly [isOpen]: true
}

/** Pool of connections to one database. */
export interface Database extends Queryable {
  /** Address with its password. */
  readonly url: string
  /** Schema with all tables. */
  readonly schema: string
  readonly pool: pg.Pool
  /** Settings for further connections to the same database. */
  readonly connection: pg.PoolConfig
  /**
   * Runs `work` in a transaction: commits if `work` returns, rolls back if `work` throws. After a serialization failure or a deadlock
   * (40001, 40P01), calls `work` again, five times in total. So `work` must have no effects outside of the database.
   */
  readonly transaction: <Result>(work: (tx: Transaction) => Promise<Result>) => Promise<Result>
  /** Takes a connection from the pool, for example for temporary tables. The caller must release the connection. */
  readonly connect: () => Promise<pg.PoolClient>
  /** Calls `listener` for the notifications of this schema, until the returned function is called. */
  readonly listen: (listener: NotificationListener) => () => void
  readonly close: () => Promise<void>
}

/**
 * Maximum time in milliseconds to open a connection of a pool. A stopped process of a server, or a proxy without a server, accepts a
 * connection and never answers. Postgres ends a login after 60 s (`authentication_timeout`), so a longer wait is useless. A shorter wait
 * would end runs that a hang only delays. The limit is not a setting of the pool, which would also apply it to the wait for a free
 * connection.
 */
const defaultConnectMs = 60_000

const retryable = new Set(['40001', '40P01'])

/**
 * Settings that the statements of Sluice and the decoders of the driver need. They override the settings of the role, the database and the
 * server.
 *
 * - The driver reads times only in the ISO style, and claims need read committed.
 * - A process that hangs in a transaction locks its destination until the server ends the transaction. So does a machine that fails.
 *   Without a limit, that takes hours or forever. Between two statements of a transaction only milliseconds pass.
 * - Timeouts of the role or the server do not apply, as for pg_dump, because statements of a first sync take minutes.
 * - An attempt must be on disk before its first byte is sent. If a commit did not wait for the disk, a crash of Postgres could lose the
 *   attempt. Then the request would count as never sent.
 */
const sessionSettings = [
  `set datestyle = 'ISO, MDY'`,
  `set timezone = 'UTC'`,
  `set intervalstyle = 'postgres'`,
  'set standard_conforming_strings = on',
  // Some statements return identifiers as the text of a bytea array.
  `set bytea_output = 'hex'`,
  // With \`off\`, Postgres would read null in an array of the driver as the text NULL.
  'set array_nulls = on',
  `set default_transaction_isolation = 'read committed'`,
  `set idle_in_transaction_session_timeout = '2min'`,
  'set statement_timeout = 0',
  'set lock_timeout = 0',
  // A run keeps its temporary tables while it waits for the source or for the service.
  'set idle_session_timeout = 0',
  // New in Postgres 17.
  `select set_config('transaction_timeout', '0', false) where current_setting('server_version_num')::int >= 170000`,
  // A stricter setting, such as `remote_apply`, stays.
  `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`,
]

/**
 * Returns the pool option that sets up every new connection: session settings, search path, and channel of notifications. Statements name
 * tables without a schema, so they need the search path.
 */
function sessionSetup(schema: string): { readonly onConnect: (client: pg.ClientBase) => void } {
  const session = [...sessionSettings, `set search_path = ${quoteName(schema)}`, `listen ${channelOf(schema)}`].join('; ')
  // The cast holds because the pool waits for the promise, although its type does not declare that.
  return { onConnect: ((client: pg.ClientBase) => client.query(session)) as (client: pg.ClientBase) => void }
}

/** Returns true for a serialization failure or a deadlock. The same transaction may succeed if it is repeated. */
export function isRetryable(error: unknown): boolean {
  return retryable.has(String(errorCode(error)))
}

export interface DatabaseOptions {
  /** Schema with all tables; default `defaultSchema`. */
  readonly schema?: string
  /** Name of the connections in `pg_stat_activity`; default `sluice`. */
  readonly applicationName?: string
  /** Maximum number of connections of the pool; default 10. */
  readonly maxConnections?: number
  /** Returns the address for each new connection. Set only if the address may change while the process runs. */
  readonly address?: () => string
  /** Maximum time in milliseconds to open a connection; default `defaultConnectMs`. */
  readonly connectMs?: number
}

/** Returns a client class with a limit of the time to connect. With `address`, each new client connects to the address that it returns. */
function clientClass({ address, connectMs }: DatabaseOptions): new () => pg.Client {
  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({
        ...config,
        connectionTimeoutMillis: connectMs ?? defaultConnectMs,
        ...(address === undefined ? {} : { connectionString: address() }),
      })
    }
  }
}

/** Opens a pool without a connection. The first query connects, and throws the driver's error if the server does not answer. */
export function openDatabase(url: string, options: DatabaseOptions = {}): Database {
  const schema = options.schema ?? defaultSchema
  const connection: pg.PoolConfig = { connectionString: url, Client: clientClass(options) }
  const pool = new pg.Pool({
    ...connection,
    max: options.maxConnections ?? 10,
    // One connection stays open to receive notifications. The others are closed after ten idle seconds.
    min: 1,
    // Postgres cannot freeze the temporary tables of another session (`temporaryTables.ts`). Old ones would bring transaction ids closer to
    // wraparound.
    maxLifetimeSeconds: 3_600,
    application_name: options.applicationName ?? 'sluice',
    // Without keep-alive a statement would wait forever if the server vanishes, for example in a failover.
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    // Idle clients must not keep a finished command alive.
    allowExitOnIdle: true,
    ...sessionSetup(schema),
  })
  // The pool replaces a broken idle connection. Without a listener, the error would end the process.
  pool.on('error', () => undefined)
  // If a connection in use breaks, its next query fails. Without a listener, the error would end the process before that query.
  pool.on('connect', (client) => client.on('error', () => undefined))
  const notifications = new Notifications(pool)

  return {
    url,
    schema,
    pool,
    connection,
    ...queryable(pool),
    async transaction(work) {
      const client = await pool.connect()
      try {
        return await inTransaction(connectionOf(client), work)
      } finally {
        client.release()
      }
    },
    connect: () => pool.connect(),
    listen: (listener) => notifications.listen(listener),
    close: () => pool.end(),
  }
}

/** Runs `work` in a transaction of this connection, with the rules of `Database.transaction`. */
export async function inTransaction<Result>(connection: Connection, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    await connection.query('begin')
    try {
      // The mark exists only for the compiler.
      const result = await work(connection as Transaction)
      await connection.query('commit')
      return result
    } catch (error) {
      await connection.query('rollback').catch(() => undefined)
      if (attempt === 5 || !isRetryable(error)) throw error
    }
  }
}

export function connectionOf(client: pg.PoolClient): Connection {
  return { client, ...queryable(client) }
}

/**
 * Opens connections at the same time until the pool has `count`. Then the first statements need not wait for connections. Resolves when the
 * first connection is open, because a pooler may permit fewer. Ignores errors, because the first statement reports them.
 */
export async function openConnections({ pool }: Pick<Database, 'pool'>, count: number): Promise<void> {
  const missing = count - pool.totalCount
  if (missing <= 0) return
  // The pool opens a connection only if none is idle.
  const opened = Array.from({ length: pool.idleCount + missing }, async () => (await pool.connect()).release())
  await Promise.any(opened).catch(() => undefined)
}

/** Wraps one connection, or the pool, as a `Queryable`. */
export function queryable(client: pg.Pool | pg.PoolClient): Queryable {
  return {
    async query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]) {
      return (await client.query<Row>(text, values && [...values])).rows
    },
    async execute(text, values) {
      return (await client.query(text, values && [...values])).rowCount ?? 0
    },
  }
}
