import pg from 'pg'
import { RunError } from '../../errors.ts'
import { errorCode } from '../../unknownValue.ts'

/**
 * Converts the error of a query that failed after `rowsRead` rows to a RunError. Returns a RunError unchanged. Messages of Postgres may
 * quote values of rows. Therefore errors of Postgres are reported only by their code, without a cause.
 */
export function databaseError(error: unknown, where: string, rowsRead = 0): RunError {
  if (error instanceof RunError) return error
  const cause = error instanceof pg.DatabaseError ? undefined : error
  const code = errorCode(error) ?? 'unknown'
  // Without a password, the driver fails (SASL) before the server can deny the login.
  if (code.startsWith('28') || (error instanceof Error && error.message.startsWith('SASL:')))
    return new RunError('SOURCE_DENIED', `the database denied the login (${code})`, {
      where,
      hint: 'Check user and password of this source.',
      cause,
    })
  if (error instanceof Error && error.message.startsWith('Unknown authenticationOk message'))
    return new RunError('SOURCE_DENIED', 'the database requires an unsupported authentication method, such as GSSAPI', {
      where,
      hint: 'Use a database user with a password (scram-sha-256).',
      cause,
    })
  if (error instanceof pg.DatabaseError) {
    if (code === '3D000')
      return new RunError('SOURCE_MISSING', `the server has no database of this name (${code})`, {
        where,
        hint: 'Correct the name of the database in the address of this source.',
      })
    const fault = queryFault(error, code, rowsRead)
    if (fault !== undefined) return new RunError('SOURCE_QUERY', `${fault.message} (${code})`, { where, hint: fault.hint })
  }
  return new RunError('SOURCE_UNAVAILABLE', `the database cannot be read${afterRows(rowsRead)} (${code})`, {
    where,
    hint: serverHints[code] ?? 'Check the address and the network; then run again.',
    cause,
  })
}

/** Hints for errors of a server that can be reached, by SQLSTATE. */
const serverHints: Readonly<Record<string, string>> = {
  '53300': 'Close other sessions, or raise max_connections of the server or the connection limit of the user; then run again.',
  '57P03': 'The server starts or stops; run again in a minute.',
  '40001':
    'A replica ended the query, because it conflicted with changes of the primary: run again, raise max_standby_streaming_delay of the replica, or read the primary.',
  // PgBouncer has this code for its own errors, such as a full pool or a failed login at the server.
  '08P01': 'A pooler such as PgBouncer ended the connection: its log has the reason.',
}

/** Describes the error of the query by its SQLSTATE; undefined if the query is not the cause. */
function queryFault(
  { routine }: pg.DatabaseError,
  code: string,
  rowsRead: number,
): { readonly message: string; readonly hint: string } | undefined {
  if (code.startsWith('22'))
    return {
      message: `a value breaks the query${afterRows(rowsRead)}`,
      hint: 'Run the query by hand; exclude or replace values that cannot be computed or converted.',
    }
  // The routine is compared, because the message may be translated.
  if (code === '08P01' && routine === 'exec_bind_message')
    return {
      message: 'the number of parameters in the query differs from `parameters`',
      hint: 'Give one value under `source.parameters` for each of $1, $2 …',
    }
  const endedBy = endingSettings[code]
  if (endedBy !== undefined)
    return {
      message: `the database ended the query${afterRows(rowsRead)}`,
      hint: `${endedBy} ended it: raise the timeout or ask the administrator.`,
    }
  // Classes of SQLSTATE, in this order: integrity, transaction state, syntax or access, cardinality, unsupported feature, program limit,
  // names and external routines, PL/pgSQL.
  if (/^(23|25|42|21|0A|54|3|P0)/.test(code))
    return {
      message: `the database rejected the query${afterRows(rowsRead)}`,
      hint: 'Run the query by hand with the same user; it must be one read-only select.',
    }
  return undefined
}

/** Settings that end a query, by SQLSTATE; each as the subject of a hint. */
const endingSettings: Readonly<Record<string, string>> = {
  '57014': 'A statement_timeout of the user or the database, or an administrator,',
  '25P03': 'The idle_in_transaction_session_timeout of the user or the database',
  '25P04': 'The transaction_timeout of the user or the database',
}

function afterRows(rowsRead: number): string {
  return rowsRead === 0 ? '' : ` after ${rowsRead} ${rowsRead === 1 ? 'row' : 'rows'}`
}
