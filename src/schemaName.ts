/** Default name of the schema of all tables, migration journal and queue included. */
export const defaultSchema = 'sluice'

/** Returns the fault of a schema name, as the end of a sentence; undefined for a valid name. pg-boss supports only names without quotes. */
export function schemaNameFault(name: string): string | undefined {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name))
    return 'is not a valid schema name: lower-case letters, digits and _, not a digit first, 63 characters at most'
  if (name.startsWith('pg_')) return 'begins with pg_, which Postgres reserves'
  if (name === 'public' || name === 'information_schema' || name === 'drizzle')
    return `is not for Sluice alone: other programs use ${name} too`
  return undefined
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
