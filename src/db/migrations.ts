/**
 * Reads the migration files of drizzle-kit, which are written for the schema `sluice`, and adapts them to the schema of this
 * environment.
 */
import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { quoteName } from '../schemaName.ts'

export const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url))

export interface Migration {
  /** SHA-256 of its file: the same in every schema. */
  readonly hash: string
  readonly statements: readonly string[]
}

/** Reads all migrations in order. Removes `create schema` from the first one, because the schema may exist. */
export function readMigrations(schema: string): readonly Migration[] {
  return readMigrationFiles({ migrationsFolder }).map(({ hash, sql }) => ({
    hash,
    statements: sql
      .map((statement) => statement.trim())
      .filter((statement) => statement !== '' && !/^CREATE SCHEMA "sluice";?$/.test(statement))
      .map((statement) => statement.replaceAll('"sluice".', `${quoteName(schema)}.`)),
  }))
}
