/**
 * Classifies errors of connections to Postgres, and of statements that the server could not run. Each cause of a failed connection (host,
 * port, login, database, TLS, full server) has its own hint.
 */
import { RunError } from '../errors.ts'
import { quoteArgument } from '../format.ts'
import type { ErrorCode } from '../model/errorCodes.ts'
import { quoteName } from '../schemaName.ts'
import { recordOf } from '../unknownValue.ts'

/** Maximum time in milliseconds to open a connection outside of a pool, such as the first connection of a command. */
export const commandConnectMs = 15_000

/** Returns the address without its password, for messages; `DATABASE_URL` if it is not an address. */
export function safeUrl(url: string): string {
  try {
    const parsed = new URL(url)
    parsed.password = ''
    parsed.searchParams.delete('password')
    return parsed.href
  } catch {
    return 'DATABASE_URL'
  }
}

/**
 * Returns the error for a failed connection. `url`: address of the database. Undefined for a connection that was lost later; its address is
 * taken from `error`.
 *
 * No hint leads to another database, because the configured database has the synced state. With an empty database, all records would be
 * created again.
 */
export function connectionFault(error: unknown, url: string | undefined): RunError {
  const address = url === undefined ? addressPartsOfError(error) : addressPartsOf(url)
  const { code, message } = factsOf(error)
  const where = url === undefined ? address.host : safeUrl(url)
  const failed = (errorCode: ErrorCode, text: string, hint: string) => new RunError(errorCode, text, { where, hint, cause: error })

  if (code === '28P01' || code === '28000')
    return failed(
      'DATABASE_LOGIN_REFUSED',
      message.includes('pg_hba.conf')
        ? `the database server does not allow this login: ${message}`
        : `the database server refused the login of role "${address.role}": ${code === '28P01' ? 'wrong password' : message}`,
      'correct role and password in DATABASE_URL, then sluice doctor',
    )
  if (code === '3D000')
    return failed(
      'DATABASE_MISSING',
      `the server ${address.host} has no database "${address.database}"`,
      `correct the name in DATABASE_URL, or create it: psql -h ${address.hostname} -p ${address.port} -d postgres -c ${quoteArgument(`create database ${quoteName(address.database)}`)}`,
    )
  if (code === '42501')
    return failed(
      'DATABASE_LOGIN_REFUSED',
      `role "${address.role}" may not connect to database "${address.database}": ${message}`,
      `grant connect on database ${quoteName(address.database)} to ${quoteName(address.role)}`,
    )
  if (code === '53300')
    return failed(
      'DATABASE_UNREACHABLE',
      `the database server has no connection left: ${message}`,
      'close other sessions, or raise max_connections of the server (alter role … connection limit N for the role)',
    )
  if (code === '57P03')
    return failed('DATABASE_UNREACHABLE', `the database server is starting or stopping: ${message}`, 'try again in a minute')
  if (isTlsFault(code, message))
    return failed(
      'DATABASE_TLS_FAILED',
      `TLS with the database server ${address.host} failed: ${message}`,
      code === 'NO_TLS'
        ? 'remove sslmode from DATABASE_URL, or turn TLS on at the server'
        : 'name the certificate of the CA: add sslrootcert=/path/ca.pem to DATABASE_URL, or set NODE_EXTRA_CA_CERTS=/path/ca.pem',
    )
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return failed(
      'DATABASE_UNREACHABLE',
      `the host name of the database, ${address.hostname}, cannot be resolved`,
      'correct the host in DATABASE_URL',
    )
  if (code === 'ECONNREFUSED')
    return failed(
      'DATABASE_UNREACHABLE',
      `no database server listens on ${address.host}`,
      url === undefined
        ? 'if DATABASE_URL is set, start its server; if not, run the same command again, which starts the embedded Postgres'
        : `start it, or correct host and port in DATABASE_URL: pg_isready -h ${address.hostname} -p ${address.port}`,
    )
  return failed(
    'DATABASE_UNREACHABLE',
    `the database server ${address.host} does not answer: ${message}`,
    `check the network and the firewall: pg_isready -h ${address.hostname} -p ${address.port}`,
  )
}

/**
 * Returns true for errors of opening a connection: login, database, full or starting server, network, TLS. A statement on an open
 * connection causes none of them. SQLSTATE 53400 is left out, because Postgres also reports it for `temp_file_limit`.
 */
export function isConnectionFault(error: unknown): boolean {
  // The message of a `RunError` may contain the word that identifies a TLS error, but its cause is already classified.
  if (error instanceof RunError) return false
  const { code, message } = factsOf(error)
  return /^(?:28...|3D000|53300|57P03|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH)$/.test(code) || isTlsFault(code, message)
}

/**
 * Returns true if a connection was lost, or was not opened in time. It may be lost during a statement or between two, for example because
 * the server was restarted. The driver sets no code for these errors.
 */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof Error && /^Connection terminated|^Client has encountered a connection error|^timeout expired$/.test(error.message)
}

