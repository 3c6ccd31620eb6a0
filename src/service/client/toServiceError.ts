/** An exchange → the typed error it means, or undefined for a success. The one place where statuses and codes are classified. */
import { readHold } from '../../http/waitPolicy.ts'
import type { Endpoint } from '../contract/endpoint.ts'
import type { Answer, Exchange } from './exchange.ts'
import { cleanText } from './cleanText.ts'
import { isRecord, readIssues, type ServiceIssue } from './issues.ts'
import { decodeAnswer, type Decoded } from './decode.ts'
import { allKeys, batchHint, hostVariable, keys, namedParameters, notFoundHint, parameterHint, sizeHint, tokenHint } from './hints.ts'
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
import { recordOf } from '../../unknownValue.ts'

export interface CallContext {
  readonly endpoint: Endpoint
  /** `PUT /12/product_catalogs/4001/products`, without a query. */
  readonly where: string
  readonly nowMs: number
  /** Sent with an app-only token although the contract asks for a user. */
  readonly asApplication?: boolean
}

export function toServiceError(exchange: Exchange, context: CallContext, decoded?: Decoded): ServiceError | undefined {
  switch (exchange.kind) {
    case 'not-sent':
      return new UnreachableError(`nothing was sent: ${reason(exchange.error)}`, {
        where: context.where,
        hint: `Check ${hostVariable(context.endpoint)} and the network; sluice doctor tests both.`,
        cause: exchange.error,
      })
    case 'lost':
      return new AnswerLostError(`the request was sent and no complete answer came: ${reason(exchange.error)}`, {
        where: context.where,
        hint: 'It may have been applied: read back before sending it again.',
        cause: exchange.error,
        ...(exchange.status === undefined ? {} : { status: exchange.status }),
      })
    case 'answer':
      return classify(exchange, context, decoded ?? decodeAnswer(exchange))
  }
}

/**
 * May the same request be sent again by the client itself? What was certainly not applied may; what may have been applied
 * only where the contract says that a repetition does no harm (docs/spec-notes.md#errors 'Retry').
 */
export function isRetryable(error: ServiceError, repeatable: boolean): boolean {
  return error.recovery === 'retry' && (error.notApplied || repeatable)
}

function classify(answer: Answer, context: CallContext, decoded: Decoded): ServiceError | undefined {
  const { status } = answer
  const issues = decoded.kind === 'json' ? readIssues(decoded.value) : undefined
  if (status >= 200 && status < 300) return classifySuccess(answer, context, decoded, issues)
  const said =
    sayIssues(issues ?? []) ||
    (decoded.kind === 'html'
      ? 'an HTML page came instead of an answer, probably from a gateway'
      : decoded.kind === 'text'
        ? cleanText(decoded.value)
        : '')
  const refused: Refused = {
    answer,
    context,
    issues: issues ?? [],
    message: `${status}${issues?.[0]?.code ? ` ${issues[0].code}` : ''}${said === '' ? '' : `: ${said}`}`,
    details: (hint) => ({ where: context.where, hint, status, issues: issues ?? [] }),
    has: (...codes) => (issues ?? []).some(({ code }) => codes.includes(code)),
  }
  return classifyWait(refused) ?? classifyAccess(refused) ?? classifyRequest(refused)
}

/** Anything but a 2xx, and what it says. */
interface Refused {
  readonly answer: Answer
  readonly context: CallContext
  readonly issues: readonly ServiceIssue[]
  readonly message: string
  readonly details: (hint: string) => ServiceErrorDetails
  /** Does it name one of these codes? */
  readonly has: (...codes: readonly string[]) => boolean
}

/** Classifies temporary errors: too many requests, a failing service. */
function classifyWait({ answer, context, message, details, has }: Refused): ServiceError | undefined {
  const { status } = answer
  const holdMs = readHold(answer, context.nowMs)
  const waitUntilMs = holdMs === undefined ? undefined : context.nowMs + holdMs
  if (status === 429 || has('88', 'TOO_MANY_REQUESTS', 'TWEET_RATE_LIMIT_EXCEEDED', 'rate-limit-exceeded')) {
    const until =
      waitUntilMs === undefined ? '' : ` The service asks to wait until ${new Date(Math.min(waitUntilMs, 8.64e15)).toISOString()}.`
    return new RateLimitedError(message, {
      ...details(`Wait, or send from fewer places.${until}`),
      ...(waitUntilMs === undefined ? {} : { waitUntilMs }),
    })
  }
  if (status >= 500 || status === 408 || status === 423) {
    return new UnavailableError(message, {
      ...details(
        status === 423
          ? 'Another request holds the record; try again.'
          : 'The service is in trouble; try again later. It may have been applied.',
      ),
      ...(waitUntilMs === undefined ? {} : { waitUntilMs }),
    })
  }
  return undefined
}

