/** One schema contains everything, journal and queue included; other schemas and applications are not changed. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { openDatabase, type Database } from '../../../src/db/database.ts'
import { migrateDatabase, migrationStatus } from '../../../src/db/migrate.ts'
import { readMigrations } from '../../../src/db/migrations.ts'
import { openQueues } from '../../../src/jobs/queues.ts'
import { silentLogger } from '../../../src/log.ts'
import { testDatabase } from '../../support/postgres.ts'

/** Another application with the default journal of drizzle. The number is the time of its migrations. */
async function migrateForeign(url: string, when: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-foreign-app-'))
  mkdirSync(join(folder, 'meta'))
  writeFileSync(join(folder, '0000_app.sql'), `create table if not exists public.app_${when} (id int)`)
  writeFileSync(
    join(folder, 'meta', '_journal.json'),
    JSON.stringify({ version: '7', dialect: 'postgresql', entries: [{ idx: 0, version: '7', when, tag: '0000_app', breakpoints: true }] }),
  )
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await migrate(drizzle(client), { migrationsFolder: folder })
  } finally {
    await client.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function tables(db: Database, schema: string): Promise<readonly string[]> {
  const rows = await db.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = $1 order by 1`,
    [schema],
  )
  return rows.map(({ name }) => name)
}

/** Moves our journal to its place in earlier versions. */
async function likeAnEarlierVersion(db: Database): Promise<void> {
  await db.execute('create schema if not exists drizzle')
  await db.execute('create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)')
  await db.execute(
    `insert into drizzle.__drizzle_migrations (hash, created_at) select hash, 1795000000000 + position from sluice.migration order by position`,
  )
  await db.execute('drop table sluice.migration')
}

describe('the schema', () => {
  test('contains tables, journal and queue, and a second schema has its own', async () => {
    await using database = await testDatabase()
    await migrateDatabase(database.url, 'tenant_b')
    const tenant = openDatabase(database.url, { schema: 'tenant_b' })
    try {
      for (const db of [database.db, tenant]) {
        const queues = await openQueues(db, { supervise: false, log: silentLogger })
        await queues.wakeForRun({ runId: db.schema.length, destinationId: 1 })
        await queues.close()
      }
      await tenant.execute(`insert into destination (service, kind, target_id) values ('https://b.example', 'catalog', '1')`)
      expect(await database.db.query('select from destination')).toEqual([])
      expect(await tenant.query('select from destination')).toHaveLength(1)
      expect(await tenant.query(`select data ->> 'runId' as run from job`)).toEqual([{ run: '8' }])
      expect(await database.db.query(`select data ->> 'runId' as run from job`)).toEqual([{ run: '6' }])
    } finally {
      await tenant.close()
    }
    expect(await tables(database.db, 'tenant_b')).toEqual(await tables(database.db, 'sluice'))
    expect(await tables(database.db, 'sluice')).toEqual(
      expect.arrayContaining(['destination', 'job', 'migration', 'pipeline_schedule', 'run']),
    )
    const schemas = await database.db.query<{ name: string }>(
      `select nspname as name from pg_namespace where nspname !~ '^pg_|^information_schema$' order by 1`,
    )
    expect(schemas.map(({ name }) => name)).toEqual(['public', 'sluice', 'tenant_b'])
  })

  test('may be a word that SQL reserves', async () => {
    await using database = await testDatabase()
    const { applied, known } = await migrateDatabase(database.url, 'user')
    expect(applied).toBe(known)
    const db = openDatabase(database.url, { schema: 'user' })
    try {
      await (await openQueues(db, { supervise: false, log: silentLogger })).close()
      expect(await db.query('select from run')).toEqual([])
    } finally {
      await db.close()
    }
  })
})

describe('another application with drizzle in the database', () => {
  test('migrates before and after, and both are whole', async () => {
    await using database = await testDatabase()
    const { db, url } = database
    await db.execute('drop schema sluice cascade')
    await migrateForeign(url, 1_700_000_000_000)
    const { applied, known } = await migrateDatabase(url)
    expect(applied).toBe(known)
    // Older than the newest of Sluice: a shared journal would skip it.
    await migrateForeign(url, 1_700_000_000_001)
    expect(await tables(db, 'public')).toEqual(['app_1700000000000', 'app_1700000000001'])
    expect(await migrationStatus(url)).toEqual({ applied: known, known })
    expect(await db.query('select from drizzle.__drizzle_migrations')).toHaveLength(2)
  })

  test('keeps its entries when the journal of an earlier version is moved', async () => {
    await using database = await testDatabase()
    const { db, url } = database
    await db.execute(`insert into destination (service, kind, target_id) values ('https://ads.example', 'catalog', '1')`)
    await likeAnEarlierVersion(db)
    await db.execute(`insert into drizzle.__drizzle_migrations (hash, created_at) values ('theirs', 1600000000000)`)
    const known = readMigrations('sluice').length
    expect(await migrateDatabase(url)).toEqual({ applied: known, known })
    expect(await db.query('select hash from sluice.migration order by position')).toEqual(
      readMigrations('sluice').map(({ hash }) => ({ hash })),
    )
    expect(await db.query('select hash from drizzle.__drizzle_migrations')).toEqual([{ hash: 'theirs' }])
    expect(await db.query('select from destination')).toHaveLength(1)
    await migrateForeign(url, 1_700_000_000_000)
    expect(await tables(db, 'public')).toEqual(['app_1700000000000'])
  })
})