/** Codes of the operating system and of DNS for a host that cannot be reached now. */
const networkCodes: ReadonlySet<string> = new Set([
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETRESET',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
])

/** Returns true if the database cannot be used now, but may be later, for example because the server restarts. */
export function isDatabaseDown(error: unknown): boolean {
  return isConnectionLost(error) || /^(?:53300|57P0[123]|08...)$/.test(factsOf(error).code) || networkCodes.has(factsOf(error).code)
}

/** Returns the error for a full disk of the database (53100); undefined for any other error. */
export function diskFault(error: unknown): RunError | undefined {
  if (factsOf(error).code !== '53100') return undefined
  return new RunError('DISK_FULL', 'the disk of the database is full; what was confirmed is kept', {
    where: 'database',
    hint: 'free space on the disk of the database, then the same command again; sluice doctor shows what is free for the embedded one',
    cause: error,
  })
}

/** Causes of failed statements that `sluice doctor` cannot find afterwards, by SQLSTATE: reason and next step. */
const causes: Readonly<Record<string, readonly [reason: string, hint?: string]>> = {
  // PgBouncer has this code for its own errors, such as `query_wait_timeout`.
  '08P01': ['a pooler ended the connection, for example because its pool is full'],
  '25006': ['it is read-only, for example after a failover', 'point DATABASE_URL at the primary, then the same command again'],
  '53200': ['the server has no memory left', 'give the server more memory, then the same command again'],
  '53400': [
    'a limit of the server was exceeded, such as temp_file_limit',
    'raise temp_file_limit for the role, then the same command again',
  ],
  '57P01': ['the server closed the connection, for example for a restart'],
  '57014': ['the server cancelled a statement', 'ask who cancels statements of this role (pg_cancel_backend), then the same command again'],
}

/**
 * Returns the error for a statement that failed in the database: `DISK_FULL` or `DATABASE_FAILED`. Its message has the code but no text of
 * Postgres, because such a text may contain personal data (docs/guarantees.md#no-raw-identifier-at-rest).
 */
export function statementFault(error: unknown): RunError {
  const diskError = diskFault(error)
  if (diskError !== undefined) return diskError
  const code = isConnectionLost(error) ? 'connection lost' : factsOf(error).code
  const [reason, hint = 'sluice doctor'] = causes[code] ?? []
  const text = reason === undefined ? `the database failed (${code})` : `the database failed (${code}): ${reason}`
  return new RunError('DATABASE_FAILED', `${text}; what was confirmed is kept`, { where: 'database', hint, cause: error })
}

interface AddressParts {
  /** Host and port. `DATABASE_URL` if the address is unknown. */
  readonly host: string
  readonly hostname: string
  readonly port: string
  readonly database: string
  readonly role: string
}

function addressPartsOf(url: string): AddressParts {
  try {
    const { hostname, port, pathname, username } = new URL(url)
    const name = hostname === '' ? 'localhost' : hostname
    const number = port === '' ? '5432' : port
    return {
      host: `${name}:${number}`,
      hostname: name,
      port: number,
      database: decodeURIComponent(pathname.slice(1)),
      role: decodeURIComponent(username),
    }
  } catch {
    return { host: 'DATABASE_URL', hostname: 'localhost', port: '5432', database: '', role: '' }
  }
}

/** Returns the address that the error of a failed connection names; the placeholders of `addressPartsOf` if it names none. */
function addressPartsOfError(error: unknown): AddressParts {
  const { address, hostname, port } = recordOf(firstErrorOf(error))
  const name = typeof address === 'string' ? address : typeof hostname === 'string' ? hostname : undefined
  if (name === undefined) return addressPartsOf('')
  return addressPartsOf(`postgres://${name.includes(':') ? `[${name}]` : name}${typeof port === 'number' ? `:${port}` : ''}`)
}

/** Returns the first error if several addresses were tried, else the error itself. */
function firstErrorOf(error: unknown): unknown {
  return error instanceof AggregateError ? error.errors[0] : error
}

function factsOf(error: unknown): { readonly code: string; readonly message: string } {
  const first = firstErrorOf(error)
  const { code, message } = recordOf(first)
  const text = typeof message === 'string' ? message : String(first)
  // The driver sets no code for this error.
  if (text.includes('does not support SSL')) return { code: 'NO_TLS', message: 'the server does not offer TLS' }
  return { code: typeof code === 'string' ? code : '', message: text }
}

/** Returns true for errors of TLS. Either TLS is not offered, or the certificate is not trusted, not valid, or of another host. */
function isTlsFault(code: string, message: string): boolean {
  return (
    code === 'NO_TLS' ||
    code.startsWith('ERR_TLS_') ||
    code.startsWith('ERR_SSL_') ||
    code.startsWith('CERT_') ||
    /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_[A-Z_]+|HOSTNAME_MISMATCH)$/.test(code) ||
    message.includes('certificate')
  )
}