/** Classifies missing rights: tokens, signatures, the application, the account, the user. */
function classifyAccess({ answer, context, issues, message, details, has }: Refused): ServiceError | undefined {
  const { status } = answer
  if (has('99')) {
    return new BearerRefusedError(
      message,
      details(`Check ${keys}. If they are right, tokens were asked for too often: keep the one you have, wait some minutes.`),
    )
  }
  if (has('89')) return new TokenInvalidError(message, details(tokenHint(context.endpoint)))
  if (has('93'))
    return new PermissionLevelError(
      message,
      details('Raise the permission level in the app settings, then sign in again: sluice auth login.'),
    )
  if (has('220', 'unsupported-authentication')) {
    return new WrongContextError(
      message,
      details(
        `This call wants ${context.endpoint.auth === 'bearer' ? 'an app-only token' : 'a user: SLUICE_ACCESS_TOKEN and SLUICE_ACCESS_TOKEN_SECRET'}.`,
      ),
    )
  }
  if (has('415')) return new CallbackNotApprovedError(message, details('Add the callback URL in the app settings, or use oob.'))
  if (has('UNAUTHORIZED_CLIENT_APPLICATION', 'client-forbidden')) {
    return new ApplicationNotApprovedError(
      message,
      details(
        `The application behind SLUICE_CONSUMER_KEY needs access to this part of the interface: apply for it, or use another application's key.`,
      ),
    )
  }
  if (has('ACCOUNT_NOT_FOUND')) {
    return new AccountOutOfReachError(
      message,
      details('Check the account id; the user behind SLUICE_ACCESS_TOKEN must be given access to that account.'),
    )
  }
  if (status === 401 || has('32', '215', 'UNAUTHORIZED_ACCESS')) {
    if (context.asApplication === true)
      return new BadSignatureError(
        message,
        details('This call is signed for a user: send it without the app-only token (leave --bearer out).'),
      )
    return new BadSignatureError(message, details(`Check ${allKeys}, and this machine's clock; sluice doctor tests each.`))
  }
  if (status === 403) {
    const about = namedParameters(context.endpoint, issues)
    return new ForbiddenError(
      message,
      details(
        `The signed user or application may not do this${about.length > 0 ? `. ${about.join('. ')}` : '; the message above is all that the service says.'}`,
      ),
    )
  }
  return undefined
}

/** Classifies faults of the request itself. */
function classifyRequest({ answer, context, issues, message, details, has }: Refused): ServiceError {
  const { status } = answer
  if (status === 404) return new NotFoundError(message, details(notFoundHint(context.endpoint, issues)))
  if (status === 405)
    return new RefusedError(
      message,
      details(`Use another method${answer.headers['allow'] === undefined ? '' : `: ${cleanText(answer.headers['allow'])}`}.`),
    )
  if (status === 413 || has('REQUEST_TOO_COMPLEX')) return new RequestTooLargeError(message, details(sizeHint(context.endpoint)))
  if (issues.some(({ index }) => index !== undefined)) return new BatchRefusedError(message, details(batchHint(context.endpoint, issues)))
  if (status === 400) return new InvalidParameterError(message, details(parameterHint(context.endpoint, issues)))
  return new RefusedError(
    message,
    details(
      status < 400 ? `Redirects are not followed: check ${hostVariable(context.endpoint)}.` : 'Check the call against the documentation.',
    ),
  )
}

/** Accepts a 2xx only with a readable body that is not an error. */
function classifySuccess(
  answer: Answer,
  context: CallContext,
  decoded: Decoded,
  issues: readonly ServiceIssue[] | undefined,
): ServiceError | undefined {
  const { status } = answer
  const base = { where: context.where, status }
  if (decoded.kind === 'html')
    return new UnreadableAnswerError(`${status}: an HTML page came instead of an answer`, {
      ...base,
      hint: `Check ${hostVariable(context.endpoint)}: something else answers there.`,
    })
  const form = context.endpoint.host === 'core' && context.endpoint.path.startsWith('/oauth/')
  if (decoded.kind === 'text' && !form && !(status === 204 && decoded.value === '')) {
    return new UnreadableAnswerError(`${status}: the answer is not JSON`, {
      ...base,
      hint: 'It may have been applied: read back before sending it again.',
    })
  }
  if (issues === undefined && context.endpoint.host !== 'core' && !hasData(context.endpoint, decoded))
    return new UnreadableAnswerError(`${status}: the answer has another shape than promised`, {
      ...base,
      hint: 'It may have been applied: read back before sending it again.',
    })
  // v2 puts errors of single ids beside the results, or in their place (docs/spec-notes.md#posts 'Partial').
  if (issues === undefined || context.endpoint.path.startsWith('/2/')) return undefined
  const data = decoded.kind === 'json' && isRecord(decoded.value) ? decoded.value['data'] : undefined
  if (data !== undefined && data !== null && !(Array.isArray(data) && data.length === 0)) {
    return new UnreadableAnswerError(`${status}: errors stand beside results`, {
      ...base,
      issues,
      hint: 'Part of it may have been applied: read back.',
    })
  }
  const details = { ...base, issues, hint: parameterHint(context.endpoint, issues) }
  const message = `${status} with errors: ${issues[0]?.code ?? ''} ${issues[0]?.message ?? ''}`.trim()
  return issues.some(({ index }) => index !== undefined)
    ? new BatchRefusedError(message, details)
    : new InvalidParameterError(message, details)
}

/** Returns the first five errors, each with its parameter or the index of its batch entry. */
function sayIssues(issues: readonly ServiceIssue[]): string {
  const said = issues.flatMap(({ message, index, parameter }) => {
    if (message === '') return []
    // A long message is cut, and the service may leave the parameter out of it.
    const about = parameter === undefined || message.includes(parameter) ? message : `${parameter}: ${message}`
    return [index === undefined ? about : `entry ${index}: ${about}`]
  })
  return said.slice(0, 5).join('; ') + (said.length > 5 ? `; and ${said.length - 5} more` : '')
}

/** Every answer of the advertising interface is an object with `data`: records, an array of them, or texts (spec, Conventions). */
function hasData(endpoint: Endpoint, decoded: Decoded): boolean {
  if (decoded.kind !== 'json' || !isRecord(decoded.value) || !('data' in decoded.value)) return false
  const { data } = decoded.value
  // A list that holds nothing may read as null.
  if (data === null) return endpoint.answer.many
  const items = Array.isArray(data) ? (data as readonly unknown[]) : [data]
  return items.every((item) => isRecord(item) || (endpoint.answer.many && typeof item === 'string'))
}

function reason(error: Error): string {
  return cleanText(error.message !== '' ? error.message : String(recordOf(error)['code'] ?? error.name))
}
