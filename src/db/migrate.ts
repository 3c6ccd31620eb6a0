/** Migrates a schema, and compares its applied migrations with those of this version. */
import type pg from 'pg'
import { RunError } from '../errors.ts'
import { isRetryable, type Database } from './database.ts'
import { entryStatement, journalStatements, readJournal, type Journal } from './journal.ts'
import { readMigrations, type Migration } from './migrations.ts'
import { permissionFault } from './permissionFault.ts'
import { connectPlain } from './poolerProbe.ts'
import { defaultSchema, quoteName } from '../schemaName.ts'

/** First key of the advisory lock, the same in every version. The second key is the schema, so that schemas migrate in parallel. */
const advisoryLock = 5_104_371

/**
 * Statements that override settings of the role and the server for a transaction. A migration may take minutes, and has texts with a
 * backslash.
 */
const transactionSettings = `set local statement_timeout = 0; set local lock_timeout = 0; set local standard_conforming_strings = on;
  select set_config('transaction_timeout', '0', true) where current_setting('server_version_num')::int >= 170000`

/** Numbers of migrations: `applied` in the schema, and `known` to this version. */
export interface MigrationStatus {
  readonly applied: number
  readonly known: number
}

/**
 * Migrates a schema in one transaction. Safe to call in many processes: one process migrates, and the others wait until it has ended.
 *
 * @throws {RunError} `MIGRATION_MISMATCH` if the applied migrations are not the first migrations of this version
 * @throws {RunError} `DATABASE_UNUSABLE` (`permissionFault`), for example if the role may not create the tables
 * @throws {RunError} with the codes of `connectionFault`
 */
export async function migrateDatabase(url: string, schema = defaultSchema): Promise<MigrationStatus> {
  const client = await connectPlain(url, { application_name: 'sluice migrate' })
  try {
    // The first check needs no lock, so that an ordinary start does not wait.
    const beforeLock = await examine(client, schema)
    if (isComplete(beforeLock)) return statusOf(beforeLock)
    const underLock = await migrateUnderLock(client, schema)
    if (underLock.journal.isShared) await dropFormerQueue(client)
    return statusOf(await examine(client, schema))
  } catch (error) {
    throw permissionFault(error, { schema, url }) ?? error
  } finally {
    await client.end() // after an error, also rolls back and frees the lock
  }
}

/** Maximum number of attempts. A run of an earlier version may lock the changed tables in another order, which causes deadlocks. */
const maxAttempts = 5

/** Runs the missing migrations in a transaction, after any other process that migrates. Repeats the transaction after a deadlock. */
async function migrateUnderLock(client: pg.Client, schema: string, attempt = 1): Promise<Examined> {
  try {
    // At a stricter level, the statements after the wait would not see what another process has committed.
    await client.query('begin isolation level read committed')
    await client.query(transactionSettings)
    await client.query('select pg_advisory_xact_lock($1, hashtext($2))', [advisoryLock, schema])
    // Postgres may have cached that the tables do not exist, although another process created them during the wait. A query that locks a
    // table updates this cache. Without this statement, one of six concurrent starts failed in 6 of 80 trials.
    await client.query('select from pg_catalog.pg_class limit 0')
    const underLock = await examine(client, schema)
    if (!isComplete(underLock)) {
      if (!(await hasSchema(client, schema))) await client.query(`create schema ${quoteName(schema)}`)
      for (const statement of pendingStatements(schema, underLock)) await client.query(statement)
    }
    await client.query('commit')
    return underLock
  } catch (error) {
    if (!isRetryable(error) || attempt === maxAttempts) throw error
    await client.query('rollback')
    return migrateUnderLock(client, schema, attempt + 1)
  }
}

/** Returns true if every migration is applied; false if one is missing, or the journal cannot be read. Changes nothing. */
export async function isMigrated(client: pg.Client, schema: string): Promise<boolean> {
  try {
    return isComplete(await examine(client, schema))
  } catch {
    // `migrateDatabase` fails with the same error, and reports it.
    return false
  }
}

/** Returns the numbers of migrations of a schema. Changes nothing. @throws {RunError} as `migrateDatabase` */
export async function migrationStatus(url: string, schema = defaultSchema): Promise<MigrationStatus> {
  return (await examineSchema(url, schema)).status
}

/**
 * Compares the journal of a migrated schema with the migrations of this version, over a connection of the pool. `isPrefix`: true if the
 * applied migrations are the first ones of this version, even if later ones are missing.
 */
