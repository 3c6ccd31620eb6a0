/** Detects what is between this process and Postgres: nothing, a pooler that keeps sessions apart, or one that mixes them. */
import type { Socket } from 'node:net'
import pg from 'pg'
import { RunError } from '../errors.ts'
import { connectionFault, safeUrl } from './connectionFault.ts'

/** `session`: any proxy that gives each connection a server process of its own. */
export type Pooler = 'none' | 'session' | 'transaction'

const rounds = 3
/** A pooler with a single server connection lets the second client wait. */
const answerMs = 5_000

/**
 * Probes the address with one connection where the server sees the very socket of this process, else with two. Two
 * connections that share a server process, or one that changes it, are proof of transaction or statement mode.
 */
export async function probePooler(url: string): Promise<Pooler> {
  const first = await connect(url)
  try {
    if (await isSeenByServer(first)) return 'none'
    const second = await connect(url)
    try {
      for (let round = 0; round < rounds; round++) if (await sharesProcess(first, second)) return 'transaction'
      return 'session'
    } finally {
      await second.end()
    }
  } finally {
    await first.end()
  }
}

/** @throws {RunError} `DATABASE_POOLER` behind a pooler in transaction or statement mode */
export async function refuseTransactionPooler(url: string): Promise<void> {
  if ((await probePooler(url)) !== 'transaction') return
  throw new RunError(
    'DATABASE_POOLER',
    'DATABASE_URL leads to a pooler in transaction or statement mode: temporary tables and settings would leak between sessions',
    { where: safeUrl(url), hint: "use the database server's own address, or the pooler in session mode (docs/database.md#poolers)" },
  )
}

/** The server's side of the connection is this process's own port: no proxy in between. */
async function isSeenByServer(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ port: number | null }>('select inet_client_port() as port')
  // The types of `pg` leave the connection out.
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection
  return stream.localPort !== undefined && rows[0]?.port === stream.localPort
}

/** A transaction on the second connection holds its server process, so the first one cannot be given the same. */
async function sharesProcess(first: pg.Client, second: pg.Client): Promise<boolean> {
  const before = await processOf(first)
  let held: number | undefined
  try {
    await second.query('begin')
    held = await processOf(second)
  } catch (error) {
    // Statement mode forbids transactions; a session pooler with one server connection only never answers.
    return !(error instanceof Error && /timeout/i.test(error.message))
  }
  try {
    return held === before || (await processOf(first)) !== before
  } finally {
    await second.query('commit')
  }
}

async function processOf(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'sluice probe', query_timeout: answerMs })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return client
  } catch (error) {
    throw connectionFault(error, url)
  }
}
