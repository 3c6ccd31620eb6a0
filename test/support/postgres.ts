/**
 * A migrated database without rows for each test. It is a copy of a template, or the emptied database of an earlier test. One embedded
 * server serves the whole run. SLUICE_TEST_DATABASE_URL names another server, to test another version of Postgres. This file is the global
 * setup of vitest for the projects that need it.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import type { TestProject } from 'vitest/node'
import { openDatabase, type Database } from '../../src/db/database.ts'
import { startEmbedded, stopEmbedded } from '../../src/db/embedded/server.ts'
import { migrateDatabase } from '../../src/db/migrate.ts'
import { endedMessage } from './endedDatabase.ts'
import { emptyAgain, listenersOf, rememberOriginal, type Handle } from './emptyDatabase.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
    postgresTemplate: string
  }
}

/** Server of a run with the template, and the number of projects that use it. Each project loads this module. */
interface RunServer {
  readonly started: ReturnType<typeof startServer>
  projects: number
}
const ofRun = globalThis as { sluiceTestServer?: RunServer }

/** Starts the server that all projects share: another one, with its migrated template, would take 2 s of processor time. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = (ofRun.sluiceTestServer ??= { started: startServer(), projects: 0 })
  server.projects++
  const { url, template, stop } = await server.started
  project.provide('postgresUrl', url)
  project.provide('postgresTemplate', template)
  return async () => {
    if (--server.projects > 0) return
    delete ofRun.sluiceTestServer
    await stop()
  }
}

async function startServer(): Promise<{ readonly url: string; readonly template: string; readonly stop: () => Promise<void> }> {
  const folder = quickFolder()
  removeLeftovers(folder)
  const dataDir = mkdtempSync(join(folder, 'sluice-test-'))
  // If this process is root, the server has another user, who must be able to enter the folder. Its files are deleted with the folder.
  chmodSync(dataDir, 0o755)
  const outside = process.env['SLUICE_TEST_DATABASE_URL']
  const url = outside ?? (await startEmbedded(dataDir, { keep: true, maxConnections: 400 })).url
  if (!outside) {
    // Databases of tests may be lost in a power failure, and must not wait for the disk.
    await admin(url, `alter system set fsync = off`)
    await admin(url, `alter system set full_page_writes = off`)
    await admin(url, `alter system set synchronous_commit = off`)
    // Copies are used for seconds. Without vacuum, an emptied table gets its rows in the order of their inserts, as a new one does.
    await admin(url, `alter system set autovacuum = off`)
    // The log is in memory too, and no write in the background saves time.
    await admin(url, `alter system set max_wal_size = '1GB'`)
    await admin(url, 'alter system set bgwriter_lru_maxpages = 0')
    await admin(url, 'select pg_reload_conf()')
    // The password has one round. 4,096 rounds took half the 12 ms of a connection, and a test opens several.
    const { username, password } = new URL(url)
    await admin(url, `set scram_iterations = 1; alter role ${username} password '${password}'`)
  }
  const template = `sluice_template_${randomBytes(4).toString('hex')}`
  await admin(url, `create database ${template}`)
  if (!outside) await hideNewFunctions(databaseUrl(url, template))
  await migrateDatabase(databaseUrl(url, template))
  const stop = async () => {
    if (outside) for (const name of await copiesOf(url, template)) await admin(url, `drop database ${name} with (force)`)
    await admin(url, `drop database ${template} with (force)`)
    await administrators.get(url)?.end()
    if (!outside) await stopEmbedded(dataDir)
    rmSync(dataDir, { recursive: true, force: true })
  }
  return { url, template, stop }
}

/** Functions of Postgres 16 to 18 that a statement might use. */
const newFunctions = (
  'min(bytea) max(bytea) min(record) max(record) any_value(anyelement) array_shuffle(anyarray) array_sample(anyarray,int) ' +
  'array_reverse(anyarray) array_sort(anyarray) casefold(text) crc32(bytea) crc32c(bytea) reverse(bytea) bytea(int) bytea(bigint) ' +
  'gamma(float8) erf(float8) to_bin(int) to_bin(bigint) to_oct(int) to_oct(bigint) uuidv4() uuidv7() xmltext(text) random(int,int) ' +
  'random(bigint,bigint) random_normal(float8,float8) date_add(timestamptz,interval) date_subtract(timestamptz,interval)'
).split(' ')

/**
 * Renames the functions that Postgres 15 does not have. The embedded server has version 18, so a statement with one of them would fail
 * only at a user with an older server.
 */
async function hideNewFunctions(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(
      `update pg_proc p set proname = 'new_' || proname from unnest($1::text[]) as n (signature) where p.oid = to_regprocedure(n.signature)`,
      [newFunctions],
    )
  } finally {
    await client.end()
  }
}

/**
 * Returns a folder in memory if the system has one with room (8 GB; a container has 64 MB), else that of temporary files. A database
 * is a copy of 300 files: 345 ms of kernel time each on ext4, 16 ms in memory (2 cores, Postgres 18.4, 40 copies, Linux 6).
 */
