import pg from 'pg'
import { defaultSchema, quoteName } from '../schemaName.ts'
import type { Queryable } from './queryable.ts'
import { errorCode } from '../unknownValue.ts'

export type { Queryable } from './queryable.ts'

/** One transaction on one connection. `client` is for COPY and cursors. */
export interface Transaction extends Queryable {
  readonly client: pg.PoolClient
}

export interface Database extends Queryable {
  readonly url: string
  /** Schema that holds everything. */
  readonly schema: string
  readonly pool: pg.Pool
  /** Settings for further pools on the same database. */
  readonly connection: pg.PoolConfig
  /**
   * Runs `work` in a transaction: commits when it returns, rolls back when it throws. A serialization failure or a
   * deadlock (40001, 40P01) starts it again, five times at the most, so `work` must have no effect beside the database.
   */
  readonly transaction: <Result>(work: (tx: Transaction) => Promise<Result>) => Promise<Result>
  /** A connection of its own, for staging into temporary tables. Released by the caller. */
  readonly connect: () => Promise<pg.PoolClient>
  readonly close: () => Promise<void>
}

const retryable = new Set(['40001', '40P01'])

/**
 * Settings that the statements of Sluice and the driver's decoders rely on. They override those of the role, the database and the server:
 * the driver reads times in the ISO style only, and claims are written for read committed.
 */
const settings = [
  `set datestyle = 'ISO, MDY'`,
  `set timezone = 'UTC'`,
  `set intervalstyle = 'postgres'`,
  'set standard_conforming_strings = on',
  `set default_transaction_isolation = 'read committed'`,
]

/** Returns the options of every pool: settings of the session, and the schema, because statements name tables without one. */
export function eachConnection(schema: string): { readonly onConnect: (client: pg.ClientBase) => void } {
  const session = [...settings, `set search_path = ${quoteName(schema)}`].join('; ')
  // The pool waits for the promise, which its type leaves out.
  return { onConnect: ((client: pg.ClientBase) => client.query(session)) as (client: pg.ClientBase) => void }
}

/** A serialization failure or a deadlock: the same transaction, started again, is likely to succeed. */
export function isRetryable(error: unknown): boolean {
  return retryable.has(String(errorCode(error)))
}

export interface DatabaseOptions {
  /** Schema that holds everything. */
  readonly schema?: string
  readonly applicationName?: string
  readonly maxConnections?: number
  /** Address of each new connection, where it may change while the process is up. */
  readonly address?: () => string
}

/** A client that looks the address up when it is made. */
function clientAt(address: () => string): new () => pg.Client {
  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: address() })
    }
  }
}

/** Opens a pool. Does not connect yet: the first query does, and throws pg's error when the server does not answer. */
export function openDatabase(url: string, options: DatabaseOptions = {}): Database {
  const schema = options.schema ?? defaultSchema
  const connection: pg.PoolConfig = { connectionString: url, ...(options.address ? { Client: clientAt(options.address) } : {}) }
  const pool = new pg.Pool({
    ...connection,
    max: options.maxConnections ?? 10,
    application_name: options.applicationName ?? 'sluice',
    // Idle clients must not keep a finished command alive.
    allowExitOnIdle: true,
    ...eachConnection(schema),
  })
  // A broken idle connection is replaced by the pool; without a listener Node would end the process.
  pool.on('error', () => undefined)
  // A checked-out connection that breaks fails its next query. Without this listener, Node would end the process before.
  pool.on('connect', (client) => client.on('error', () => undefined))

  return {
    url,
    schema,
    pool,
    connection,
    ...queryable(pool),
    async transaction(work) {
      for (let attempt = 1; ; attempt++) {
        const client = await pool.connect()
        let broken = false
        try {
          await client.query('begin')
          const result = await work({ client, ...queryable(client) })
          await client.query('commit')
          return result
        } catch (error) {
          try {
            await client.query('rollback')
          } catch {
            broken = true
          }
          if (attempt < 5 && isRetryable(error)) continue
          throw error
        } finally {
          client.release(broken)
        }
      }
    },
    connect: () => pool.connect(),
    close: () => pool.end(),
  }
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
