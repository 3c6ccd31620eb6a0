/** The name of the schema that holds everything: tables, migration journal and queue. */
export const defaultSchema = 'sluice'

/** Returns what is wrong with a name, or undefined. The queue's library takes unquoted names only. */
export function schemaNameFault(name: string): string | undefined {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name))
    return 'is not a schema name: lower-case letters, digits and _, not a digit first, 63 characters at most'
  if (name.startsWith('pg_')) return 'begins with pg_, which Postgres keeps for itself'
  if (name === 'public' || name === 'information_schema' || name === 'drizzle')
    return `is not for Sluice alone: ${name} belongs to others too`
  return undefined
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
