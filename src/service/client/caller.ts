/** One call of the contract, with waiting and sending again where that does no harm. */
import type { Clock } from '../../clock.ts'
import { backoffMs, longestHoldMs } from '../../http/waitPolicy.ts'
import type { Logger } from '../../log.ts'
import type { Endpoint } from '../contract/endpoint.ts'
import { findEndpoint } from '../contract/index.ts'
import { basicAuthorization, createBearer, type Bearer } from './bearer.ts'
import type { ServiceConfig } from './config.ts'
import { decodeAnswer, decodeForm, type Decoded } from './decode.ts'
import type { Answer } from './exchange.ts'
import { isRecord } from './issues.ts'
import type { Spelling } from './names.ts'
import { buildRequest, type BuiltRequest, type Params } from './request.ts'
import { BadSignatureError, RateLimitedError, type ServiceError, TokenInvalidError, UnreadableAnswerError } from './serviceErrors.ts'
import { isRetryable, toServiceError } from './toServiceError.ts'
import { type Proof, type Sender, userProof } from './sender.ts'
import type { CallOptions } from './typed.ts'

export interface CallResult {
  /** `data` of the advertising interface and of v2; the whole body elsewhere, form-encoded answers as an object. */
  readonly data: unknown
  readonly body: unknown
  readonly nextCursor: string | undefined
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
  /** From 0 to below 1, for the jitter. */
  readonly random: () => number
}

export interface Caller {
  readonly call: (endpoint: Endpoint, params: Params, options?: CallOptions) => Promise<CallResult>
  /** The proof that a call would be sent with: what a stream opens its connection with. */
  readonly prove: (endpoint: Endpoint, built: BuiltRequest, options: CallOptions) => Promise<Proof>
  readonly bearer: Bearer
}

/** Sendings of one call at most, and the time that may be spent waiting between them (a window of quotas and its slack). */
const maxSendings = 8
const maxWaitMs = 16 * 60_000
const backoff = { backoffMinMs: 1_000, backoffMaxMs: 60_000 }

export function createCaller(parts: CallerParts): Caller {
  const { config, clock } = parts
  const holds: Holds = new Map()
  const bearer = createBearer((options) => fetchBearer(parts, holds, options), clock)
  const prove = (endpoint: Endpoint, built: BuiltRequest, options: CallOptions) => proofFor({ endpoint, built, options, config, bearer })
  return {
    prove,
    bearer,
    async call(endpoint, params, options = {}) {
      const built = buildRequest(endpoint, params, config.adsVersion)
      const result = await sendUntilDone(parts, {
        endpoint,
        built,
        options,
        prove: () => prove(endpoint, built, options),
        bearer,
        holds,
      })
      // The token is invalid for all callers; it may be the cached one.
      if (endpoint.name === 'oauth2.invalidateToken' && typeof params['access_token'] === 'string') bearer.drop(params['access_token'])
      return result
    },
  }
}

interface Sending {
  readonly endpoint: Endpoint
  readonly built: BuiltRequest
  readonly options: CallOptions
  readonly prove: () => Promise<Proof>
  readonly bearer: Bearer | undefined
  readonly holds: Holds
}

/** Until when the service asked not to be called, in epoch milliseconds, by class of limit: holds every call of one client. */
type Holds = Map<Endpoint['limit'], number>

