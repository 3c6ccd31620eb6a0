import pg from 'pg'
import { RunError } from '../../errors.ts'
import { errorCode } from '../../unknownValue.ts'

/**
 * Converts the error of a query that failed after `line` rows to a RunError; returns a RunError unchanged. Messages of Postgres may quote
 * values of rows, so its errors are reported by their code only, without a cause.
 */
export function databaseError(error: unknown, where: string, line = 0): unknown {
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
  const fault = error instanceof pg.DatabaseError ? queryFault(code, line) : undefined
  if (fault !== undefined) return new RunError('SOURCE_QUERY', `${fault.what} (${code})`, { where, hint: fault.hint })
  return new RunError('SOURCE_UNAVAILABLE', `the database cannot be read${after(line)} (${code})`, {
    where,
    hint: 'Check the address and the network; then run again.',
    cause,
  })
}

/** Describes the error of the query by its SQLSTATE; undefined if the query is not the cause. */
function queryFault(code: string, line: number): { readonly what: string; readonly hint: string } | undefined {
  if (code.startsWith('22'))
    return {
      what: `a value breaks the query${after(line)}`,
      hint: 'Run the query by hand; exclude or replace values that cannot be computed or converted.',
    }
  if (code === '08P01')
    return {
      what: 'the number of parameters in the query differs from `parameters`',
      hint: 'Give one value under `source.parameters` for each of $1, $2 …',
    }
  if (code === '57014')
    return {
      what: `the database ended the query${after(line)}`,
      hint: 'A statement_timeout of the user or the database, or an administrator, ended it: raise the timeout or ask the administrator.',
    }
  if (/^(23|25|42|21|0A|54|3|P0)/.test(code))
    return {
      what: `the database rejected the query${after(line)}`,
      hint: 'Run the query by hand with the same user; it must be one read-only select.',
    }
  return undefined
}

function after(line: number): string {
  return line === 0 ? '' : ` after ${line} ${line === 1 ? 'row' : 'rows'}`
}
