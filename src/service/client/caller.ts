/** Sends the calls of a client. Waits and retries if that is safe (docs/client.md#retries). */
import type { Clock } from '../../clock.ts'
import type { Recovery } from '../../errors.ts'
import { backoffMs, longestRequestedWaitMs } from '../../http/retryAfter.ts'
import type { Logger } from '../../log.ts'
import type { Endpoint } from '../contract/endpoint.ts'
import { endpointOf } from '../contract/index.ts'
import { basicAuthorization, createBearer, isAppOnly, type Bearer } from './bearer.ts'
import type { ServiceConfig } from './config.ts'
import { decodeAnswer, decodeForm, decompress, type Decoded } from './decode.ts'
import type { Answer } from './exchange.ts'
import { errorCode, isPlainRecord, listOf } from '../../unknownValue.ts'
import type { Spelling } from './spelling.ts'
import { buildRequest, type BuiltRequest, type Params } from './request.ts'
import { BadSignatureError, RateLimitedError, ServiceError, TokenInvalidError, UnreadableAnswerError } from './serviceErrors.ts'
import { isRetryable, maxDateMs, toServiceError } from './toServiceError.ts'
import { type Credentials, type Sender, userCredentials } from './sender.ts'
import type { CallOptions } from './typed.ts'
import { withoutUndefined } from '../../withoutUndefined.ts'

