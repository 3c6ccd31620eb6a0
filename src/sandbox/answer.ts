/** Converts replies of handlers, and refusals, to HTTP answers. */
import type { Endpoint } from '../service/contract/endpoint.ts'
import type { ServerResponse } from 'node:http'
import type { Reply } from './area.ts'
import { withCodes, type Refusal } from './refusal.ts'
import type { SwitchValue } from './state/switches.ts'
import type { RateState } from './verify/rates.ts'
import { CURRENT_VERSION, isCorePath, OLDER_VERSION } from './paths.ts'

/** HTTP answer that is not sent yet. */
export interface Answer {
  status: number
  headers: Record<string, string>
  body: Buffer | string
  /** Writes the answer after `headers`, on a connection that stays open. If set, `body` is not sent. */
  readonly stream?: (response: ServerResponse) => void
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** Converts the reply of a handler to an answer. `echo`: value of `request.params`, if an `ads` reply has no `request`. */
export function answerOf(reply: Reply, echo: Readonly<Record<string, unknown>>): Answer {
  switch (reply.kind) {
    case 'ads': {
      const body: Record<string, unknown> = { request: reply.request ?? { params: echo } }
      if (reply.nextCursor !== undefined) body['next_cursor'] = reply.nextCursor
      if (reply.totalCount !== undefined) body['total_count'] = reply.totalCount
      if (reply.extraKeys !== undefined) Object.assign(body, reply.extraKeys)
      body['data'] = reply.data
      return { status: reply.status ?? 200, headers: { 'content-type': JSON_TYPE }, body: exactJson(body) }
    }
    case 'json':
      return {
        status: reply.status ?? 200,
        headers: { 'content-type': JSON_TYPE, ...reply.headers },
        body: reply.body === undefined ? '' : exactJson(reply.body),
      }
    case 'text':
      return { status: reply.status ?? 200, headers: { 'content-type': reply.type, ...reply.headers }, body: reply.body }
    case 'stream':
      return { status: 200, headers: {}, body: '', stream: reply.open }
  }
}

/** Values of switches that change the answers to refused requests. */
interface RefusalStyle {
  /** Value of the switch `ads_error_codes`, for bodies of kind `ads`. */
  readonly codes: SwitchValue<'ads_error_codes'>
  /** Value of the switch `error_body`. */
  readonly body: string
}

/** Converts a refusal to an answer. `echo`: value of `request.params` in a body of kind `ads`. */
export function answerOfRefusal(refusal: Refusal, echo: Readonly<Record<string, unknown>>, style: RefusalStyle): Answer {
  const { status, body } = refusal
  const headers = { 'content-type': JSON_TYPE, ...refusal.headers }
  if (style.body === 'html') return { status, headers: { ...headers, 'content-type': 'text/html;charset=utf-8' }, body: errorPage(status) }
  if (style.body === 'empty') return { status, headers: { ...refusal.headers }, body: '' }
  switch (body.kind) {
    case 'ads':
      return { status, headers, body: exactJson({ errors: withCodes(style.codes, body.errors), request: { params: echo } }) }
    case 'core':
      return { status, headers, body: exactJson({ errors: body.errors }) }
    case 'json':
      return { status, headers, body: exactJson(body.body) }
  }
}

/** Returns the rate limit headers. For the limit of an account, adds `x-account-rate-limit-…` (docs/spec-notes.md#limits). */
export function rateHeaders(rate: RateState): Record<string, string> {
  const withPrefix = (prefix: string): Record<string, string> => ({
    [`${prefix}-limit`]: String(rate.limit),
    [`${prefix}-remaining`]: String(rate.remaining),
    [`${prefix}-reset`]: String(rate.resetS),
  })
  return rate.isOfAccount ? { ...withPrefix('x-rate-limit'), ...withPrefix('x-account-rate-limit') } : withPrefix('x-rate-limit')
}

/**
 * Returns the headers of every answer of the advertising host; none for the core host. The headers name the current version. On a
 * path of the older version, one of them warns. `endpoint`: undefined for an unknown path; `rawPath` then decides the host.
 */
export function commonHeaders(endpoint: Endpoint | undefined, rawPath: string): Readonly<Record<string, string>> {
  if (endpoint === undefined ? isCorePath(rawPath) : endpoint.host === 'core') return {}
  return rawPath.startsWith(`/${OLDER_VERSION}/`) ? OLDER_HEADERS : ADS_HEADERS
}

/** Converts a value to JSON. Writes all digits of a bigint (docs/spec-notes.md#echoes-and-cursors). */
export function exactJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    // The value contains a bigint, which JSON.stringify rejects.
    return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? JSON.rawJSON(String(inner)) : inner))
  }
}

/** Returns an HTML page that shows the status. */
export function errorPage(status: number): string {
  return `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>${status}</h1><p>Something is technically wrong.</p></body></html>\n`
}

const ADS_HEADERS: Readonly<Record<string, string>> = { 'x-current-api-version': CURRENT_VERSION }
const OLDER_HEADERS: Readonly<Record<string, string>> = {
  ...ADS_HEADERS,
  'x-api-warn': `Version ${OLDER_VERSION} of this interface is deprecated. Version ${CURRENT_VERSION} is current`,
}
