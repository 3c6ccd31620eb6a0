import pg from 'pg'

/** Anything that runs SQL: the pool, or one transaction. */
export interface Queryable {
  /** Rows as `pg` decodes them: bigint and numeric as strings, timestamptz as Date, bytea as Buffer. */
  readonly query: <Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<Row[]>
  /** Number of rows an insert, update or delete hit. */
  readonly execute: (text: string, values?: readonly unknown[]) => Promise<number>
}

/** One transaction on one connection. `client` is for COPY and cursors. */
export interface Transaction extends Queryable {
  readonly client: pg.PoolClient
}

export interface Database extends Queryable {
  readonly url: string
  readonly pool: pg.Pool
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
 * What our statements and the driver's readers rely on, whatever the role, the database or the server has set for itself:
 * the driver reads times in the ISO style only, and claims are written for read committed.
 */
const session = [
  `set datestyle = 'ISO, MDY'`,
  `set timezone = 'UTC'`,
  `set intervalstyle = 'postgres'`,
  'set standard_conforming_strings = on',
  `set default_transaction_isolation = 'read committed'`,
].join('; ')

const setSession = (client: pg.ClientBase): Promise<unknown> => client.query(session)

/** For every pool on our database. It waits for the promise, which its type leaves out. */
export const eachConnection = { onConnect: setSession as (client: pg.ClientBase) => void }

/** A serialization failure or a deadlock: the same transaction, begun anew, is likely to get through. */
export function isRetryable(error: unknown): boolean {
  return retryable.has(String((error as { code?: unknown } | null)?.code))
}

/** Opens a pool. Does not connect yet: the first query does, and throws pg's error when nobody answers. */
export function openDatabase(url: string, options: { readonly applicationName?: string; readonly maxConnections?: number } = {}): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.maxConnections ?? 10,
    application_name: options.applicationName ?? 'sluice',
    // Idle clients must not keep a finished command alive.
    allowExitOnIdle: true,
    ...eachConnection,
  })
  // A broken idle connection is replaced by the pool; without a listener Node would end the process.
  pool.on('error', () => undefined)
  // One that breaks while it is lent out says so to its next query; without this, Node would end the process before.
  pool.on('connect', (client) => client.on('error', () => undefined))

  return {
    url,
    pool,
    ...queryable(pool),
    async transaction(work) {
      for (let attempt = 1; ; attempt++) {
        const client = await pool.connect()
        let broken: Error | undefined
        try {
          await client.query('begin')
          const result = await work({ client, ...queryable(client) })
          await client.query('commit')
          return result
        } catch (error) {
          try {
            await client.query('rollback')
          } catch (rollbackError) {
            broken = rollbackError as Error
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

/** One connection, or the pool, as whatever runs SQL. */
export function queryable(client: pg.Pool | pg.PoolClient): Queryable {
  return {
    async query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]) {
      return (await client.query<Row>(text, values as unknown[])).rows
    },
    async execute(text, values) {
      return (await client.query(text, values as unknown[])).rowCount ?? 0
    },
  }
}
