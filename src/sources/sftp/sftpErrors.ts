import { RunError } from '../../errors.ts'
import { errorCode } from '../../unknownValue.ts'
import { StalledError } from '../timeouts.ts'

/** Converts an error of the SFTP client to a RunError; returns a RunError unchanged. */
export function sftpError(error: unknown, where: string): RunError {
  if (error instanceof RunError) return error
  const code = errorCode(error) ?? ''
  const message = error instanceof Error ? error.message : ''
  if (code === 'ENOENT' || code === 'ERR_BAD_PATH' || /no such file/i.test(message))
    return new RunError('SOURCE_MISSING', 'the file does not exist', { where, hint: 'Check the path in `source.url`.', cause: error })
  if (/authentication|All configured/i.test(message) || /permission denied/i.test(message))
    return new RunError('SOURCE_DENIED', 'the server refused the login or the file', {
      where,
      hint: 'Check user, key or password, and the rights of the file.',
      cause: error,
    })
  const reason = incompatibleServer.exec(message)?.[1]
  if (reason !== undefined)
    return new RunError('SOURCE_UNAVAILABLE', `the SSH connection failed (${reason})`, {
      where,
      hint: 'Check host and port: they must be those of an SFTP server with algorithms that are still safe.',
      cause: error,
    })
  const detail = error instanceof StalledError ? message : code
  return new RunError('SOURCE_UNAVAILABLE', `the source cannot be reached${detail === '' ? '' : ` (${detail})`}`, {
    where,
    hint: 'Check the address and the network; then run again.',
    cause: error,
  })
}

/**
 * Matches errors of the client about a server that does not use SSH, or supports no algorithm of the client. The captured part contains no
 * text of the server.
 */
const incompatibleServer =
  /((?:Connection lost before handshake|Header line too long|Invalid identification string|Max greeting lines exceeded|Bad packet length|Received malformed \w+|no matching [\w -]+)).*$/i

/**
 * First bytes of servers of other protocols. Any other text is accepted, because SSH servers may send a text before their identification.
 */
const otherProtocols: readonly (readonly [firstBytes: RegExp, name: string])[] = [
  [/^(?:HTTP\/|<)/i, 'HTTP'],
  [/^[\x14-\x17]\x03/, 'TLS'],
  [/^[1-5]\d\d[ -]/, 'FTP or SMTP'],
  [/^(?:\* |\+OK)/, 'a mail protocol'],
]

/** Returns the error for a server whose first bytes are those of another protocol; undefined for any other server. */
export function otherProtocolError(firstBytes: Buffer, where: string): RunError | undefined {
  const text = firstBytes.subarray(0, 16).toString('latin1')
  const [, name] = otherProtocols.find(([pattern]) => pattern.test(text)) ?? []
  if (name === undefined) return undefined
  return new RunError('SOURCE_UNAVAILABLE', `the server uses ${name}, not SFTP`, {
    where,
    hint: 'Check host and port: they must be those of an SFTP server. The port is 22 if the address has none.',
  })
}

/**
 * Returns true if the server does not use SSH, or supports no algorithm of the client. A retry would fail too. Returns false for a
 * connection that ended before the handshake, because an overloaded SSH server may close it.
 */
export function isIncompatibleServer(error: unknown): boolean {
  return error instanceof Error && incompatibleServer.test(error.message) && !/Connection lost before handshake/i.test(error.message)
}

/** Returns true if a new connection may succeed, because the last one was lost or could not be opened. False for a RunError. */
export function isConnectionLost(error: unknown): boolean {
  return !(error instanceof RunError) && sftpError(error, '').code === 'SOURCE_UNAVAILABLE'
}

export function changedFileError(where: string, cause?: unknown): RunError {
  return new RunError('SOURCE_CHANGED', 'the file changed while it was read', {
    where,
    hint: 'Run again once the upload is finished; upload under another name and rename.',
    cause,
  })
}

export function truncatedFileError(where: string, received: number, cause: unknown): RunError {
  return new RunError('FILE_TRUNCATED', `the connection was cut after ${received} bytes`, { where, hint: 'Run again.', cause })
}
