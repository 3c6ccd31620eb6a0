import { openDatabase, type Database } from './database.ts'
import { startEmbedded } from './embedded/server.ts'
import { migrateDatabase } from './migrate.ts'
import { RunError } from '../errors.ts'

export interface Store {
  readonly db: Database
  readonly url: string
  /** True: our own server below the data directory. */
  readonly embedded: boolean
  /** Closes the pool; stops the embedded server when nobody else uses it and nobody asked to keep it. */
  readonly close: () => Promise<void>
}

/**
 * The database, ready to use: `databaseUrl`, or else the embedded Postgres below `dataDir`; migrated.
 *
 * @throws {RunError} `DATABASE_UNREACHABLE`, `DATABASE_TOO_OLD`, `DATABASE_UNUSABLE`, `POSTGRES_UNAVAILABLE`,
 *   `MIGRATION_MISMATCH`
 */
export async function openStore(options: {
  readonly databaseUrl?: string | undefined
  readonly dataDir: string
  /** The embedded server outlives this command. */
  readonly keep?: boolean
  readonly maxConnections?: number
  readonly applicationName?: string
}): Promise<Store> {
  const embedded = options.databaseUrl === undefined ? await startEmbedded(options.dataDir, { keep: options.keep ?? false }) : undefined
  const url = options.databaseUrl ?? embedded?.url ?? ''
  const db = openDatabase(url, {
    ...(options.maxConnections === undefined ? {} : { maxConnections: options.maxConnections }),
    ...(options.applicationName === undefined ? {} : { applicationName: options.applicationName }),
  })
  const close = async () => {
    await db.close()
    await embedded?.release()
  }
  try {
    await checkServer(db)
    await migrateDatabase(url)
  } catch (error) {
    await close()
    throw error
  }
  return { db, url, embedded: embedded !== undefined, close }
}

/** A merchant's texts fit these. SQL_ASCII keeps bytes as they come, and ours are UTF-8. */
const encodings = new Set(['UTF8', 'SQL_ASCII'])

async function checkServer(db: Database): Promise<void> {
  let version: number
  let encoding: string
  try {
    const rows = await db.query<{ version: string; encoding: string }>(
      `select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding`,
    )
    version = Math.floor(Number(rows[0]?.version) / 10_000)
    encoding = rows[0]?.encoding ?? ''
  } catch (error) {
    throw new RunError('DATABASE_UNREACHABLE', `the database does not answer: ${message(error)}`, {
      where: safeUrl(db.url),
      mend: 'check DATABASE_URL, or unset it to use the embedded Postgres',
    })
  }
  if (version < 15) {
    throw new RunError('DATABASE_TOO_OLD', `Postgres ${version} is too old: Sluice needs 15 or newer`, {
      where: safeUrl(db.url),
      mend: 'point DATABASE_URL at a newer server, or unset it',
    })
  }
  if (!encodings.has(encoding)) {
    throw new RunError('DATABASE_UNUSABLE', `the database is encoded in ${encoding}, which has no place for every text of a feed`, {
      where: safeUrl(db.url),
      mend: `make one in UTF-8: create database sluice template template0 encoding 'UTF8'`,
    })
  }
}

/** The address without its password, for messages. */
export function safeUrl(url: string): string {
  try {
    const parsed = new URL(url)
    parsed.password = ''
    return parsed.href
  } catch {
    return 'DATABASE_URL'
  }
}

function message(error: unknown): string {
  // pg's AggregateError (several addresses tried) has an empty message of its own.
  if (error instanceof AggregateError) return error.errors.map((e: unknown) => (e instanceof Error ? e.message : String(e))).join('; ')
  return error instanceof Error ? error.message : String(error)
}
