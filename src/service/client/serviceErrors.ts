/** Errors of a call. Programs compare the class or `code`, never the text. */
import { SluiceError, type Recovery } from '../../errors.ts'
import type { ServiceIssue } from './issues.ts'

/** Properties of a `ServiceError`. */
export interface ServiceErrorDetails {
  /** Method and path, such as `PUT /12/product_catalogs/4001/products`. */
  readonly where: string
  readonly hint: string
  readonly status?: number
  readonly issues?: readonly ServiceIssue[]
  /** End of the wait that the service requested, in epoch milliseconds. */
  readonly waitUntilMs?: number
  readonly cause?: Error
}

/** Failure of a call: nothing was sent, no complete answer arrived, or the answer is a refusal or not usable. */
export abstract class ServiceError extends SluiceError {
  /** Status of the answer; undefined without one. */
  readonly status: number | undefined
  /** Errors of the answer in its order; empty if none could be read. */
  readonly issues: readonly ServiceIssue[]
  /** End of the wait that the service requested, in epoch milliseconds; undefined if it requested none. */
  readonly waitUntilMs: number | undefined
  /** True if it is certain that no attempt of the call was applied. */
  abstract readonly notApplied: boolean

  constructor(message: string, details: ServiceErrorDetails) {
    super(message, { where: details.where, hint: details.hint, ...(details.cause === undefined ? {} : { cause: details.cause }) })
    this.status = details.status
    this.issues = details.issues ?? []
    this.waitUntilMs = details.waitUntilMs
  }
}

/** Refusal: nothing was applied. The same request will be refused again until its cause is corrected. */
abstract class Refusal extends ServiceError {
  readonly recovery: Recovery = 'fix-config'
  readonly notApplied = true
}

/** UNAUTHORIZED_ACCESS, code 32 or 215, or any other 401: signature, consumer or token not accepted, or the clock is wrong. */
export class BadSignatureError extends Refusal {
  readonly code = 'SERVICE_BAD_SIGNATURE'
}
/** Code 89: the token was invalidated or has expired. */
export class TokenInvalidError extends Refusal {
  readonly code = 'SERVICE_TOKEN_INVALID'
}
/** UNAUTHORIZED_CLIENT_APPLICATION or `client-forbidden`: the application lacks access to this interface. */
export class ApplicationNotApprovedError extends Refusal {
  readonly code = 'SERVICE_APPLICATION_NOT_APPROVED'
}
/** ACCOUNT_NOT_FOUND: the account does not exist, or the user has no access to it. */
export class AccountOutOfReachError extends Refusal {
  readonly code = 'SERVICE_ACCOUNT_OUT_OF_REACH'
}
/** Code 93: the application's permission level does not include this call. */
export class PermissionLevelError extends Refusal {
  readonly code = 'SERVICE_PERMISSION_LEVEL'
}
/** Code 220 or `unsupported-authentication`: an app-only token where a user is needed, or a user where an app-only token is needed. */
export class WrongContextError extends Refusal {
  readonly code = 'SERVICE_WRONG_CONTEXT'
}
/** Code 415: the callback URL is not approved for the application. */
export class CallbackNotApprovedError extends Refusal {
  readonly code = 'SERVICE_CALLBACK_NOT_APPROVED'
}
/** Any other 403. */
export class ForbiddenError extends Refusal {
  readonly code = 'SERVICE_FORBIDDEN'
}
/** 404: there is no such record or path, or the record is deleted. */
export class NotFoundError extends Refusal {
  readonly code = 'SERVICE_NOT_FOUND'
}
/** Any other 400, or a 2xx with errors and without data. `issues` has the refused parameters that the service names. */
export class InvalidParameterError extends Refusal {
  readonly code = 'SERVICE_INVALID_PARAMETER'
}
/** 413 or REQUEST_TOO_COMPLEX. The caller must split the request. */
export class RequestTooLargeError extends Refusal {
  readonly code = 'SERVICE_REQUEST_TOO_LARGE'
}
/** Refusal of a batch because of the entries with the indexes `issues[].index`. Nothing was applied. */
export class BatchRefusedError extends Refusal {
  readonly code = 'SERVICE_BATCH_REFUSED'
}
/** Any other 3xx or 4xx. */
export class RefusedError extends Refusal {
  readonly code = 'SERVICE_REFUSED'
}

/** Code 99: too many requests for bearer tokens, a wrong consumer key or secret, or an unknown token to invalidate. */
export class BearerRefusedError extends Refusal {
  readonly code = 'SERVICE_BEARER_REFUSED'
}
/**
 * 429 or a code of rate limits. Also thrown without a request: an earlier answer requested a wait that is not over, and the call cannot
 * wait.
 */
export class RateLimitedError extends ServiceError {
  readonly code = 'SERVICE_RATE_LIMITED'
  readonly recovery: Recovery = 'retry'
  readonly notApplied = true
}
/** Statuses of temporary failures (docs/spec-notes.md#errors). A call is not retried after another 5xx. */
const temporaryStatuses: readonly (number | undefined)[] = [408, 423, 500, 502, 503, 504]

/** 408, 423 or 5xx. The request may have been applied, except with 423. */
export class UnavailableError extends ServiceError {
  readonly code = 'SERVICE_UNAVAILABLE'
  readonly recovery: Recovery = temporaryStatuses.includes(this.status) ? 'retry' : 'stop-run'
  readonly notApplied = this.status === 423
}
/** 2xx with an unexpected body: an HTML page, no JSON, another shape than the contract has, or errors beside data. */
export class UnreadableAnswerError extends ServiceError {
  readonly code = 'SERVICE_ANSWER_UNREADABLE'
  readonly recovery: Recovery = 'stop-run'
  readonly notApplied = false
}
/** No byte was sent: DNS, connection or TLS failed, or the call ended before a connection was free. */
export class UnreachableError extends ServiceError {
  readonly code = 'SERVICE_UNREACHABLE'
  readonly recovery: Recovery = 'retry'
  readonly notApplied = true
}
/** The request may have been sent, and no complete answer arrived; or a stream ended. */
export class AnswerLostError extends ServiceError {
  readonly code = 'SERVICE_ANSWER_LOST'
  readonly recovery: Recovery = 'retry'
  readonly notApplied = false
}
/** A list returned the same cursor twice, so it would never end. */
export class RepeatingCursorError extends ServiceError {
  readonly code = 'SERVICE_CURSOR_REPEATS'
  readonly recovery: Recovery = 'stop-run'
  readonly notApplied = true
}

/**
 * Call that does not match the contract or the configuration. Nothing was sent. Causes: an unknown endpoint, a host without an address, or
 * an unknown, missing or malformed parameter.
 */
export class CallError extends SluiceError {
  readonly code = 'CALL_INVALID'
  readonly recovery: Recovery = 'fix-config'
}
