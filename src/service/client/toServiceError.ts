/** Classifies exchanges: converts a failed one to a typed error by its status and the codes of its errors. */
import { requestedWaitMs } from '../../http/retryAfter.ts'
import type { Endpoint } from '../contract/endpoint.ts'
import type { Answer, Exchange, Lost, NotSent } from './exchange.ts'
import { redactServiceText } from '../../redactServiceText.ts'
import { readIssues, type ServiceIssue } from './issues.ts'
import { decodeAnswer, type Decoded } from './decode.ts'
import {
  credentialVariables,
  batchHint,
  hostVariable,
  consumerVariables,
  describeNamed,
  notFoundHint,
  parameterHint,
  sizeHint,
  tokenHint,
} from './hints.ts'
import {
  AccountOutOfReachError,
  AnswerLostError,
  ApplicationNotApprovedError,
  BadSignatureError,
  BatchRefusedError,
  BearerRefusedError,
  CallbackNotApprovedError,
  ForbiddenError,
  InvalidParameterError,
  NotFoundError,
  PermissionLevelError,
  RateLimitedError,
  RefusedError,
  RequestTooLargeError,
  type ServiceError,
  type ServiceErrorDetails,
  TokenInvalidError,
  UnavailableError,
  UnreachableError,
  UnreadableAnswerError,
  WrongContextError,
} from './serviceErrors.ts'
import { errorCode, isPlainRecord, listOf, recordOf } from '../../unknownValue.ts'

/** Call that an exchange belongs to. */
export interface CallContext {
  readonly endpoint: Endpoint
  /** Method and path without a query, such as `PUT /12/product_catalogs/4001/products`. */
  readonly where: string
  /** Time of the answer in epoch milliseconds. */
  readonly nowMs: number
  /** True if the request was sent with an app-only token. Default: true if the contract accepts nothing else. */
  readonly asApplication?: boolean
}

/** Returns the error of a failed exchange; undefined for a success. `decoded`: the decoded answer, if the caller has it. */
export function toServiceError(exchange: NotSent | Lost, context: CallContext): ServiceError
export function toServiceError(exchange: Exchange, context: CallContext, decoded?: Decoded): ServiceError | undefined
export function toServiceError(exchange: Exchange, context: CallContext, decoded?: Decoded): ServiceError | undefined {
  switch (exchange.kind) {
    case 'not-sent':
      return new UnreachableError(`nothing was sent: ${reasonOf(exchange.error)}`, {
        where: context.where,
        hint: notSentHint(exchange.error, context.endpoint),
        cause: exchange.error,
      })
    case 'lost':
      return new AnswerLostError(`the request was sent and no complete answer came: ${reasonOf(exchange.error)}`, {
        where: context.where,
        hint: resendHint(context.endpoint),
        cause: exchange.error,
        ...(exchange.status === undefined ? {} : { status: exchange.status }),
      })
    case 'answer':
      return classify(exchange, context, decoded ?? decodeAnswer(exchange))
  }
}

function notSentHint(error: Error, endpoint: Endpoint): string {
  switch (errorCode(error)) {
    // The code of `WireError`, whose module is loaded only with the first request.
    case 'ABORTED':
      return 'The signal of the call was aborted: call again if the result is still needed.'
    case 'CLOSED':
      return 'Create another client.'
    default:
      return `Check ${hostVariable(endpoint)} and the network; sluice doctor tests both.`
  }
}

/**
 * Returns true if the client may send the same request again. A request that may have been applied is sent again only if it is `repeatable`
 * (docs/client.md#retries).
 */
export function isRetryable(error: ServiceError, repeatable: boolean): boolean {
  return error.recovery === 'retry' && (error.notApplied || repeatable)
}

function classify(answer: Answer, context: CallContext, decoded: Decoded): ServiceError | undefined {
  const { status } = answer
  const issues = decoded.kind === 'json' ? readIssues(decoded.value) : undefined
  if (status >= 200 && status < 300) return classifySuccess(answer, context, decoded, issues)
  const detail =
    textOfIssues(issues ?? []) ||
    (decoded.kind === 'html'
      ? 'the answer is an HTML page, probably of a gateway'
      : decoded.kind === 'text'
        ? redactServiceText(decoded.value)
        : '')
  const failed: FailedAnswer = {
    answer,
    context,
    issues: issues ?? [],
    message: `${status}${issues?.[0]?.code ? ` ${issues[0].code}` : ''}${detail === '' ? '' : `: ${detail}`}`,
    details: (hint) => ({ where: context.where, hint, status, issues: issues ?? [] }),
    hasCode: (...codes) => (issues ?? []).some(({ code }) => codes.includes(code)),
  }
  return classifyServiceFailure(failed) ?? classifyAccess(failed) ?? classifyRequest(failed)
}

/** Answer that is not a 2xx, with its errors and the parts of the `ServiceError`. */
interface FailedAnswer {
  readonly answer: Answer
  readonly context: CallContext
  readonly issues: readonly ServiceIssue[]
  readonly message: string
  readonly details: (hint: string) => ServiceErrorDetails
  /** Returns true if the answer has an error with one of the codes. */
  readonly hasCode: (...codes: readonly string[]) => boolean
}

