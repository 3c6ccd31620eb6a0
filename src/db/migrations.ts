/**
 * Reads the migration files of drizzle-kit, which are written for the schema `sluice`, and adapts them to the schema of this
 * environment.
 */
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { ownPath } from '../ownPackage.ts'
import { quoteName } from '../schemaName.ts'

export const migrationsFolder = ownPath('migrations')

export interface Migration {
  /** SHA-256 of the file, the same for every schema. */
  readonly hash: string
  readonly statements: readonly string[]
}

/** Returns all migrations in order, with statements for `schema`. Leaves out `create schema`, because the schema may exist. */
export function readMigrations(schema: string): readonly Migration[] {
  return readMigrationFiles({ migrationsFolder }).map(({ hash, sql }) => ({
    hash,
    statements: sql
      .map((statement) => statement.trim())
      .filter((statement) => statement !== '' && !/^CREATE SCHEMA "sluice";?$/.test(statement))
      .map((statement) => statement.replaceAll('"sluice".', `${quoteName(schema)}.`)),
  }))
}
