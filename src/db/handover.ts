/** Builds the SQL that a database administrator runs if the role of Sluice may only read and write rows. */
import { quoteName } from '../schemaName.ts'

/** Names and missing parts of a schema. */
export interface Handover {
  readonly schema: string
  readonly database: string
  /** Role that Sluice connects as. */
  readonly role: string
  /** True if the schema exists. */
  readonly hasSchema: boolean
  /** Missing migrations and their journal entries. */
  readonly statements: readonly string[]
  /** Script that creates or upgrades the tables of the queue library, with its own transaction. Undefined if the tables need no change. */
  readonly queue: string | undefined
}

/**
 * Returns a script for psql that creates the missing parts and grants the rights. The schema with its migrations, the queue, and the rights
 * are one transaction each. An upgrade of the queue may create indexes after its transaction.
 */
export function handoverScript({ schema, database, role, hasSchema, statements, queue }: Handover): string {
  const [s, to] = [quoteName(schema), quoteName(role)]
  const rights = 'select, insert, update, delete'
  const grantMaintain = `grant maintain on all tables in schema ${s} to ${to}`
  const lines = [
    `-- Sluice: schema ${schema} of database ${database}, for role ${role}.`,
    `-- Run it as the role that is to own the tables: psql -v ON_ERROR_STOP=1 -d ${quoteName(database)} -f FILE`,
    ...settings,
    'begin;',
    ...(hasSchema ? [] : [`create schema ${s};`]),
    ...statements.map(terminated),
    'commit;',
    ...(queue === undefined ? [] : ['', '-- The queue (pg-boss).', queue.trim()]),
    '',
    '-- Rights: rows only. The default privileges are for the tables of later migrations by the same owner.',
    'begin;',
    `grant temporary on database ${quoteName(database)} to ${to};`,
    `grant usage on schema ${s} to ${to};`,
    `grant ${rights} on all tables in schema ${s} to ${to};`,
    `grant usage, select on all sequences in schema ${s} to ${to};`,
    `grant execute on all functions in schema ${s} to ${to};`,
    `alter default privileges in schema ${s} grant ${rights} on tables to ${to};`,
    `alter default privileges in schema ${s} grant usage, select on sequences to ${to};`,
    '-- MAINTAIN: a run can analyze the tables that it filled. Before Postgres 17 only the owner of a table can analyze it.',
    `do $$ begin if current_setting('server_version_num')::int >= 170000 then execute '${grantMaintain.replaceAll("'", "''")}'; end if; end $$;`,
    'commit;',
  ]
  return `${lines.join('\n')}\n`
}

/** Settings for the whole script. Those of the role or the server could change texts, or end a statement. `pg_dump` writes the same. */
const settings = [
  'set standard_conforming_strings = on;',
  'set statement_timeout = 0;',
  'set lock_timeout = 0;',
  `do $$ begin if current_setting('server_version_num')::int >= 170000 then perform set_config('transaction_timeout', '0', false); end if; end $$;`,
]

const terminated = (statement: string): string => (statement.endsWith(';') ? statement : `${statement};`)