/** Largest time of a `Date`, in epoch milliseconds. A later time has no ISO text. */
export const maxDateMs = 8.64e15

/** Classifies rate limits and failures of the service (408, 423 and 5xx). Undefined for any other answer. */
function classifyServiceFailure({ answer, context, message, details, hasCode }: FailedAnswer): ServiceError | undefined {
  const { status } = answer
  const waitMs = requestedWaitMs(answer, context.nowMs)
  const waitUntilMs = waitMs === undefined ? undefined : context.nowMs + waitMs
  // The limit is of open connections (spec 7). The end of a rate limit's window does not close one.
  if (status === 429 && hasCode('streaming-connection'))
    return new RateLimitedError(message, details('Close an open stream of the app, or all of them: DELETE /2/connections/all.'))
  if (status === 429 || hasCode('88', 'TOO_MANY_REQUESTS', 'TWEET_RATE_LIMIT_EXCEEDED', 'rate-limit-exceeded')) {
    const until =
      waitUntilMs === undefined ? '' : ` The service requests a wait until ${new Date(Math.min(waitUntilMs, maxDateMs)).toISOString()}.`
    return new RateLimitedError(message, {
      ...details(`Wait, or run fewer processes.${until}`),
      ...(waitUntilMs === undefined ? {} : { waitUntilMs }),
    })
  }
  if (status >= 500 || status === 408 || status === 423) {
    return new UnavailableError(message, {
      ...details(status === 423 ? 'Another request has locked the record; try again.' : failureHint(context.endpoint)),
      ...(waitUntilMs === undefined ? {} : { waitUntilMs }),
    })
  }
  return undefined
}

/** Returns the hint for a failure of the service. A repeated creation that was applied would create a second record. */
function failureHint({ method, repeatable }: Endpoint): string {
  if (method === 'GET') return 'The service failed; try again later.'
  if (repeatable) return 'The service failed; try again later. The request may have been applied.'
  return 'The service failed. The request may have been applied: read back before sending it again.'
}

/** Classifies refused credentials and missing permissions: token, signature, application, account, user. Undefined for any other error. */
function classifyAccess({ answer, context, issues, message, details, hasCode }: FailedAnswer): ServiceError | undefined {
  const { status } = answer
  if (hasCode('99')) {
    return new BearerRefusedError(
      message,
      details(`Check ${consumerVariables}. If they are right, too many tokens were requested: wait some minutes, and keep the next one.`),
    )
  }
  if (hasCode('89')) return new TokenInvalidError(message, details(tokenHint(context.asApplication ?? context.endpoint.auth === 'bearer')))
  if (hasCode('93'))
    return new PermissionLevelError(
      message,
      details('Raise the permission level in the app settings, then sign in again: sluice auth login.'),
    )
  if (hasCode('220', 'unsupported-authentication')) {
    return new WrongContextError(
      message,
      details(
        `This call needs ${context.endpoint.auth === 'bearer' ? 'an app-only token' : 'a user: SLUICE_ACCESS_TOKEN and SLUICE_ACCESS_TOKEN_SECRET'}.`,
      ),
    )
  }
  if (hasCode('415')) return new CallbackNotApprovedError(message, details('Add the callback URL in the app settings, or use oob.'))
  if (hasCode('UNAUTHORIZED_CLIENT_APPLICATION', 'client-forbidden')) {
    return new ApplicationNotApprovedError(
      message,
      details(
        `The application behind SLUICE_CONSUMER_KEY needs access to this part of the interface: apply for it, or use another application's key.`,
      ),
    )
  }
  if (hasCode('ACCOUNT_NOT_FOUND')) {
    return new AccountOutOfReachError(
      message,
      details('Check the account id; the user behind SLUICE_ACCESS_TOKEN must be given access to that account.'),
    )
  }
  if (status === 401 || hasCode('32', '215', 'UNAUTHORIZED_ACCESS')) {
    if (context.asApplication === true && context.endpoint.auth === 'user')
      return new BadSignatureError(
        message,
        details('This call is signed for a user: send it without the app-only token (leave --bearer out).'),
      )
    if (context.endpoint.auth === 'request-token')
      return new BadSignatureError(
        message,
        details('Start the sign-in again: the verifier or PIN is wrong, or the request token was used before or is too old.'),
      )
    return new BadSignatureError(message, details(`Check ${credentialVariables}, and this machine's clock; sluice doctor tests each.`))
  }
  if (status === 403) {
    const about = describeNamed(context.endpoint, issues)
    return new ForbiddenError(
      message,
      details(
        `The signed user or application may not do this${about.length > 0 ? `. ${about.join('. ')}` : '; the service gives no other reason.'}`,
      ),
    )
  }
  return undefined
}

