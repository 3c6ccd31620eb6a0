import pg from 'pg'
import { RunError } from '../errors.ts'

/**
 * What a person is told when a query gives no rows, or no more after `line` of them. Postgres's own sentences may quote
 * values of rows, so only the code is kept of them, not even a cause; the query is the reader's own.
 */
export function databaseError(error: unknown, where: string, line = 0): unknown {
  if (error instanceof RunError) return error
  const cause = error instanceof pg.DatabaseError ? undefined : error
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
  // Without any password the driver fails before the server can refuse it.
  if (code.startsWith('28') || (error instanceof Error && error.message.startsWith('SASL:')))
    return new RunError('SOURCE_DENIED', `the database refused the login (${code})`, {
      where,
      mend: 'Check user and password of this source.',
      cause,
    })
  if (error instanceof Error && error.message.startsWith('Unknown authenticationOk message'))
    return new RunError('SOURCE_DENIED', 'the database wants a way to log in that is not known here, such as GSSAPI', {
      where,
      mend: 'Ask for a user of the database with a password (scram-sha-256).',
      cause,
    })
  const refused = error instanceof pg.DatabaseError ? refusal(code, line) : undefined
  if (refused !== undefined) return new RunError('SOURCE_QUERY', `${refused.what} (${code})`, { where, mend: refused.mend })
  return new RunError('SOURCE_UNAVAILABLE', `the database cannot be read${after(line)} (${code})`, {
    where,
    mend: 'Check the address and the network; then run again.',
    cause,
  })
}

/** What is wrong with the query, by its SQLSTATE; undefined where it is not the query. */
function refusal(code: string, line: number): { readonly what: string; readonly mend: string } | undefined {
  if (code.startsWith('22'))
    return {
      what: `a value breaks the query${after(line)}`,
      mend: 'Run the query by hand; let it leave out or replace what cannot be calculated or converted.',
    }
  if (code === '08P01')
    return {
      what: 'the query has not as many parameters as `parameters` gives',
      mend: 'Give one value under `source.parameters` for each of $1, $2 …',
    }
  if (code === '57014')
    return {
      what: `the database ended the query${after(line)}`,
      mend: 'A statement_timeout of the user or the database, or an administrator, ended it; raise the one or ask the other.',
    }
  if (/^(23|25|42|21|0A|54|3|P0)/.test(code))
    return {
      what: `the database refused the query${after(line)}`,
      mend: 'Run the query by hand with the same user; it must be one read-only select.',
    }
  return undefined
}

function after(line: number): string {
  return line === 0 ? '' : ` after ${line} rows`
}
