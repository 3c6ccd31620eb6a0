import { RunError } from '../errors.ts'

/** What a person is told when a feed does not come. Never the query of an address, which often holds a key. */

export function statusError(status: number, where: string, waitMs?: number): RunError {
  if (waitMs !== undefined)
    return new RunError('SOURCE_UNAVAILABLE', `the server answered ${status} and asks to wait ${Math.ceil(waitMs / 60_000)} minutes`, {
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
      cause: error,
    })
  return new RunError('SOURCE_UNAVAILABLE', `the source cannot be reached${code === '' ? '' : ` (${code})`}`, {
    where,
    mend: 'Check the address and the network; then run again.',
    cause: error,
  })
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
