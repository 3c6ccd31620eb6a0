import type pg from 'pg'
import { openConnections, openDatabase, type Database } from './database.ts'
import { isMigrated, migrateDatabase } from './migrate.ts'
import { connectPlain, connectCheckingPooler } from './poolerProbe.ts'
import { RunError } from '../errors.ts'
import { connectionFault, safeUrl } from './connectionFault.ts'

/** Open database. */
export interface Store {
  readonly db: Database
  /** True for the embedded server below the data directory. */
  readonly isEmbedded: boolean
  /** Closes the pool; stops the embedded server unless another command uses or keeps it. */
  readonly close: () => Promise<void>
}

/**
 * Opens and migrates the database: `databaseUrl`, else the embedded Postgres below `dataDir`.
 *
 * @throws {RunError} the codes of `connectionFault`, `DATABASE_POOLER`, `DATABASE_TOO_OLD`, `DATABASE_UNUSABLE`,
 *   `POSTGRES_UNAVAILABLE`, `DISK_FULL`, `NO_PERMISSION`, `MIGRATION_MISMATCH`
 * @throws {UsageError} `WRONG_USER` for the embedded Postgres
 */
export async function openStore(options: {
  readonly databaseUrl?: string | undefined
  readonly dataDir: string
  /** Schema with all tables. */
  readonly schema?: string
  /** Keeps the embedded server running after this command. */
  readonly keep?: boolean
  readonly applicationName?: string
  /** Number of connections that are opened while the schema is checked; default 1. */
  readonly connections?: number
  /**
   * Set for processes that keep running: then the embedded server is restarted whenever it has stopped. Called after each restart, with
   * the error if the restart failed.
   */
  readonly onEmbeddedRestart?: (error?: unknown) => void
}): Promise<Store> {
  // With `databaseUrl`, the modules of the embedded server are not loaded.
  const server = options.databaseUrl === undefined ? await import('./embedded/server.ts') : undefined
  const embedded = await server?.startEmbedded(options.dataDir, { keep: options.keep ?? false })
  const url = options.databaseUrl ?? embedded?.url ?? ''
  const db = openDatabase(url, {
    ...(options.schema === undefined ? {} : { schema: options.schema }),
    ...(options.applicationName === undefined ? {} : { applicationName: options.applicationName }),
    ...(server === undefined ? {} : { address: server.embeddedAddress(options.dataDir, url) }),
  })
  const stopSupervision =
    options.onEmbeddedRestart === undefined ? undefined : server?.superviseEmbedded(options.dataDir, options.onEmbeddedRestart)
  const close = async () => {
    stopSupervision?.()
    await db.close()
    await embedded?.release()
  }
  try {
    const client = await (embedded === undefined ? connectCheckingPooler(url) : connectPlain(url))
    const connected = openConnections(db, options.connections ?? 1)
    let migrated: boolean
    try {
      await checkServer(client, url)
      migrated = await isMigrated(client, db.schema)
    } finally {
      await client.end()
    }
    if (!migrated) await migrateDatabase(url, db.schema)
    await connected
  } catch (error) {
    await close()
    throw error
  }
  return { db, isEmbedded: embedded !== undefined, close }
}

/** Encodings that can store every text. SQL_ASCII stores the bytes of UTF-8 unchanged. */
const completeEncodings = new Set(['UTF8', 'SQL_ASCII'])

/**
 * Checks version and encoding of the database.
 *
 * @throws {RunError} `DATABASE_TOO_OLD`; `DATABASE_UNUSABLE` if the encoding cannot store every text
 */
async function checkServer(client: pg.Client, url: string): Promise<void> {
  let version: number
  let encoding: string
  try {
    const { rows } = await client.query<{ version: string; encoding: string }>(
      `select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding`,
    )
    version = Math.floor(Number(rows[0]?.version) / 10_000)
    encoding = rows[0]?.encoding ?? ''
  } catch (error) {
    throw connectionFault(error, url)
  }
  if (version < 15) {
    throw new RunError('DATABASE_TOO_OLD', `Postgres ${version} is too old: Sluice needs 15 or newer`, {
      where: safeUrl(url),
      hint: 'upgrade the server to Postgres 15 or newer; pg_upgrade and pg_dump keep the synced state',
    })
  }
  if (!completeEncodings.has(encoding)) {
    throw new RunError('DATABASE_UNUSABLE', `the database is encoded in ${encoding}, which cannot store every text of a feed`, {
      where: safeUrl(url),
      hint: `create one in UTF-8: create database sluice template template0 encoding 'UTF8'`,
    })
  }
}
