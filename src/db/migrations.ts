/**
 * Reads the migration files of drizzle-kit, which are written for the schema `sluice`, and adapts them to the schema of this
 * environment.
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { quoteName } from '../schemaName.ts'

export const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url))

/** One migration file. */
export interface Migration {
  /** SHA-256 of the file, the same for every schema. */
  readonly hash: string
  readonly statements: readonly string[]
}

/**
 * Reads all migrations in order, without `create schema`, because the schema may exist. Not by drizzle's function, which takes 14 ms to load,
 * because each command reads the migrations when it starts.
 */
export function readMigrations(schema: string): readonly Migration[] {
  const journal = JSON.parse(readFileSync(join(migrationsFolder, 'meta', '_journal.json'), 'utf8')) as {
    readonly entries: readonly { readonly tag: string }[]
  }
  return journal.entries.map(({ tag }) => {
    const text = readFileSync(join(migrationsFolder, `${tag}.sql`), 'utf8')
    return { hash: hash('sha256', text), statements: statementsOf(text, schema) }
  })
}

function statementsOf(text: string, schema: string): readonly string[] {
  return text
    .split('--> statement-breakpoint')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '' && !/^CREATE SCHEMA "sluice";?$/.test(statement))
    .map((statement) => statement.replaceAll('"sluice".', `${quoteName(schema)}.`))
}