export function quickFolder(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (bavail * bsize > 8 * 1024 ** 3) return '/dev/shm'
  } catch {
    // Not Linux.
  }
  return tmpdir()
}

/** Removes the data of servers of ended processes. Data of killed runs would fill the memory. */
function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder).filter((entry) => entry.startsWith('sluice-test-'))) {
    // During initdb the file has the number of a short-lived process.
    if ((statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > Date.now() - 60_000) continue
    try {
      process.kill(Number.parseInt(readFileSync(join(folder, name, 'postgres-18', 'postmaster.pid'), 'utf8'), 10), 0)
    } catch (error) {
      // Without the file the server has not started yet, or was stopped by its own run.
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') rmSync(join(folder, name), { recursive: true, force: true })
    }
  }
}

export interface TestDatabase extends AsyncDisposable {
  readonly db: Database
  readonly url: string
}

/** Emptied databases of ended tests, with their connections. The first run on new ones takes 100 ms of processor time more. */
const emptied: Handle[] = []
/** Database of an ended test, to be dropped. */
let ended: string | undefined

/**
 * Returns a database: `await using { db } = await testDatabase()`. It is dropped after the test, even with open connections. With
 * `mayBeUsed` it may be the emptied database of an earlier test of this process. This is for tests that do not test Postgres itself.
 */
export async function testDatabase({ mayBeUsed = false } = {}): Promise<TestDatabase> {
  const url = inject('postgresUrl')
  const handle = (mayBeUsed ? emptied.pop() : undefined) ?? (await copyOfTemplate(url))
  const { name, db } = handle
  if (mayBeUsed) await rememberOriginal(db)
  // Work that the test left running must not use the database of the next test.
  let isEnded = false
  let isClosed = false
  let listening = 0
  const during =
    <Arguments extends readonly unknown[], Result>(method: (...args: Arguments) => Promise<Result>) =>
    async (...args: Arguments): Promise<Result> => {
      if (isEnded) throw new Error(endedMessage)
      return method(...args)
    }
  const own: Database = {
    ...db,
    query: during(db.query) as Database['query'],
    execute: during(db.execute),
    transaction: during(db.transaction) as Database['transaction'],
    connect: during(db.connect),
    listen(listener) {
      const stop = db.listen(listener)
      listening++
      return () => {
        listening--
        stop()
      }
    },
    async close() {
      isClosed = true
      await db.close()
    },
  }
  return {
    db: own,
    url: databaseUrl(url, name),
    async [Symbol.asyncDispose]() {
      isEnded = true
      if (mayBeUsed && !isClosed && listening === 0 && (await emptyAgain(handle))) {
        emptied.push({ ...handle, uses: handle.uses + 1 })
        return
      }
      if (!isClosed) await db.close()
      await dropLater(url, name)
    },
  }
}

async function copyOfTemplate(url: string): Promise<Handle> {
  const template = inject('postgresTemplate')
  const name = `${copyPrefix(template)}${randomBytes(6).toString('hex')}`
  await admin(url, `create database ${name} template ${template} strategy file_copy`)
  const db = openDatabase(databaseUrl(url, name), { maxConnections: 20 })
  // The first statements of a connection take longer, and a slow test would close its idle ones every ten seconds.
  db.pool.options.idleTimeoutMillis = 0
  return { name, db, uses: 1, listeners: listenersOf(db) }
}

const copyPrefix = (template: string) => template.replace('sluice_template', 't').concat('_')

async function copiesOf(url: string, template: string): Promise<readonly string[]> {
  const { rows } = await admin<{ name: string }>(url, 'select datname as name from pg_database where starts_with(datname, $1)', [
    copyPrefix(template),
  ])
  return rows.map(({ name }) => name)
}

/** Drops the database of the test before. Connections take a moment to end, and Postgres waits for them in steps of 100 ms. */
async function dropLater(url: string, name: string): Promise<void> {
  const before = ended
  ended = name
  if (before !== undefined) await admin(url, `drop database if exists ${before} with (force)`)
}

function databaseUrl(url: string, name: string): string {
  const parsed = new URL(url)
  parsed.pathname = `/${name}`
  return parsed.href
}

/** Returns the address with these command-line options of the session, such as `-c timezone=UTC`. */
export function withOptions(url: string, options: string): string {
  const parsed = new URL(url)
  parsed.searchParams.set('options', options)
  return parsed.href
}

/** One connection for each server and process. It does not keep the process alive. */
const administrators = new Map<string, pg.Pool>()

async function admin<Row extends pg.QueryResultRow>(
  url: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<pg.QueryResult<Row>> {
  let pool = administrators.get(url)
  if (pool === undefined) {
    pool = new pg.Pool({ connectionString: databaseUrl(url, 'postgres'), max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true })
    // The next statement connects again.
    pool.on('error', () => undefined)
    administrators.set(url, pool)
  }
  return pool.query<Row>(sql, [...values])
}
