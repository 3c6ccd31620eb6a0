import { RunError } from '../errors.ts'

/** What a person is told when a file does not come over SFTP. */
export function sftpError(error: unknown, where: string): RunError {
  if (error instanceof RunError) return error
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  const message = error instanceof Error ? error.message : ''
  if (code === 'ENOENT' || code === 'ERR_BAD_PATH' || /no such file/i.test(message))
    return new RunError('SOURCE_MISSING', 'the file does not exist', { where, mend: 'Check the path in `source.url`.', cause: error })
  if (/authentication|All configured/i.test(message) || /permission denied/i.test(message))
    return new RunError('SOURCE_DENIED', 'the server refused the login or the file', {
      where,
      mend: 'Check user, key or password, and the rights of the file.',
      cause: error,
    })
  return new RunError('SOURCE_UNAVAILABLE', `the source cannot be reached${code === '' ? '' : ` (${code})`}`, {
    where,
    mend: 'Check the address and the network; then run again.',
    cause: error,
  })
}

/** Whether another connection may bring what this one did not. */
export function isLost(error: unknown): boolean {
  return !(error instanceof RunError) && sftpError(error, '').code === 'SOURCE_UNAVAILABLE'
}

export function changedFile(where: string, cause?: unknown): RunError {
  return new RunError('SOURCE_CHANGED', 'the file changed while it was read', {
    where,
    mend: 'Run again once the upload is finished; upload under another name and rename.',
    cause,
  })
}

export function cutFile(where: string, received: number, cause: unknown): RunError {
  return new RunError('FILE_TRUNCATED', `the connection was cut after ${received} bytes`, { where, mend: 'Run again.', cause })
}
