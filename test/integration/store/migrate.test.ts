import { expect, test } from 'vitest'
import { migrateDatabase, migrationStatus } from '../../../src/store/migrate.ts'
import { testDatabase } from '../../support/postgres.ts'

test('six starts at once migrate an empty database without an error', async () => {
  await using fresh = await testDatabase()
  await fresh.db.execute('drop schema sluice cascade')
  await fresh.db.execute('drop schema drizzle cascade')
  const results = await Promise.all(Array.from({ length: 6 }, () => migrateDatabase(fresh.url)))
  expect(new Set(results.map(({ applied }) => applied)).size).toBe(1)
  const status = await migrationStatus(fresh.url)
  expect(status.applied).toBe(status.known)
  expect(status.known).toBeGreaterThan(0)
})

test('a database that was migrated by an edited file is refused by name', async () => {
  await using fresh = await testDatabase()
  await fresh.db.execute(`update drizzle.__drizzle_migrations set hash = 'edited' where id = 1`)
  await expect(migrateDatabase(fresh.url)).rejects.toMatchObject({ code: 'MIGRATION_MISMATCH' })
})
