import { RunError } from '../../errors.ts'
import { bareCause } from '../bareCause.ts'
import { errorCode } from '../../unknownValue.ts'

/** Builds errors without the query of an address, because a query often has a secret key. */

/** Returns the error of a status. `waitMs`: wait that the response requests, if it is too long for this run. */
export function statusError(status: number, where: string, waitMs?: number): RunError {
  if (waitMs !== undefined)
    return new RunError('SOURCE_UNAVAILABLE', `the server answered ${status} and requires a wait of ${waitInWords(waitMs)}`, {
      where,
      hint: 'Run again after this time; schedule the pipeline less often if it repeats.',
    })
  if (status === 401 || status === 403)
    return new RunError('SOURCE_DENIED', `the server answered ${status}`, { where, hint: 'Check the credentials of this source.' })
  if (status === 404 || status === 410)
    return new RunError('SOURCE_MISSING', `the server answered ${status}`, { where, hint: 'Check the address in `source.url`.' })
  return new RunError('SOURCE_UNAVAILABLE', `the server answered ${status}`, {
    where,
    hint: 'Try again later; if it repeats, contact the owner of the feed.',
  })
}

function waitInWords(ms: number): string {
  return ms > dayMs ? 'longer than a day' : `${Math.ceil(ms / 60_000)} minutes`
}

const dayMs = 86_400_000

export function codingError(coding: string, where: string): RunError {
  return new RunError(
    'SOURCE_REFUSED',
    `the server compressed its response as ${JSON.stringify(coding.slice(0, 20))}, which is not supported`,
    {
      where,
      hint: 'Ask the owner of the feed to send it uncompressed, or as gzip or zstd.',
    },
  )
}

/** Codes of certificate errors of OpenSSL and Node. */
const certificateCode = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_)/

/** Returns the error of a request without a readable response. */
export function unavailableError(error: unknown, where: string): RunError {
  const code = errorCode(error) ?? ''
  if (isCertificateError(error))
    return new RunError('SOURCE_UNAVAILABLE', `the certificate of the server cannot be trusted (${code})`, {
      where,
      hint: 'Have it renewed or issued for this host; or set NODE_EXTRA_CA_CERTS to your own certificate authority.',
      cause: bareCause(error),
    })
  if (isBrokenHttp(error))
    return new RunError(
      'SOURCE_UNAVAILABLE',
      `the answer of the server breaks the rules of HTTP (${code === '' ? reasonOf(error) : code})`,
      {
        where,
        hint: 'Check that the address leads to a web server; if it does, contact its operator.',
        cause: bareCause(error),
      },
    )
  return new RunError('SOURCE_UNAVAILABLE', `the source cannot be reached${code === '' ? '' : ` (${code})`}`, {
    where,
    hint: 'Check the address and the network; then run again.',
    cause: bareCause(error),
  })
}

/** Returns the reason that undici's parser gives. The reason contains no part of the response. */
function reasonOf(error: unknown): string {
  return (error instanceof Error && /\(([^()]+)\)$/.exec(error.message)?.[1]) || 'no head'
}

/** Returns true for undici's errors about unreadable responses. ERR_ASSERTION is thrown for a status below 100. */
function isBrokenHttp(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    error.name === 'HTTPParserError' ||
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'UND_ERR_HEADERS_OVERFLOW', 'ERR_ASSERTION'].includes(errorCode(error) ?? '')
  )
}

/**
 * Returns true if a connection ended because the server sent more bytes than it declared. Only undici's messages (8.12) show this, and not
 * if the server sends `Connection: close`.
 */
export function hasExtraBytes(error: unknown): boolean {
  return error instanceof Error && (error.name === 'HTTPParserError' || error.message === 'bad response')
}

/** Returns true for a certificate that cannot be trusted. A retry does not change such an error. */
export function isCertificateError(error: unknown): boolean {
  return certificateCode.test(errorCode(error) ?? '')
}

/** Returns the RunError of the address lookup; undefined if there is none. The client wraps it as a cause of its own error. */
export function findRunError(error: unknown): RunError | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (at instanceof RunError) return at
  return undefined
}