/** Successful answer of a call. */
export interface CallResult {
  /** `data` of the answer, in the shape of the contract; the whole body if it has no `data`. */
  readonly data: unknown
  /** Parsed JSON, or the fields of a form-encoded answer. Undefined if the answer is empty. */
  readonly body: unknown
  /** Undefined on the last page of a list, and for any other answer. */
  readonly nextCursor: string | undefined
  /** Number of all records of a list; undefined without `with_total_count`. */
  readonly totalCount: number | undefined
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

export interface CallerParts {
  readonly config: ServiceConfig
  readonly sender: Sender
  readonly spelling: Spelling
  readonly clock: Clock
  readonly log: Logger
  /** Returns a number from 0 to below 1, for the jitter of waits. */
  readonly random: () => number
}

/** Sender of calls, which share the app-only token and the waits that the service requests. */
export interface Caller {
  /**
   * Sends a call, and retries it if that is safe.
   *
   * @throws {CallError} if the parameters do not match the contract
   * @throws {ServiceError} if the call fails
   */
  readonly call: (endpoint: Endpoint, params: Params, options?: CallOptions) => Promise<CallResult>
  /** Returns the credentials of a call. For streams, which are opened without `call`. */
  readonly findCredentials: (endpoint: Endpoint, built: BuiltRequest, options: CallOptions) => Promise<Credentials>
  readonly bearer: Bearer
}

const maxAttempts = 8
/** Longest sum of the waits of one call: a rate limit window of 15 minutes, and one minute more. */
const maxWaitMs = 16 * 60_000
const backoffLimits = { backoffMinMs: 1_000, backoffMaxMs: 60_000 }

export function createCaller(parts: CallerParts): Caller {
  const { config, clock } = parts
  const waits: Waits = new Map()
  const bearer = createBearer((options) => fetchBearer(parts, waits, options), clock)
  const findCredentials = (endpoint: Endpoint, built: BuiltRequest, options: CallOptions) =>
    credentialsFor({ endpoint, built, options, config, bearer })
  return {
    findCredentials,
    bearer,
    async call(endpoint, params, options = {}) {
      const built = buildRequest(endpoint, params, config.adsVersion)
      const result = await sendUntilDone(parts, {
        endpoint,
        built,
        options,
        findCredentials: () => findCredentials(endpoint, built, options),
        bearer,
        waits,
      })
      // The cached token may be the one that is now invalid.
      if (endpoint.name === 'oauth2.invalidateToken' && typeof params['access_token'] === 'string') bearer.drop(params['access_token'])
      return result
    },
  }
}

/** One call, and the parts that it shares with other calls. */
interface CallParts {
  readonly endpoint: Endpoint
  readonly built: BuiltRequest
  readonly options: CallOptions
  readonly findCredentials: () => Promise<Credentials>
  readonly bearer: Bearer | undefined
  readonly waits: Waits
}

/** End of the wait that the service requested, by `Clock.monotonic`, for each rate limit. Applies to all calls of a client. */
type Waits = Map<Endpoint['limit'], number>

/** Sends a request until it succeeds, or may not be sent again. @throws {ServiceError} of the last attempt */
async function sendUntilDone(parts: CallerParts, call: CallParts): Promise<CallResult> {
  const earlier: EarlierAttempts = { wasSent: false, mayBeApplied: false }
  try {
    return await sendAttempts(parts, call, earlier)
  } catch (error) {
    // A program must not repeat an aborted call with the same signal, or a call of a closed client.
    const isOver = call.options.signal?.aborted === true || parts.sender.closing.aborted
    if (error instanceof ServiceError && error.recovery === 'retry' && isOver)
      Object.assign(error, { recovery: 'stop-run' satisfies Recovery })
    if (error instanceof ServiceError && earlier.wasSent)
      Object.assign(error, { message: error.message.replace(/^nothing was sent:/, 'the last attempt was not sent:') })
    // `notApplied` is a promise about the call, not about its last attempt.
    if (error instanceof ServiceError && error.notApplied && earlier.mayBeApplied)
      Object.assign(error, { notApplied: false, hint: `${error.hint} An earlier attempt may have had an effect.` })
    throw error
  }
}

/** Facts about the attempts of one call. */
interface EarlierAttempts {
  wasSent: boolean
  /** True if an attempt before the last one may have been applied. */
  mayBeApplied: boolean
}

/** Sends the attempts of a call, and records facts about them in `earlier`. */
async function sendAttempts(parts: CallerParts, call: CallParts, earlier: EarlierAttempts): Promise<CallResult> {
  const { sender, clock, log, spelling } = parts
  const { endpoint, built, options, findCredentials, bearer, waits } = call
  const where = `${endpoint.method} ${built.path}`
  let waitedMs = 0
  let tokenRenewed = false
  let signedAgain = false
  for (let attempt = 1; ; attempt += 1) {
    waitedMs += await waitForLimit(call, parts, { where, leftMs: maxWaitMs - waitedMs })
    const credentials = await findCredentials()
    const correctionsBefore = sender.clockCorrections()
    const exchange = await sender.send({
      method: endpoint.method,
      host: endpoint.host,
      path: built.path,
      query: built.query,
      credentials,
      timeoutMs: options.timeoutMs ?? 30_000,
      // The call may have waited for a connection, and another answer may have requested a wait meanwhile.
      maySend: () => limitWaitMs(call, clock) <= 0,
      ...withoutUndefined({ form: built.form, body: built.body, signal: options.signal }),
    })
    if (exchange.kind === 'not-sent' && errorCode(exchange.error) === 'HELD_BACK') {
      attempt -= 1
      continue
    }
    earlier.wasSent ||= exchange.kind !== 'not-sent'
    const context = { endpoint, where, nowMs: clock.now(), asApplication: isAppOnly(credentials) }
    let failure: ServiceError
    if (exchange.kind === 'answer') {
      const decoded = decodeAnswer(endpoint.gzipped === true ? decompress(exchange) : exchange, spelling)
      const error = toServiceError(exchange, context, decoded)
      if (error === undefined) return toResult(endpoint, exchange, decoded, log)
      failure = error
    } else failure = toServiceError(exchange, context)
    const requestedMs = failure.waitUntilMs === undefined ? 0 : Math.min(failure.waitUntilMs - context.nowMs, longestRequestedWaitMs)
    if (requestedMs > 0)
      waits.set(endpoint.limit, Math.max(waits.get(endpoint.limit) ?? Number.NEGATIVE_INFINITY, clock.monotonic() + requestedMs))
    // The token is dropped even if this call is not retried, so that the next call does not send it.
    const tokenDropped = failure instanceof TokenInvalidError && bearer?.dropRefused(credentials) === true
    if (options.retry === false || options.signal?.aborted === true || sender.closing.aborted) throw failure

    if (failure instanceof BadSignatureError && !signedAgain && sender.clockCorrections() > correctionsBefore) {
      signedAgain = true
      continue
    }
    if (tokenDropped && !tokenRenewed) {
      tokenRenewed = true
      continue
    }
    if (!isRetryable(failure, endpoint.repeatable) || attempt >= maxAttempts) throw failure
    const waitMs = Math.max(backoffMs(attempt, backoffLimits, parts.random), requestedMs)
    waitedMs += waitMs
    if (waitedMs > maxWaitMs) throw failure
    log.info(
      { code: failure.code, status: failure.status, waitMs: Math.round(waitMs), attempt },
      'the call failed and is retried after a wait',
    )
    earlier.mayBeApplied ||= endpoint.method !== 'GET' && !failure.notApplied
    await clock.sleep(waitMs, endOfWaits(sender, options))
    if (sender.closing.aborted) throw failure
  }
}

/** Returns the signal that ends the waits of a call: its own signal, or the end of the client. */
function endOfWaits({ closing }: Sender, { signal }: CallOptions): AbortSignal {
  return signal === undefined ? closing : AbortSignal.any([signal, closing])
}

/** Returns the remaining milliseconds of the wait that the service requested for the limit of the call; 0 or less without one. */
function limitWaitMs({ endpoint, waits }: Pick<CallParts, 'endpoint' | 'waits'>, clock: Clock): number {
  return (waits.get(endpoint.limit) ?? Number.NEGATIVE_INFINITY) - clock.monotonic()
}

/**
 * Waits until every wait that the service requested for the rate limit is over. Returns the waited time in milliseconds.
 *
 * @throws {RateLimitedError} if the call may not wait, if the wait is longer than `leftMs`, or if the client is closed
 */
async function waitForLimit(
  call: CallParts,
  { clock, sender }: CallerParts,
  { where, leftMs }: { readonly where: string; readonly leftMs: number },
): Promise<number> {
  const { options } = call
  let waitedMs = 0
  for (;;) {
    const waitMs = limitWaitMs(call, clock)
    if (waitMs <= 0) return waitedMs
    const isCancelled = options.signal?.aborted === true || sender.closing.aborted
    if (options.retry === false || waitedMs + waitMs > leftMs || isCancelled) throw waitError(where, clock.now() + waitMs)
    waitedMs += waitMs
    await clock.sleep(waitMs, endOfWaits(sender, options))
  }
}

function waitError(where: string, untilMs: number): RateLimitedError {
  const until = new Date(Math.min(untilMs, maxDateMs)).toISOString()
  return new RateLimitedError(`nothing was sent: the service requests a wait until ${until}`, {
    where,
    hint: 'Call again after that time.',
    waitUntilMs: untilMs,
  })
}

function toResult(endpoint: Endpoint, answer: Answer, decoded: Decoded, log: Logger): CallResult {
  const warning = answer.headers['x-api-warn']
  if (warning !== undefined)
    log.warn({ endpoint: endpoint.name, warning: warning.slice(0, 300) }, 'the service warns that this call is deprecated')
  const body =
    decoded.kind === 'json'
      ? decoded.value
      : decoded.kind === 'text' && endpoint.host === 'core' && endpoint.method === 'POST'
        ? decodeForm(decoded.value)
        : undefined
  const { status, headers } = answer
  if (!isPlainRecord(body) || !('data' in body)) return { data: body, body, nextCursor: undefined, totalCount: undefined, status, headers }
  const { next_cursor: next, total_count: total } = body
  return {
    data: shapeData(endpoint, body['data']),
    body,
    status,
    headers,
    nextCursor: typeof next === 'string' && next !== '' ? next : undefined,
    totalCount: typeof total === 'number' ? total : undefined,
  }
}

/**
 * Returns one record or a list of records, as the contract requires. The service may return a record as an array of one, and a list as one
 * object or null. Data of v2 is not changed.
 */
function shapeData(endpoint: Endpoint, data: unknown): unknown {
  if (endpoint.path.startsWith('/2/')) return data
  const { many, resource } = endpoint.answer
  if (!many) return Array.isArray(data) && data.length === 1 ? listOf(data)[0] : data
  const list = Array.isArray(data) ? listOf(data) : data === null || data === undefined ? [] : [data]
  // An unset field of a product may be an empty text, which means null (docs/spec-notes.md#catalogs).
  return resource === 'product'
    ? list.map((item) =>
        isPlainRecord(item) ? Object.fromEntries(Object.entries(item).map(([key, value]) => [key, value === '' ? null : value])) : item,
      )
    : list
}

interface CredentialParts {
  readonly endpoint: Endpoint
  readonly built: BuiltRequest
  readonly options: CallOptions
  readonly config: ServiceConfig
  readonly bearer: Bearer
}

async function credentialsFor({ endpoint, built, options, config, bearer }: CredentialParts): Promise<Credentials> {
  switch (endpoint.auth) {
    case 'user':
      return userCredentials(config)
    case 'consumer':
      return { kind: 'oauth', extra: built.oauth }
    case 'request-token': {
      const { oauth_token: token = '', ...extra } = built.oauth
      return { kind: 'oauth', token, tokenSecret: options.tokenSecret ?? '', extra }
    }
    case 'basic':
      return basicCredentials(config)
    case 'basic-or-user':
      return options.context === 'user' ? userCredentials(config) : basicCredentials(config)
    case 'bearer-or-user':
      return options.context === 'user' ? userCredentials(config) : { kind: 'header', authorization: `Bearer ${await bearer.get(options)}` }
    case 'bearer':
      return { kind: 'header', authorization: `Bearer ${await bearer.get(options)}` }
    case 'browser':
      return { kind: 'none' }
  }
}

function basicCredentials({ consumerKey, consumerSecret }: ServiceConfig): Credentials {
  return { kind: 'header', authorization: basicAuthorization(consumerKey, consumerSecret) }
}

async function fetchBearer(parts: CallerParts, waits: Waits, options: CallOptions): Promise<string> {
  const endpoint = endpointOf('oauth2.token')
  const credentials = basicCredentials(parts.config)
  const built: BuiltRequest = { path: endpoint.path, query: {}, form: { grant_type: 'client_credentials' }, oauth: {} }
  const { body, status } = await sendUntilDone(parts, {
    endpoint,
    built,
    options,
    findCredentials: () => Promise.resolve(credentials),
    bearer: undefined,
    waits,
  })
  const token = isPlainRecord(body) ? body['access_token'] : undefined
  if (typeof token === 'string' && token !== '') return token
  throw new UnreadableAnswerError('the answer contains no access_token', {
    where: 'POST /oauth2/token',
    hint: 'Check SLUICE_BASE_URL.',
    status,
  })
}
