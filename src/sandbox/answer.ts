/** Converts the replies of handlers, and refusals, to status, headers and body. */
import type { Endpoint } from '../service/contract/endpoint.ts'
import type { ServerResponse } from 'node:http'
import type { Reply } from './area.ts'
import { ADS_STATUS } from './adsCodes.ts'
import type { AdsError, Refusal } from './refusal.ts'
import type { RateState } from './verify/rates.ts'
import { CURRENT_VERSION, isCorePath, OLDER_VERSION } from './paths.ts'

/** Answer to a request, before it is sent. */
export interface Answer {
  status: number
  headers: Record<string, string>
  body: Buffer | string
  /** Writes the whole answer on a connection that stays open. `headers` and `body` are then not used. `status` is only for the ledger. */
  readonly stream?: (response: ServerResponse) => void
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** Converts the reply of a handler. `echo`: `request.params` of an `ads` reply that has no `request` of its own. */
export function answerOf(reply: Reply, echo: Readonly<Record<string, unknown>>): Answer {
  switch (reply.kind) {
    case 'ads': {
      const body: Record<string, unknown> = { request: reply.request ?? { params: echo } }
      if (reply.nextCursor !== undefined) body['next_cursor'] = reply.nextCursor
      if (reply.totalCount !== undefined) body['total_count'] = reply.totalCount
      if (reply.more !== undefined) Object.assign(body, reply.more)
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

/**
 * Converts a refusal. `echo`: `request.params` of a body of kind `ads`. `style.integerCodes`: replaces each code in such a body by its HTTP
 * status (the switch `ads_error_codes`). `style.body`: value of the switch `error_body`.
 */
export function answerOfRefusal(
  refusal: Refusal,
  echo: Readonly<Record<string, unknown>>,
  style: { readonly integerCodes: boolean; readonly body: string },
): Answer {
  const { status, body } = refusal
  const headers = { 'content-type': JSON_TYPE, ...refusal.headers }
  if (style.body === 'html') return { status, headers: { ...headers, 'content-type': 'text/html;charset=utf-8' }, body: errorPage(status) }
  if (style.body === 'empty') return { status, headers: { ...refusal.headers }, body: '' }
  switch (body.kind) {
    case 'ads': {
      const errors = style.integerCodes ? body.errors.map((error) => integerCode(error)) : body.errors
      return { status, headers, body: exactJson({ errors, request: { params: echo } }) }
    }
    case 'core':
      return { status, headers, body: exactJson({ errors: body.errors }) }
    case 'json':
      return { status, headers, body: exactJson(body.body) }
  }
}

/** Returns the rate limit headers. The limit of an ad account is in `x-account-rate-limit-…` too (docs/spec-notes.md#limits). */
export function rateHeaders(rate: RateState): Record<string, string> {
  const trio = (prefix: string): Record<string, string> => ({
    [`${prefix}-limit`]: String(rate.limit),
    [`${prefix}-remaining`]: String(rate.remaining),
    [`${prefix}-reset`]: String(rate.resetS),
  })
  return rate.isOfAccount ? { ...trio('x-rate-limit'), ...trio('x-account-rate-limit') } : trio('x-rate-limit')
}

/**
 * Returns the headers of every answer of the advertising host: the current version, and a warning on a path of the older version. Returns
 * none for the core host. `endpoint` is undefined for an unknown path. The beginning of the path then determines the host.
 */
export function commonHeaders(endpoint: Endpoint | undefined, rawPath: string): Readonly<Record<string, string>> {
  if (endpoint === undefined ? isCorePath(rawPath) : endpoint.host === 'core') return {}
  return rawPath.startsWith(`/${OLDER_VERSION}/`) ? OLDER_HEADERS : ADS_HEADERS
}

/** Converts a value to JSON. Writes bigint with exact digits (docs/spec-notes.md#echoes-and-cursors). */
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

function integerCode(error: AdsError): unknown {
  return { ...error, code: ADS_STATUS.get(error.code) ?? 400 }
}