export async function compareJournal(db: Database): Promise<MigrationStatus & { readonly isPrefix: boolean }> {
  // The files are read once, because an upgrade replaces them while this version still runs.
  knownHashes ??= readMigrations(db.schema).map(({ hash }) => hash)
  const known = knownHashes
  const applied = await db.query<{ hash: string }>('select hash from migration order by position')
  return { applied: applied.length, known: known.length, isPrefix: applied.every(({ hash }, i) => hash === known[i]) }
}

let knownHashes: readonly string[] | undefined

/** Existing and missing parts of a schema. */
export interface SchemaState {
  readonly status: MigrationStatus
  readonly hasSchema: boolean
  /** Version of the queue's tables; undefined if they do not exist. */
  readonly queueVersion: number | undefined
  /** Statements of the missing migrations and of the missing parts of the journal, in the order to run them. Without `create schema`. */
  readonly statements: readonly string[]
}

/**
 * Returns the existing and missing parts of a schema. Without an address, all parts count as missing. Changes nothing.
 *
 * @throws {RunError} as `migrateDatabase`
 */
export async function examineSchema(url: string | undefined, schema: string): Promise<SchemaState> {
  if (url === undefined) {
    const migrations = readMigrations(schema)
    const empty = { migrations, journal: { hashes: [], isShared: false } }
    return { status: statusOf(empty), hasSchema: false, queueVersion: undefined, statements: pendingStatements(schema, empty) }
  }
  const client = await connectPlain(url, { application_name: 'sluice migrate' })
  try {
    const examined = await examine(client, schema)
    return {
      status: statusOf(examined),
      hasSchema: await hasSchema(client, schema),
      queueVersion: await readQueueVersion(client, schema),
      statements: isComplete(examined) ? [] : pendingStatements(schema, examined),
    }
  } catch (error) {
    throw permissionFault(error, { schema, url }) ?? error
  } finally {
    await client.end()
  }
}

/** Returns the version of the queue's tables (pg-boss); undefined if they do not exist. */
export async function readQueueVersion(client: pg.ClientBase, schema: string): Promise<number | undefined> {
  const table = `${quoteName(schema)}.version`
  const { rows } = await client.query<{ found: boolean }>('select to_regclass($1) is not null as found', [table])
  if (rows[0]?.found !== true) return undefined
  const stored = await client.query<{ version: number }>(`select version from ${table}`)
  return stored.rows[0]?.version
}

/** Migrations of this version, and the journal with the applied migrations. */
interface Examined {
  readonly migrations: readonly Migration[]
  readonly journal: Journal
}

/**
 * Reads the applied migrations and the migrations of this version.
 *
 * @throws {RunError} `MIGRATION_MISMATCH` unless the applied migrations are the first files of this version, byte for byte
 */
async function examine(client: pg.Client, schema: string): Promise<Examined> {
  const migrations = readMigrations(schema)
  if (migrations.length === 0) throw mismatch('no migrations were found')
  const journal = await readJournal(client, schema, migrations)
  for (const [i, hash] of journal.hashes.entries()) {
    if (hash !== migrations[i]?.hash) throw mismatch(`migration ${i + 1} of schema ${schema} is not the one of this version of Sluice`)
  }
  return { migrations, journal }
}

const isComplete = ({ migrations, journal }: Examined): boolean => !journal.isShared && journal.hashes.length === migrations.length

const statusOf = ({ migrations, journal }: Examined): MigrationStatus => ({ applied: journal.hashes.length, known: migrations.length })

function pendingStatements(schema: string, { migrations, journal }: Examined): readonly string[] {
  return [
    ...journalStatements(schema, journal),
    ...migrations
      .slice(journal.hashes.length)
      .flatMap(({ statements, hash }, i) => [...statements, entryStatement(schema, journal.hashes.length + i + 1, hash)]),
  ]
}

async function hasSchema(client: pg.Client, schema: string): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>('select to_regnamespace($1) is not null as found', [quoteName(schema)])
  return rows[0]?.found === true
}

/**
 * Drops the schema in which earlier versions stored the queue. No run is lost, because queued runs are in the table `run`. Ignores errors,
 * because the old queue does no harm.
 */
async function dropFormerQueue(client: pg.Client): Promise<void> {
  try {
    await client.query(`set lock_timeout = '5s'; drop schema if exists sluice_jobs cascade`)
  } catch {
    // Another role owns the schema, or a process of an earlier version still uses it.
  }
}

function mismatch(message: string): RunError {
  return new RunError('MIGRATION_MISMATCH', message, {
    where: 'database',
    hint: 'run the version of Sluice that made this schema, or set SLUICE_SCHEMA to another schema',
  })
}
