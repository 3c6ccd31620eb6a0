/** Answers that a fault gives in place of the handler's: statuses, pages, waits, ended tokens (docs/sandbox.md). */
import { errorPage, exactJson, type Answer } from '../answer.ts'
import { authState, claimedCaller, invalidToken, tokenRefused } from '../verify/authenticate.ts'
import { whole, type Fault } from './faultKinds.ts'
import type { FaultContext } from './faultContext.ts'
import { adsRefusal, coreRefusal, tooMany, type Refusal } from '../refusal.ts'
import { textOf } from '../text.ts'
import type { Watch } from '../ledger/watch.ts'
import type { SandboxWorld } from '../state/world.ts'

type Refuse = (refusal: Refusal) => Answer

interface Around {
  readonly world: SandboxWorld
  readonly watch: Watch
}

/** Kinds whose answer does not come from the handler. */
export const OWN_ANSWER = new Set(['status', 'html', 'empty', 'rate_limit', 'expire_token'])

/** The answer of a fault that gives one of its own. */
export function injectedAnswers({ world, watch }: Around, requestContext: FaultContext, fault: Fault, refuse: Refuse): Answer {
  switch (fault.kind) {
    case 'rate_limit':
      return rateLimited({ world, watch }, requestContext, fault, refuse)
    case 'expire_token':
      return expired(world, requestContext, refuse)
    case 'html':
      return {
        status: whole(fault['status'], 502),
        headers: { 'content-type': 'text/html;charset=utf-8' },
        body: errorPage(whole(fault['status'], 502)),
      }
    case 'empty':
      return { status: whole(fault['status'], 200), headers: headersOf(fault), body: '' }
    default: {
      const answer = statusAnswer(requestContext, fault, refuse)
      const waitS = Number(answer.headers['retry-after'])
      if (waitS > 0)
        watch.askedToWait(
          requestContext.entry,
          claimedCaller(world, requestContext.request.headers.authorization),
          world.machineNow() + waitS * 1000,
        )
      return answer
    }
  }
}

function rateLimited({ world, watch }: Around, requestContext: FaultContext, fault: Fault, refuse: Refuse): Answer {
  const nowS = world.machineNow() / 1000
  const retryAfter = fault['retry_after']
  const reset = fault['reset']
  const headers: Record<string, string> = {}
  if (retryAfter !== undefined) headers['retry-after'] = textOf(retryAfter)
  // A reset below a billion is meant as seconds from now, not as a time in 1970.
  const resetS = typeof reset === 'number' ? (reset < 1_000_000_000 ? Math.ceil(nowS + reset) : reset) : undefined
  if (reset !== undefined)
    Object.assign(headers, { 'x-rate-limit-limit': '1500', 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': textOf(resetS ?? reset) })
  const untilS = Math.max(typeof retryAfter === 'number' ? nowS + retryAfter : 0, resetS ?? 0)
  if (untilS > nowS)
    watch.askedToWait(requestContext.entry, claimedCaller(world, requestContext.request.headers.authorization), untilS * 1000)
  const answer = refuse(tooMany(requestContext.endpoint?.host, headers))
  Object.assign(answer.headers, headersOf(fault))
  return answer
}

/** A bearer token ends for good; an access token is refused this once, because nothing could renew it. */
function expired(world: SandboxWorld, requestContext: FaultContext, refuse: Refuse): Answer {
  const isBearer = /^\s*bearer/i.test(requestContext.request.headers.authorization ?? '')
  if (isBearer) authState(world).bearer = null
  return refuse(invalidToken(isBearer ? '' : '.'))
}

function statusAnswer(requestContext: FaultContext, fault: Fault, refuse: Refuse): Answer {
  const status = whole(fault['status'], 500)
  const body = fault['body']
  if (body !== undefined) {
    const text = typeof body === 'string' ? body : exactJson(body)
    const type =
      typeof body !== 'string'
        ? 'application/json; charset=utf-8'
        : body.trimStart().startsWith('<')
          ? 'text/html;charset=utf-8'
          : 'text/plain;charset=utf-8'
    return { status, headers: { 'content-type': type, ...headersOf(fault) }, body: text }
  }
  const answer =
    status >= 400
      ? refuse(
          status === 403 && requestContext.endpoint?.name.startsWith('oauth2.') === true
            ? tokenRefused()
            : requestContext.endpoint?.host === 'core'
              ? coreRefusal(status, CORE_CODES[status] ?? 131, 'Internal error')
              : adsRefusal(ADS_CODES[status] ?? 'INTERNAL_ERROR', `The service answered ${status}`, { status }),
        )
      : { status, headers: {}, body: '' }
  Object.assign(answer.headers, headersOf(fault))
  return answer
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
  const { headers } = fault
  return typeof headers === 'object' && headers !== null
    ? Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]))
    : {}
}