async function sendUntilDone(parts: CallerParts, { endpoint, built, options, prove, bearer, holds }: Sending): Promise<CallResult> {
  const { sender, clock, log, spelling } = parts
  const where = `${endpoint.method} ${built.path}`
  let waitedMs = 0
  let renewed = false
  for (let sending = 1; ; sending += 1) {
    for (;;) {
      const heldUntilMs = holds.get(endpoint.limit) ?? 0
      const heldMs = heldUntilMs - clock.now()
      if (heldMs <= 0) break
      if (options.retry === false || waitedMs + heldMs > maxWaitMs || options.signal?.aborted === true) throw heldError(where, heldUntilMs)
      waitedMs += heldMs
      await clock.sleep(heldMs, options.signal)
    }
    const proof = await prove()
    const exchange = await sender.send({
      method: endpoint.method,
      host: endpoint.host,
      path: built.path,
      query: built.query,
      proof,
      timeoutMs: options.timeoutMs ?? 30_000,
      ...(built.form === undefined ? {} : { form: built.form }),
      ...(built.body === undefined ? {} : { body: built.body }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
    const decoded = exchange.kind === 'answer' ? decodeAnswer(exchange, spelling) : undefined
    const error = toServiceError(exchange, { endpoint, where, nowMs: clock.now() }, decoded)
    if (exchange.kind === 'answer' && decoded !== undefined && error === undefined) return toResult(endpoint, exchange, decoded, log)
    // Never both undefined: an exchange without an answer is always an error.
    const failed = error as ServiceError
    if (failed.waitUntilMs !== undefined) {
      const untilMs = Math.min(failed.waitUntilMs, clock.now() + longestHoldMs)
      holds.set(endpoint.limit, Math.max(holds.get(endpoint.limit) ?? 0, untilMs))
    }
    if (options.retry === false || options.signal?.aborted === true) throw failed

    if (failed instanceof BadSignatureError && sender.clockWasCorrected()) continue
    if (failed instanceof TokenInvalidError && proof.kind === 'header' && bearer !== undefined && !renewed) {
      renewed = true
      bearer.drop(proof.authorization.replace(/^Bearer /, ''))
      continue
    }
    if (!isRetryable(failed, endpoint.repeatable) || sending >= maxSendings) throw failed
    const askedMs = failed.waitUntilMs === undefined ? 0 : failed.waitUntilMs - clock.now()
    const waitMs = Math.max(backoffMs(sending, backoff, parts.random), askedMs)
    waitedMs += waitMs
    if (waitedMs > maxWaitMs) throw failed
    log.info(
      { code: failed.code, status: failed.status, waitMs: Math.round(waitMs), sending },
      'the service asks to wait, or could not be reached',
    )
    await clock.sleep(waitMs, options.signal)
  }
}

function heldError(where: string, untilMs: number): RateLimitedError {
  const until = new Date(Math.min(untilMs, 8.64e15)).toISOString()
  return new RateLimitedError(`nothing was sent: the service asks to wait until ${until}`, {
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
  if (!isRecord(body) || !('data' in body)) return { data: body, body, nextCursor: undefined, totalCount: undefined, status, headers }
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

/** One record may come in an array of one, a list of results as a single object (docs/spec-notes.md#audience-uploads): both are read. */
function shapeData(endpoint: Endpoint, data: unknown): unknown {
  if (endpoint.path.startsWith('/2/')) return data
  const { many, resource } = endpoint.answer
  if (!many) return Array.isArray(data) && data.length === 1 ? (data[0] as unknown) : data
  const list = Array.isArray(data) ? (data as unknown[]) : data === null || data === undefined ? [] : [data]
  // An unset field of a product may read as an empty text (docs/spec-notes.md#catalogs 'Reads').
  return resource === 'product'
    ? list.map((item) =>
        isRecord(item) ? Object.fromEntries(Object.entries(item).map(([key, value]) => [key, value === '' ? null : value])) : item,
      )
    : list
}

interface ProofFor {
  readonly endpoint: Endpoint
  readonly built: BuiltRequest
  readonly options: CallOptions
  readonly config: ServiceConfig
  readonly bearer: Bearer
}

async function proofFor({ endpoint, built, options, config, bearer }: ProofFor): Promise<Proof> {
  switch (endpoint.auth) {
    case 'user':
      return userProof(config)
    case 'consumer':
      return { kind: 'oauth', extra: built.oauth }
    case 'request-token': {
      const { oauth_token: token = '', ...extra } = built.oauth
      return { kind: 'oauth', token, tokenSecret: options.tokenSecret ?? '', extra }
    }
    case 'basic':
    case 'basic-or-user':
      return options.context === 'user'
        ? userProof(config)
        : { kind: 'header', authorization: basicAuthorization(config.consumerKey, config.consumerSecret) }
    case 'bearer-or-user':
      return options.context === 'user' ? userProof(config) : { kind: 'header', authorization: `Bearer ${await bearer.get(options)}` }
    case 'bearer':
      return { kind: 'header', authorization: `Bearer ${await bearer.get(options)}` }
    case 'browser':
      return { kind: 'none' }
  }
}

async function fetchBearer(parts: CallerParts, holds: Holds, options: CallOptions): Promise<string> {
  // The contract holds it: a test lists every entry.
  const endpoint = findEndpoint('oauth2.token') as Endpoint
  const proof: Proof = { kind: 'header', authorization: basicAuthorization(parts.config.consumerKey, parts.config.consumerSecret) }
  const built: BuiltRequest = { path: endpoint.path, query: {}, form: { grant_type: 'client_credentials' }, oauth: {} }
  const { body, status } = await sendUntilDone(parts, {
    endpoint,
    built,
    options,
    prove: () => Promise.resolve(proof),
    bearer: undefined,
    holds,
  })
  const token = isRecord(body) ? body['access_token'] : undefined
  if (typeof token === 'string' && token !== '') return token
  throw new UnreadableAnswerError('the answer holds no access_token', {
    where: 'POST /oauth2/token',
    hint: 'Check SLUICE_BASE_URL.',
    status,
  })
}
