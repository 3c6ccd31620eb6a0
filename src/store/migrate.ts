import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import pg from 'pg'
import { RunError } from '../errors.ts'

export const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url))

/** Any number will do, as long as every Sluice uses the same one. */
const advisoryLock = 5_104_371

export interface MigrationStatus {
  readonly applied: number
  readonly known: number
}

/**
 * Brings the schema up to date. Safe to start many times at once: one works, the rest wait and find nothing to do. All
 * migrations run in one transaction. Needs a direct connection (the advisory lock belongs to it), not a pooler's.
 *
 * @throws {RunError} `MIGRATION_MISMATCH` when an applied migration is not the file we have: edited, skipped, or newer;
 *   `DATABASE_UNUSABLE` when the role may not make the tables
 */
export async function migrateDatabase(url: string): Promise<MigrationStatus> {
  try {
    return await migrateWhere(url)
  } catch (error) {
    throw refused(error) ?? error
  }
}

async function migrateWhere(url: string): Promise<MigrationStatus> {
  const client = await connect(url)
  try {
    // Reading first spares every ordinary start the lock.
    const before = await check(client)
    if (before.applied === before.known) return before
    await client.query('select pg_advisory_lock($1)', [advisoryLock])
    await check(client)
    // Loaded only when there is something to do: drizzle's driver is some hundred files, 0.3 s and 130 MB.
    const [{ drizzle }, { migrate }] = await Promise.all([
      import('drizzle-orm/node-postgres'),
      import('drizzle-orm/node-postgres/migrator'),
    ])
    await migrate(drizzle(client), { migrationsFolder })
    const after = await check(client)
    if (after.applied !== after.known) throw mismatch(`applied ${after.applied} of ${after.known} migrations`)
    return after
  } finally {
    await client.end() // frees the lock too
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'sluice migrate' })
  // A connection that breaks says so twice: its statement fails, which is enough. Unheard, the other ends the process.
  client.on('error', () => undefined)
  await client.connect()
  return client
}

/** How far the database is, changing nothing. */
export async function migrationStatus(url: string): Promise<MigrationStatus> {
  const client = await connect(url)
  try {
    return await check(client)
  } finally {
    await client.end()
  }
}

/** Applied migrations must be the first n files, byte for byte. */
async function check(client: pg.Client): Promise<MigrationStatus> {
  const files = readMigrationFiles({ migrationsFolder })
  if (files.length === 0) throw mismatch('no migrations were found')
  const table = await client.query<{ name: string | null }>(`select to_regclass('drizzle.__drizzle_migrations') as name`)
  if (table.rows[0]?.name == null) return { applied: 0, known: files.length }
  const { rows } = await client.query<{ hash: string }>('select hash from drizzle.__drizzle_migrations order by id')
  for (const [i, { hash }] of rows.entries()) {
    if (hash !== files[i]?.hash) throw mismatch(`migration ${i + 1} of the database is not the one of this version of Sluice`)
  }
  return { applied: rows.length, known: files.length }
}

/** What the owner of the server can lift. Its text names roles and schemas, never values. */
function refused(error: unknown): RunError | undefined {
  // drizzle wraps what the driver threw.
  const { code, message } = ((error as Error).cause ?? error) as { code?: unknown; message?: string }
  if (code === '42501')
    return new RunError('DATABASE_UNUSABLE', `the role may not use the database as Sluice needs it: ${message}`, {
      where: 'database',
      mend: 'make the role of DATABASE_URL the owner: alter database NAME owner to ROLE',
    })
  if (code === '25006')
    return new RunError('DATABASE_UNUSABLE', `the database takes no writes: ${message}`, {
      where: 'database',
      mend: 'point DATABASE_URL at the primary, and at a role that may write',
    })
  return undefined
}

function mismatch(message: string): RunError {
  return new RunError('MIGRATION_MISMATCH', message, {
    where: 'database',
    mend: 'run the version of Sluice that made this database, or point DATABASE_URL at another one',
  })
}