/** Classifies every other refusal. */
function classifyRequest({ answer, context, issues, message, details, hasCode }: FailedAnswer): ServiceError {
  const { status } = answer
  if (status === 404) return new NotFoundError(message, details(notFoundHint(context.endpoint, issues)))
  if (status === 405)
    return new RefusedError(
      message,
      details(`Use another method${answer.headers['allow'] === undefined ? '' : `: ${redactServiceText(answer.headers['allow'])}`}.`),
    )
  if (status === 413 || hasCode('REQUEST_TOO_COMPLEX')) return new RequestTooLargeError(message, details(sizeHint(context.endpoint)))
  if (issues.some(({ index }) => index !== undefined)) return new BatchRefusedError(message, details(batchHint(context.endpoint, issues)))
  if (status === 400) return new InvalidParameterError(message, details(parameterHint(context.endpoint, issues)))
  return new RefusedError(
    message,
    details(
      status < 400 ? `Redirects are not followed: check ${hostVariable(context.endpoint)}.` : 'Check the call against the documentation.',
    ),
  )
}

/**
 * Returns undefined for a usable 2xx: it has no errors and, on the advertising hosts, the data of the contract.
 *
 * A body with errors and without data is a refusal of the parameters or of the batch. Any other unexpected body is an unreadable answer.
 * JSON of v2 is never an error, even without data: the caller reads `errors`.
 */
function classifySuccess(
  answer: Answer,
  context: CallContext,
  decoded: Decoded,
  issues: readonly ServiceIssue[] | undefined,
): ServiceError | undefined {
  const { status } = answer
  const statusAndPlace = { where: context.where, status }
  if (decoded.kind === 'html')
    return new UnreadableAnswerError(`${status}: the answer is an HTML page`, {
      ...statusAndPlace,
      hint: `Check ${hostVariable(context.endpoint)}: another server answers there.`,
    })
  const isForm = context.endpoint.host === 'core' && context.endpoint.path.startsWith('/oauth/')
  if (decoded.kind === 'text' && !isForm && !(status === 204 && decoded.value === '')) {
    return new UnreadableAnswerError(`${status}: the answer is not JSON`, {
      ...statusAndPlace,
      hint: resendHint(context.endpoint),
    })
  }
  if (issues === undefined && context.endpoint.host !== 'core' && !hasData(context.endpoint, decoded))
    return new UnreadableAnswerError(`${status}: the answer has an unexpected shape`, {
      ...statusAndPlace,
      hint: resendHint(context.endpoint),
    })
  // A 2xx of v2 may have errors about some ids, and data about the others (docs/spec-notes.md#posts).
  if (issues === undefined || context.endpoint.path.startsWith('/2/')) return undefined
  const data = decoded.kind === 'json' && isPlainRecord(decoded.value) ? decoded.value['data'] : undefined
  if (data !== undefined && data !== null && !(Array.isArray(data) && data.length === 0)) {
    return new UnreadableAnswerError(`${status}: the answer has both errors and results`, {
      ...statusAndPlace,
      issues,
      hint: 'Part of the request may have been applied: read back.',
    })
  }
  const details = { ...statusAndPlace, issues, hint: parameterHint(context.endpoint, issues) }
  const message = `${status} with errors: ${issues[0]?.code ?? ''} ${issues[0]?.message ?? ''}`.trim()
  return issues.some(({ index }) => index !== undefined)
    ? new BatchRefusedError(message, details)
    : new InvalidParameterError(message, details)
}

/** Returns the first five messages, each with its parameter and the index of its batch entry, and the number of the others. */
function textOfIssues(issues: readonly ServiceIssue[]): string {
  const texts = issues.flatMap(({ message, index, parameter }) => {
    if (message === '') return []
    // The message may not contain the parameter, or may have lost it when it was shortened.
    const about = parameter === undefined || message.includes(parameter) ? message : `${parameter}: ${message}`
    return [index === undefined ? about : `entry ${index}: ${about}`]
  })
  return texts.slice(0, 5).join('; ') + (texts.length > 5 ? `; and ${texts.length - 5} more` : '')
}

/**
 * Returns true if the answer has `data` of the contract (spec Conventions): one record, or a list of records or texts. One record may be in
 * an array, and a list may be one record or null.
 */
function hasData(endpoint: Endpoint, decoded: Decoded): boolean {
  if (decoded.kind !== 'json' || !isPlainRecord(decoded.value) || !('data' in decoded.value)) return false
  const { data } = decoded.value
  if (data === null) return endpoint.answer.many
  const items = Array.isArray(data) ? listOf(data) : [data]
  if (!endpoint.answer.many && items.length !== 1) return false
  return items.every((item) => isPlainRecord(item) || (endpoint.answer.many && typeof item === 'string'))
}

/** Returns the hint for a call with an unknown outcome. A read changes nothing, so it needs no check before it is repeated. */
function resendHint(endpoint: Endpoint): string {
  if (endpoint.method === 'GET') return `Try again; if it repeats, check ${hostVariable(endpoint)}.`
  return 'The request may have been applied: read back before sending it again.'
}

/** Returns the message of the error, else its code or name, without personal data. */
function reasonOf(error: Error): string {
  return redactServiceText(error.message !== '' ? error.message : String(recordOf(error)['code'] ?? error.name))
}
