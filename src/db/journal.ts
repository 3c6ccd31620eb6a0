/**
 * Reads the migration journal, and builds the statements that write it. The journal is the table `migration` in each schema, with the
 * migrations that were applied to this schema.
 *
 * Earlier versions used drizzle's default journal, which all applications of a database share. The rows of Sluice are moved from that
 * journal, by hash.
 */
import type pg from 'pg'
import type { Migration } from './migrations.ts'
import { defaultSchema, quoteName } from '../schemaName.ts'

/** Drizzle's default journal. */
const sharedJournal = 'drizzle.__drizzle_migrations'

/** Applied migrations of a schema. */
export interface Journal {
  /** Hashes in the order in which they were applied. */
  readonly hashes: readonly string[]
  /** True if the hashes are in the shared journal. */
  readonly isShared: boolean
}

/** Returns the applied migrations of a schema. Changes nothing. */
export async function readJournal(client: pg.ClientBase, schema: string, migrations: readonly Migration[]): Promise<Journal> {
  const table = `${quoteName(schema)}.migration`
  if (await exists(client, table)) {
    const { rows } = await client.query<{ hash: string }>(`select hash from ${table} order by position`)
    return { hashes: rows.map(({ hash }) => hash), isShared: false }
  }
  // Earlier versions had only the default schema.
  if (schema !== defaultSchema || !(await exists(client, `${quoteName(schema)}.destination`)) || !(await exists(client, sharedJournal)))
    return { hashes: [], isShared: false }
  const { rows } = await client.query<{ hash: string }>(`select hash from ${sharedJournal} where hash = any($1) order by id`, [
    migrations.map(({ hash }) => hash),
  ])
  return { hashes: rows.map(({ hash }) => hash), isShared: true }
}

/** Returns the statements that create the journal of a schema, and move the rows of Sluice from the shared journal. */
export function journalStatements(schema: string, journal: Journal): readonly string[] {
  return [
    `create table if not exists ${quoteName(schema)}.migration (position integer primary key, hash text not null unique, applied_at timestamptz not null default statement_timestamp())`,
    ...(journal.isShared ? journal.hashes.map((hash, i) => entryStatement(schema, i + 1, hash)) : []),
    // Drizzle compares only the newest entry. So with these entries in the shared journal, it would skip older migrations of another
    // application.
    ...(journal.isShared && journal.hashes.length > 0
      ? [`delete from ${sharedJournal} where hash in (${journal.hashes.map((hash) => `'${hash}'`).join(', ')})`]
      : []),
  ]
}

/** Returns the statement that adds an applied migration to the journal. `position`: its number, from 1. */
export function entryStatement(schema: string, position: number, hash: string): string {
  return `insert into ${quoteName(schema)}.migration (position, hash) values (${position}, '${hash}')`
}

async function exists(client: pg.ClientBase, table: string): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>('select to_regclass($1) is not null as found', [table])
  return rows[0]?.found === true
}
