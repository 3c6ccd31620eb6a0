/** The migrations as they are applied: the files of drizzle-kit, written for the schema `sluice`, in the schema of this environment. */
import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { quoteName } from '../schemaName.ts'

export const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url))

export interface Migration {
  /** SHA-256 of its file: the same in every schema. */
  readonly hash: string
  readonly statements: readonly string[]
}

/** Reads all migrations in their order. The first one's `create schema` is left out: the schema may be there already. */
export function readMigrations(schema: string): readonly Migration[] {
  return readMigrationFiles({ migrationsFolder }).map(({ hash, sql }) => ({
    hash,
    statements: sql
      .map((statement) => statement.trim())
      .filter((statement) => statement !== '' && !/^CREATE SCHEMA "sluice";?$/.test(statement))
      .map((statement) => statement.replaceAll('"sluice".', `${quoteName(schema)}.`)),
  }))
}
