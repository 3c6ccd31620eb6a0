/**
 * A fresh, migrated database for each test, copied from a template on one embedded server for the whole run (or on
 * SLUICE_TEST_DATABASE_URL, to test another version of Postgres). vitest's global setup of the projects that need it.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
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
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  // Where the server's own user can reach it, should this be root: then its files go with the folder.
  chmodSync(dataDir, 0o755)
  const outside = process.env['SLUICE_TEST_DATABASE_URL']
  const url = outside ?? (await startEmbedded(dataDir, { keep: true })).url
  if (!outside) {
    // Tests may lose their database with the power; they may not wait for the disk.
    await admin(url, `alter system set fsync = off`)
    await admin(url, `alter system set full_page_writes = off`)
    await admin(url, `alter system set synchronous_commit = off`)
    await admin(url, 'select pg_reload_conf()')
  }
  const template = `sluice_template_${randomBytes(4).toString('hex')}`
  await admin(url, `create database ${template}`)
  await migrateDatabase(databaseUrl(url, template))
  project.provide('postgresUrl', url)
  project.provide('postgresTemplate', template)
  return async () => {
    await admin(url, `drop database ${template} with (force)`)
    if (!outside) await stopEmbedded(dataDir)
    rmSync(dataDir, { recursive: true, force: true })
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

async function admin(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl(url, 'postgres') })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
