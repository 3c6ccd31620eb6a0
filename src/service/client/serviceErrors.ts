/** The errors of a call as classes: match on class or `code`, never on text. */
import { SluiceError, type Recovery } from '../../errors.ts'
import type { ServiceIssue } from './issues.ts'

export interface ServiceErrorDetails {
  /** `PUT /12/product_catalogs/4001/products`. */
  readonly where: string
  readonly hint: string
  readonly status?: number
  readonly issues?: readonly ServiceIssue[]
  /** By the service's own advice, epoch milliseconds. */
  readonly waitUntilMs?: number
  readonly cause?: Error
}

/** Whatever went wrong with a call: nothing was sent, no answer came, or the service refused. */
export abstract class ServiceError extends SluiceError {
  /** Status of the answer; undefined without one. */
  readonly status: number | undefined
  /** Errors of the answer in the service's order; empty if it has no readable one. */
  readonly issues: readonly ServiceIssue[]
  readonly waitUntilMs: number | undefined
  /** True: certainly not applied. False: it may have been. */
  abstract readonly notApplied: boolean

  constructor(message: string, details: ServiceErrorDetails) {
    super(message, { where: details.where, hint: details.hint, ...(details.cause === undefined ? {} : { cause: details.cause }) })
    this.status = details.status
    this.issues = details.issues ?? []
    this.waitUntilMs = details.waitUntilMs
  }
}

/** The service refused and applied nothing; sending the same again gets the same answer until something is changed. */
abstract class Refusal extends ServiceError {
  readonly recovery: Recovery = 'fix-config'
  readonly notApplied = true
}

/** 401 UNAUTHORIZED_ACCESS, code 32 or 215: signature, consumer or token not accepted, or the clock is wrong. */
export class BadSignatureError extends Refusal {
  readonly code = 'SERVICE_BAD_SIGNATURE'
}
/** Code 89: the token was invalidated or has expired. */
export class TokenInvalidError extends Refusal {
  readonly code = 'SERVICE_TOKEN_INVALID'
}
/** 403 UNAUTHORIZED_CLIENT_APPLICATION: the application lacks access to this interface. */
export class ApplicationNotApprovedError extends Refusal {
  readonly code = 'SERVICE_APPLICATION_NOT_APPROVED'
}
/** ACCOUNT_NOT_FOUND: the account does not exist or the signed user may not reach it. */
export class AccountOutOfReachError extends Refusal {
  readonly code = 'SERVICE_ACCOUNT_OUT_OF_REACH'
}
/** Code 93: the application's permission level does not include this. */
export class PermissionLevelError extends Refusal {
  readonly code = 'SERVICE_PERMISSION_LEVEL'
}
/** Code 220: an app-only token where a user is needed, or the other way round. */
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
export class NotFoundError extends Refusal {
  readonly code = 'SERVICE_NOT_FOUND'
}
/** 400 with the parameters that were refused: see `issues`. */
export class InvalidParameterError extends Refusal {
  readonly code = 'SERVICE_INVALID_PARAMETER'
}
/** 413, or too many operations: split the request, never resend it as it is. */
export class RequestTooLargeError extends Refusal {
  readonly code = 'SERVICE_REQUEST_TOO_LARGE'
}
/** A batch of which the service refused single entries; nothing of it was applied. `issues[].index` names them. */
export class BatchRefusedError extends Refusal {
  readonly code = 'SERVICE_BATCH_REFUSED'
}
/** Any other 3xx or 4xx. */
export class RefusedError extends Refusal {
  readonly code = 'SERVICE_REFUSED'
}

/** 403 code 99: bearer tokens asked for too often, or with the wrong consumer key or secret. */
export class BearerRefusedError extends ServiceError {
  readonly code = 'SERVICE_BEARER_REFUSED'
  readonly recovery: Recovery = 'fix-config'
  readonly notApplied = true
}
/** 429 or code 88, after our own waiting was used up. */
export class RateLimitedError extends ServiceError {
  readonly code = 'SERVICE_RATE_LIMITED'
  readonly recovery: Recovery = 'retry'
  readonly notApplied = true
}
/** 408, 423, 5xx, gateways: may or may not have been applied, except for 423. */
export class UnavailableError extends ServiceError {
  readonly code = 'SERVICE_UNAVAILABLE'
  readonly recovery: Recovery = 'retry'
  readonly notApplied = this.status === 423
}
/** A success that cannot be read, or an HTML page in its place. */
export class UnreadableAnswerError extends ServiceError {
  readonly code = 'SERVICE_ANSWER_UNREADABLE'
  readonly recovery: Recovery = 'stop-run'
  readonly notApplied = false
}
/** No byte was sent: name, connection or TLS failed. */
export class UnreachableError extends ServiceError {
  readonly code = 'SERVICE_UNREACHABLE'
  readonly recovery: Recovery = 'retry'
  readonly notApplied = true
}
/** The request left and no complete answer came. */
export class AnswerLostError extends ServiceError {
  readonly code = 'SERVICE_ANSWER_LOST'
  readonly recovery: Recovery = 'retry'
  readonly notApplied = false
}
/** A listing gave the same cursor twice: going on would never end. */
export class RepeatingCursorError extends ServiceError {
  readonly code = 'SERVICE_CURSOR_REPEATS'
  readonly recovery: Recovery = 'stop-run'
  readonly notApplied = true
}

/** The call is wrong by the contract alone: an unknown endpoint or parameter, or a required one missing. Nothing was sent. */
export class CallError extends SluiceError {
  readonly code = 'CALL_INVALID'
  readonly recovery: Recovery = 'fix-config'
}
