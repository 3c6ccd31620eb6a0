/**
 * A fresh, migrated database for each test, copied from a template on one embedded server for the whole run (or on
 * SLUICE_TEST_DATABASE_URL, to test another version of Postgres). vitest's global setup of the projects that need it.
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

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
    postgresTemplate: string
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = quickFolder()
  removeLeftovers(folder)
  const dataDir = mkdtempSync(join(folder, 'sluice-test-'))
  // In a folder that the user of the server can access if this is root; its files are deleted with the folder.
  chmodSync(dataDir, 0o755)
  const outside = process.env['SLUICE_TEST_DATABASE_URL']
  const url = outside ?? (await startEmbedded(dataDir, { keep: true })).url
  if (!outside) {
    // Databases of tests may be lost in a power failure, and must not wait for the disk.
    await admin(url, `alter system set fsync = off`)
    await admin(url, `alter system set full_page_writes = off`)
    await admin(url, `alter system set synchronous_commit = off`)
    // The log is in memory too.
    await admin(url, `alter system set max_wal_size = '1GB'`)
    await admin(url, 'select pg_reload_conf()')
    // A password of one round: 4,096 of them took half the 12 ms of a connection, and a test opens several.
    const { username, password } = new URL(url)
    await admin(url, `set scram_iterations = 1; alter role ${username} password '${password}'`)
  }
  const template = `sluice_template_${randomBytes(4).toString('hex')}`
  await admin(url, `create database ${template}`)
  await migrateDatabase(databaseUrl(url, template))
  project.provide('postgresUrl', url)
  project.provide('postgresTemplate', template)
  return async () => {
    await admin(url, `drop database ${template} with (force)`)
    await administrators.get(url)?.end()
    if (!outside) await stopEmbedded(dataDir)
    rmSync(dataDir, { recursive: true, force: true })
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

/** Removes the data of servers whose process has ended: those of runs that were killed would fill the memory. */
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

/** `await using { db } = await testDatabase()`: dropped at the end of the test, even with open connections. */
export async function testDatabase(): Promise<TestDatabase> {
  const url = inject('postgresUrl')
  const name = `t_${randomBytes(8).toString('hex')}`
  await admin(url, `create database ${name} template ${inject('postgresTemplate')} strategy file_copy`)
  const db = openDatabase(databaseUrl(url, name), { maxConnections: 20 })
  return {
    db,
    url: databaseUrl(url, name),
    async [Symbol.asyncDispose]() {
      await db.close()
      await admin(url, `drop database if exists ${name} with (force)`)
    },
  }
}

function databaseUrl(url: string, name: string): string {
  const parsed = new URL(url)
  parsed.pathname = `/${name}`
  return parsed.href
}

/** One connection for each server and process. It does not keep the process alive. */
const administrators = new Map<string, pg.Pool>()

async function admin(url: string, sql: string): Promise<void> {
  let pool = administrators.get(url)
  if (pool === undefined) {
    pool = new pg.Pool({ connectionString: databaseUrl(url, 'postgres'), max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true })
    // The next statement connects again.
    pool.on('error', () => undefined)
    administrators.set(url, pool)
  }
  await pool.query(sql)
}
