/** Detects whether there is a pooler between this process and Postgres, and its mode. */
import type { Socket } from 'node:net'
import pg from 'pg'
import { RunError } from '../errors.ts'
import { commandConnectMs, connectionFault, safeUrl } from './connectionFault.ts'

/**
 * Result of the probe. `session`: a proxy, or a pooler that gives each connection its own server process. `transaction`: a pooler in
 * transaction or statement mode, which shares server processes between connections.
 */
export type Pooler = 'none' | 'session' | 'transaction'

/** Maximum number of comparisons of two connections. A single comparison may miss that they share a process. */
const maxComparisons = 3
/** Timeout of statements in milliseconds. If a pooler has a single server connection, the second client would wait for it without end. */
const statementTimeoutMs = 5_000

/**
 * Probes the address. One connection is enough if the server sees the port of this process. Otherwise opens a second connection. If the
 * connections share a server process, or the first one changes its process, the pooler is in transaction or statement mode.
 *
 * @throws {RunError} the codes of `connectionFault`
 */
export async function probePooler(url: string): Promise<Pooler> {
  const client = await connectPlain(url)
  try {
    return await probeFrom(client, url)
  } finally {
    await client.end()
  }
}

async function probeFrom(first: pg.Client, url: string): Promise<Pooler> {
  try {
    if (await isSeenByServer(first)) return 'none'
    const second = await connectPlain(url)
    try {
      for (let i = 0; i < maxComparisons; i++) if (await sharesProcess(first, second)) return 'transaction'
      return 'session'
    } finally {
      await second.end()
    }
  } catch (error) {
    throw error instanceof RunError ? error : connectionFault(error, url)
  }
}

/**
 * Opens a connection like `connectPlain`, and probes the pooler. Sends no session settings, because a pooler in transaction mode would
 * apply them to other applications.
 *
 * @throws {RunError} `DATABASE_POOLER` for a pooler in transaction or statement mode; the codes of `connectionFault`
 */
export async function connectCheckingPooler(url: string): Promise<pg.Client> {
  const client = await connectPlain(url)
  try {
    if ((await probeFrom(client, url)) !== 'transaction') return client
  } catch (error) {
    await client.end()
    throw error
  }
  await client.end()
  throw new RunError(
    'DATABASE_POOLER',
    'DATABASE_URL leads to a pooler in transaction or statement mode: temporary tables and settings would leak between sessions',
    { where: safeUrl(url), hint: "use the database server's own address, or the pooler in session mode (docs/database.md#poolers)" },
  )
}

/** Returns true if the server sees the port of this process, so that there is no proxy. */
async function isSeenByServer(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ port: number | null }>('select inet_client_port() as port')
  // The cast holds because every client of `pg` has a connection, which its types do not declare.
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection
  return stream.localPort !== undefined && rows[0]?.port === stream.localPort
}

/**
 * Returns true if the connections share a server process, the process of the first connection changes, or the pooler rejects a transaction.
 * Meanwhile a transaction on the second connection occupies its server process.
 */
async function sharesProcess(first: pg.Client, second: pg.Client): Promise<boolean> {
  const processBefore = await processOf(first)
  let occupied: number | undefined
  try {
    await second.query('begin')
    occupied = await processOf(second)
  } catch (error) {
    // Statement mode rejects transactions.
    if (error instanceof pg.DatabaseError) return true
    // A timeout means a session pooler with a single server connection. Any other error means that the connection was lost.
    if (error instanceof Error && /timeout/i.test(error.message)) return false
    throw error
  }
  try {
    return occupied === processBefore || (await processOf(first)) !== processBefore
  } finally {
    await second.query('commit')
  }
}

async function processOf(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid
}

/** Settings of a connection for a probe: its statements time out after 5 s. */
const probeSettings: pg.ClientConfig = { application_name: 'sluice probe', query_timeout: statementTimeoutMs }

/**
 * Opens a connection without session settings.
 * @throws {RunError} the codes of `connectionFault`
 */
export async function connectPlain(url: string, settings = probeSettings): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: commandConnectMs, ...settings })
  // A broken connection fails its statement and emits an event. Without a listener, the event would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return client
  } catch (error) {
    throw connectionFault(error, url)
  }
}
