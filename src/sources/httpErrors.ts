import { RunError } from '../errors.ts'
import { bareCause } from './bareCause.ts'

/** What a person is told when a feed does not come. Never the query of an address, which often holds a key. */

export function statusError(status: number, where: string, waitMs?: number): RunError {
  if (waitMs !== undefined)
    return new RunError('SOURCE_UNAVAILABLE', `the server answered ${status} and asks to wait ${waitInWords(waitMs)}`, {
      where,
      mend: 'Run again after that; schedule the pipeline less often if it repeats.',
    })
  if (status === 401 || status === 403)
    return new RunError('SOURCE_DENIED', `the server answered ${status}`, { where, mend: 'Check the credentials of this source.' })
  if (status === 404 || status === 410)
    return new RunError('SOURCE_MISSING', `the server answered ${status}`, { where, mend: 'Check the address in `source.url`.' })
  return new RunError('SOURCE_UNAVAILABLE', `the server answered ${status}`, {
    where,
    mend: 'Try again later; if it stays, ask whoever serves the feed.',
  })
}

function waitInWords(ms: number): string {
  return ms > dayMs ? 'longer than a day' : `${Math.ceil(ms / 60_000)} minutes`
}

const dayMs = 86_400_000

export function codingError(coding: string, where: string): RunError {
  return new RunError(
    'SOURCE_REFUSED',
    `the server packs its answer as ${JSON.stringify(coding.slice(0, 20))}, though it was asked not to`,
    {
      where,
      mend: 'Ask whoever serves the feed to send it as it is, or as gzip or zstd.',
    },
  )
}

/** What OpenSSL and Node say of a certificate; no second try changes it. */
const badCertificate = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_)/

export function unavailable(error: unknown, where: string): RunError {
  const code = codeOf(error)
  if (badCertificate.test(code))
    return new RunError('SOURCE_UNAVAILABLE', `the certificate of the server cannot be trusted (${code})`, {
      where,
      mend: 'Have it renewed or issued for this host; name an authority of your own in NODE_EXTRA_CA_CERTS.',
      cause: bareCause(error),
    })
  if (isBrokenHttp(error))
    return new RunError(
      'SOURCE_UNAVAILABLE',
      `the answer of the server breaks the rules of HTTP (${code === '' ? reasonOf(error) : code})`,
      {
        where,
        mend: 'Check that the address leads to a web server; if it does, ask whoever runs it.',
        cause: bareCause(error),
      },
    )
  return new RunError('SOURCE_UNAVAILABLE', `the source cannot be reached${code === '' ? '' : ` (${code})`}`, {
    where,
    mend: 'Check the address and the network; then run again.',
    cause: bareCause(error),
  })
}

/** The parser's own reason: words of its own, none of the answer's. */
function reasonOf(error: unknown): string {
  return (error instanceof Error && /\(([^()]+)\)$/.exec(error.message)?.[1]) || 'no head'
}

/** What undici calls an answer that it cannot read; the last is what it throws for a status below 100. */
function isBrokenHttp(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    error.name === 'HTTPParserError' ||
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'UND_ERR_HEADERS_OVERFLOW', 'ERR_ASSERTION'].includes(codeOf(error))
  )
}

/**
 * Whether a connection ended because more came than the answer had announced. Known by undici's words only (8.12); a
 * server that says `Connection: close` is not listened to any longer, and cannot be told.
 */
export function saysMore(error: unknown): boolean {
  return error instanceof Error && (error.name === 'HTTPParserError' || error.message === 'bad response')
}

/** Whether a second try could not change it. */
export function isFinal(error: unknown): boolean {
  return badCertificate.test(codeOf(error))
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** The lookup's refusal comes wrapped by the client. */
export function findRunError(error: unknown): RunError | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (at instanceof RunError) return at
  return undefined
}
