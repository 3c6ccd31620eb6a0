import { expect, test } from 'vitest'
import { migrateDatabase, migrationStatus } from '../../../src/db/migrate.ts'
import { openStore } from '../../../src/db/open.ts'
import { testDatabase } from '../../support/postgres.ts'

test('K8: six concurrent starts migrate an empty database without an error', async () => {
  await using fresh = await testDatabase()
  await fresh.db.execute('drop schema sluice cascade')
  const results = await Promise.all(Array.from({ length: 6 }, () => migrateDatabase(fresh.url)))
  expect(new Set(results.map(({ applied }) => applied)).size).toBe(1)
  const status = await migrationStatus(fresh.url)
  expect(status.applied).toBe(status.known)
  expect(status.known).toBeGreaterThan(0)
})

test('an edited migration is rejected by its name', async () => {
  await using fresh = await testDatabase()
  await fresh.db.execute(`update sluice.migration set hash = 'edited' where position = 1`)
  await expect(migrateDatabase(fresh.url)).rejects.toMatchObject({ code: 'MIGRATION_MISMATCH' })
})

test('a database that a newer version migrated is rejected', async () => {
  await using fresh = await testDatabase()
  await fresh.db.execute(`insert into sluice.migration (position, hash) select max(position) + 1, 'newer' from sluice.migration`)
  await expect(openStore({ databaseUrl: fresh.url, dataDir: '' })).rejects.toMatchObject({ code: 'MIGRATION_MISMATCH' })
})

test('a start migrates a database that lacks a migration, and rejects an edited one', async () => {
  await using fresh = await testDatabase()
  const start = async () => {
    const store = await openStore({ databaseUrl: fresh.url, dataDir: '' })
    const status = await migrationStatus(fresh.url)
    await store.close()
    return status.applied === status.known
  }
  expect(await start()).toBe(true)
  await fresh.db.execute('drop schema sluice cascade')
  expect(await start()).toBe(true)
  await fresh.db.execute(`update sluice.migration set hash = 'edited' where position = 1`)
  await expect(start()).rejects.toMatchObject({ code: 'MIGRATION_MISMATCH' })
})

test.for([1, 5, 20])('K8: a migration that dies at statement %i leaves nothing, and the next start does all of it', async (nth) => {
  await using fresh = await testDatabase()
  await fresh.db.execute('drop schema sluice cascade')
  // A sequence counts across the rollback.
  await fresh.db.execute('create sequence public.commands')
  await fresh.db.execute(
    `create function public.die() returns event_trigger language plpgsql as
     $$ begin if nextval('public.commands') = ${nth} then perform pg_terminate_backend(pg_backend_pid()); end if; end $$`,
  )
  await fresh.db.execute('create event trigger die on ddl_command_end execute function public.die()')
  await expect(migrateDatabase(fresh.url)).rejects.toThrow(/terminat/i)
  expect(await fresh.db.query(`select from information_schema.tables where table_schema = 'sluice'`)).toEqual([])
  const status = await migrateDatabase(fresh.url)
  expect(status.applied).toBe(status.known)
})

test('a migration is repeated after a deadlock with a run of an earlier version, which keeps its locks', async () => {
  await using fresh = await testDatabase()
  await fresh.db.execute('drop schema sluice cascade')
  // Stands for two tables of an earlier version, which the run locks in another order than the migration.
  await fresh.db.execute('create table public.first ()')
  await fresh.db.execute('create table public.second ()')
  await fresh.db.execute(
    `create function public.lock_both() returns event_trigger language plpgsql as
     $$ begin lock table public.first; lock table public.second; end $$`,
  )
  await fresh.db.execute('create event trigger lock_both on ddl_command_start execute function public.lock_both()')
  const run = await fresh.db.pool.connect()
  try {
    await run.query('begin')
    await run.query('lock table public.second')
    const migrated = migrateDatabase(fresh.url)
    await expect
      .poll(() => fresh.db.query(`select from pg_locks where relation = 'public.second'::regclass and not granted`))
      .toHaveLength(1)
    // Waits longer than the migration, which Postgres therefore ends first.
    await run.query(`set deadlock_timeout = '1min'`)
    await run.query('lock table public.first')
    await run.query('commit')
    expect(await migrated).toEqual(await migrationStatus(fresh.url))
  } finally {
    run.release(true)
  }
})
