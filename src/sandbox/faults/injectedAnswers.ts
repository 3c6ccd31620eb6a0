/** Implements the faults that replace the answer of the handler (docs/sandbox.md#faults). */
import type { Endpoint } from '../../service/contract/endpoint.ts'
import { errorPage, exactJson, type Answer } from '../answer.ts'
import { areaRefs } from '../areaRefs.ts'
import { claimedCaller } from '../verify/authenticate.ts'
import { integerSetting, type Fault } from './faultKinds.ts'
import type { FaultContext } from './faultContext.ts'
import { adsRefusal, coreRefusal, invalidTokenRefusal, oauth2Refusal, rateLimitRefusal, type Refusal } from '../refusal.ts'
import { textOf } from '../text.ts'
import type { TrafficRules } from '../ledger/trafficRules.ts'
import type { SandboxWorld } from '../state/world.ts'
import { recordOf } from '../../unknownValue.ts'

type ToAnswer = (refusal: Refusal) => Answer

interface InjectionParts {
  readonly world: SandboxWorld
  readonly trafficRules: TrafficRules
}

const INJECTED_KINDS = ['status', 'html', 'empty', 'rate_limit', 'expire_token'] as const
/** Kind that this module implements. */
export type InjectedKind = (typeof INJECTED_KINDS)[number]

export function isInjected(kind: string): kind is InjectedKind {
  return INJECTED_KINDS.some((one) => one === kind)
}

/**
 * Returns the answer of a fault of an injected kind. `toAnswer` converts a refusal. `status` and `rate_limit` also record the wait that the
 * headers of the answer request.
 */
export function injectAnswer(parts: InjectionParts, context: FaultContext, fault: Fault, toAnswer: ToAnswer): Answer {
  switch (fault.kind) {
    case 'rate_limit':
      return rateLimitAnswer(parts, context, fault, toAnswer)
    case 'expire_token':
      return expireToken(parts.world, context, toAnswer)
    case 'html':
      return {
        status: integerSetting(fault, 'status', 502),
        headers: { 'content-type': 'text/html;charset=utf-8', ...headersOf(fault) },
        body: errorPage(integerSetting(fault, 'status', 502)),
      }
    case 'empty':
      return { status: integerSetting(fault, 'status', 200), headers: headersOf(fault), body: '' }
    default: {
      const answer = statusAnswer(context, fault, toAnswer)
      const waitS = requestedWaitS(answer)
      if (waitS > 0) recordWait(parts, context, parts.world.machineNow() + waitS * 1000)
      return answer
    }
  }
}

function rateLimitAnswer(parts: InjectionParts, context: FaultContext, fault: Fault, toAnswer: ToAnswer): Answer {
  const nowS = parts.world.machineNow() / 1000
  const retryAfter = fault['retry_after']
  const { reset } = fault
  const headers: Record<string, string> = {}
  if (retryAfter !== undefined) headers['retry-after'] = textOf(retryAfter)
  if (reset !== undefined) {
    // A text is sent as it is. So the header may have a form that the specification does not name.
    const shown = typeof reset === 'number' ? Math.ceil(epochSeconds(reset, nowS)) : reset
    Object.assign(headers, { 'x-rate-limit-limit': '1500', 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': textOf(shown) })
  }
  const answer = toAnswer(rateLimitRefusal(context.endpoint?.host, headers))
  Object.assign(answer.headers, headersOf(fault))
  const untilS = Math.max(nowS + requestedWaitS(answer), epochSeconds(Number(answer.headers['x-rate-limit-reset']) || 0, nowS))
  if (untilS > nowS) recordWait(parts, context, untilS * 1000)
  return answer
}

/** Returns a reset in seconds since 1970. A reset below a billion is in seconds from now. */
function epochSeconds(reset: number, nowS: number): number {
  return reset < 1_000_000_000 ? nowS + reset : reset
}

/** Returns the seconds of the header `retry-after`; 0 if it is absent or not a number. */
function requestedWaitS({ headers }: Answer): number {
  return Number(headers['retry-after']) || 0
}

function recordWait({ world, trafficRules }: InjectionParts, { entry, request }: FaultContext, until: number): void {
  trafficRules.recordWait(entry, claimedCaller(world, request.headers.authorization), until)
}

/** Returns the 401 for an invalid token. Invalidates a bearer token, but not an access token, because no call could renew it. */
function expireToken(world: SandboxWorld, context: FaultContext, toAnswer: ToAnswer): Answer {
  const isBearer = /^\s*bearer/i.test(context.request.headers.authorization ?? '')
  if (isBearer) world.recordEvent(areaRefs.auth, { kind: 'bearer_expired' })
  return toAnswer(invalidTokenRefusal(isBearer ? 'bearer' : 'access'))
}

/** Returns the answer with the fault's `status` and `body`. Default body: empty below status 400, else an error in the form of the host. */
function statusAnswer(context: FaultContext, fault: Fault, toAnswer: ToAnswer): Answer {
  const status = integerSetting(fault, 'status', 500)
  const { body } = fault
  const answer =
    body !== undefined
      ? answerWithBody(status, body)
      : status >= 400
        ? toAnswer(refusalOf(status, context.endpoint))
        : { status, headers: {}, body: '' }
  Object.assign(answer.headers, headersOf(fault))
  return answer
}

function answerWithBody(status: number, body: unknown): Answer {
  if (typeof body !== 'string') return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: exactJson(body) }
  const type = body.trimStart().startsWith('<') ? 'html' : 'plain'
  return { status, headers: { 'content-type': `text/${type};charset=utf-8` }, body }
}

function refusalOf(status: number, endpoint: Endpoint | undefined): Refusal {
  if (status === 403 && endpoint?.name.startsWith('oauth2.') === true) return oauth2Refusal()
  if (endpoint?.host === 'core') return coreRefusal(status, CORE_CODES[status] ?? 131, 'Internal error')
  return adsRefusal(ADS_CODES[status] ?? 'INTERNAL_ERROR', `The service answered ${status}`, { status })
}

const ADS_CODES: Readonly<Record<number, string>> = {
  400: 'INVALID_PARAMETER',
  401: 'UNAUTHORIZED_ACCESS',
  403: 'ACTION_NOT_ALLOWED',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'CANCELLED_REQUEST',
  413: 'REQUEST_TOO_COMPLEX',
  423: 'LOCK_ACQUISITION_TIMEOUT',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_ERROR',
  503: 'SERVICE_UNAVAILABLE',
}
const CORE_CODES: Readonly<Record<number, number>> = { 400: 215, 401: 89, 403: 220, 404: 34, 429: 88, 503: 130 }

function headersOf(fault: Fault): Record<string, string> {
  return Object.fromEntries(Object.entries(recordOf(fault['headers'])).map(([name, value]) => [name.toLowerCase(), String(value)]))
}
