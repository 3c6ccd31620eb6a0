import { RunError } from '../../errors.ts'
import { bareCause } from '../bareCause.ts'
import { findRunError } from '../http/httpErrors.ts'
import type { ErrorCode } from '../../model/errorCodes.ts'
import { errorCode } from '../../unknownValue.ts'
import { StalledError } from '../timeouts.ts'

/** Error codes of the S3 API, each with our code, message and hint. */
const knownErrors: Readonly<Record<string, readonly [code: ErrorCode, message: string, hint: string]>> = {
  RequestTimeTooSkewed: ['SOURCE_DENIED', 'the clock of this machine differs from that of the store', 'Set the clock of this machine.'],
  InvalidObjectState: [
    'SOURCE_UNAVAILABLE',
    'the object is in an archive',
    'Restore it in the store, or read an object of another storage class.',
  ],
  PermanentRedirect: ['SOURCE_UNAVAILABLE', 'the bucket is in another region', 'Add `?region=…` to the address, or set AWS_REGION.'],
  AuthorizationHeaderMalformed: [
    'SOURCE_UNAVAILABLE',
    'the bucket is in another region',
    'Add `?region=…` to the address, or set AWS_REGION.',
  ],
  ExpiredToken: ['SOURCE_DENIED', 'the session token has expired', 'Get new credentials for this source.'],
  InvalidToken: ['SOURCE_DENIED', 'the session token is not valid', 'Get new credentials for this source.'],
}

/**
 * Converts an error of the S3 client to a RunError. The message has only the error code of the store. Some stores quote the request in
 * their messages, with its session token.
 */
export function s3Error(error: unknown, where: string): RunError {
  const rejection = findRunError(error)
  if (rejection !== undefined) return rejection
  const status = statusOf(error)
  const cause = storeCause(error)
  const storeCode = storeCodeOf(error)
  const [code, message, hint] = knownErrors[storeCode] ?? []
  if (code !== undefined && status !== undefined && status >= 300)
    return new RunError(code, `${message} (${storeCode})`, { where, hint: hint ?? '', cause })
  if (status === 404)
    return new RunError('SOURCE_MISSING', 'the store has no such bucket or object', {
      where,
      hint: 'Check bucket and key in `source.url`.',
      cause,
    })
  if (status === 401 || status === 403)
    return new RunError('SOURCE_DENIED', `the store answered ${status} (${storeCode})`, {
      where,
      hint: 'Check the credentials of this source and what they may read.',
      cause,
    })
  if (storeCode === 'CredentialsProviderError')
    return new RunError('SOURCE_CREDENTIALS', 'no credentials for the store were found', {
      where,
      hint: 'Name `access_key_id` and `secret_access_key` under `source.credentials`, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
      cause,
    })
  if (status !== undefined)
    return new RunError('SOURCE_UNAVAILABLE', `the store answered ${status} (${storeCode})`, {
      where,
      hint: 'Check endpoint, region and key; if they are right, try again later, or contact the operator of the store.',
      cause,
    })
  return new RunError('SOURCE_UNAVAILABLE', `the store cannot be reached (${error instanceof StalledError ? error.message : storeCode})`, {
    where,
    hint: 'Check endpoint, region, credentials and network; then run again.',
    cause,
  })
}

/** Returns the error code if it is a single word, else `unknown`, because any other text may contain data. */
function storeCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const name = errorCode(error) ?? error.name
  return /^\w{1,60}$/.test(name) ? name : 'unknown'
}

/** Returns a cause with only the status and code of the store; without a response, as `bareCause`. */
export function storeCause(error: unknown): Error | undefined {
  const status = statusOf(error)
  return status === undefined ? bareCause(error) : new Error(`the store answered ${status} (${storeCodeOf(error)})`)
}

/** Returns the HTTP status of an error of the client; undefined if there was no response. */
export function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('$metadata' in error)) return undefined
  const metadata = error.$metadata
  return typeof metadata === 'object' && metadata !== null && 'httpStatusCode' in metadata && typeof metadata.httpStatusCode === 'number'
    ? metadata.httpStatusCode
    : undefined
}
