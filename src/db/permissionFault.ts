/** Describes errors of Postgres about missing rights, a connection limit or a read-only database, with the next step. */
import { RunError } from '../errors.ts'
import { quoteName } from '../schemaName.ts'
import { errorCode } from '../unknownValue.ts'

/**
 * Returns `DATABASE_UNUSABLE` for a missing right, a connection limit or a read-only database; undefined for any other error. Messages
 * contain names, never values.
 */
export function permissionFault(error: unknown, database: { readonly schema: string; readonly url: string }): RunError | undefined {
  const code = errorCode(error)
  const message = error instanceof Error ? error.message : ''
  const { role, name } = namesOf(database.url)
  const schema = quoteName(database.schema)
  const fault = (text: string, hint: string) => new RunError('DATABASE_UNUSABLE', text, { where: 'database', hint, cause: error })
  const handover = `or let its owner run: sluice db migrate --sql`

  if (code === '42501') {
    if (message.includes('temporary'))
      return fault(
        `role ${role} may not create temporary tables, which every run needs: ${message}`,
        `grant temporary on database ${name} to ${role}`,
      )
    if (message.includes('for database'))
      return fault(`role ${role} may not create schema ${schema}: ${message}`, `grant create on database ${name} to ${role}; ${handover}`)
    if (message.includes('for schema'))
      return fault(
        `role ${role} has too few rights on schema ${schema}: ${message}`,
        `grant usage, create on schema ${schema} to ${role}; ${handover}`,
      )
    if (message.startsWith('must be owner'))
      return fault(
        `role ${role} may not change the tables of schema ${schema}: ${message}`,
        `sluice db migrate --sql   (for their owner to run)`,
      )
    return fault(`role ${role} has too few rights: ${message}`, rowRights(schema, role))
  }
  if (code === '53300')
    return fault(
      `role ${role} or the server has no connection left: ${message}`,
      `alter role ${role} connection limit 30; or raise max_connections of the server`,
    )
  if (code === '25006')
    return fault(`the database is read-only: ${message}`, 'point DATABASE_URL at the primary, and at a role that may write')
  return undefined
}

/** Returns the statements that grant the rights on rows and sequences. `schema`: quoted name. `role`: quoted name, or a description. */
export function rowRights(schema: string, role: string): string {
  return `grant select, insert, update, delete on all tables in schema ${schema} to ${role}; grant usage, select on all sequences in schema ${schema} to ${role}`
}

function namesOf(url: string): { readonly role: string; readonly name: string } {
  try {
    const { username, pathname } = new URL(url)
    return {
      role: username === '' ? 'ROLE' : quoteName(decodeURIComponent(username)),
      name: pathname.length < 2 ? 'NAME' : quoteName(decodeURIComponent(pathname.slice(1))),
    }
  } catch {
    return { role: 'ROLE', name: 'NAME' }
  }
}
