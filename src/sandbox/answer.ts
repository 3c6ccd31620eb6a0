/** Converts replies and refusals to status, headers and bytes. */
import type { Endpoint } from '../service/contract/endpoint.ts'
import type { ServerResponse } from 'node:http'
import type { Reply } from './area.ts'
import { ADS_STATUS } from './adsCodes.ts'
import type { AdsError, Refusal } from './refusal.ts'
import type { RateState } from './verify/rates.ts'
import { CURRENT_VERSION, OLDER_VERSION } from './versions.ts'

export interface Answer {
  status: number
  headers: Record<string, string>
  body: Buffer | string
  readonly stream?: (response: ServerResponse) => void
}

const JSON_TYPE = 'application/json; charset=utf-8'

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

/** `integerCodes`: the other reading of spec 7, the code is the status (docs/spec-notes.md#errors 'Code type'). */
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

/** The trio of the user level on every response; that of the account where it governs (docs/spec-notes.md#limits). */
export function rateHeaders(rate: RateState): Record<string, string> {
  const trio = (prefix: string): Record<string, string> => ({
    [`${prefix}-limit`]: String(rate.limit),
    [`${prefix}-remaining`]: String(rate.remaining),
    [`${prefix}-reset`]: String(rate.resetS),
  })
  return rate.account ? { ...trio('x-rate-limit'), ...trio('x-account-rate-limit') } : trio('x-rate-limit')
}

/** Every answer of the advertising interface names the current version, also where no route was found (docs/spec-notes.md#limits 'Others'). */
export function commonHeaders(endpoint: Endpoint | undefined, rawPath: string): Readonly<Record<string, string>> {
  if (endpoint === undefined ? isCorePath(rawPath) : endpoint.host === 'core') return {}
  return rawPath.startsWith(`/${OLDER_VERSION}/`) ? OLDER_HEADERS : ADS_HEADERS
}

/** Paths of the core host; everything else is the advertising host's. */
export function isCorePath(rawPath: string): boolean {
  return /^\/(?:oauth2?|1\.1|2)(?:\/|$)/.test(rawPath)
}

/** JSON with bigint as its exact digits (docs/spec-notes.md#echoes-and-cursors 'int64'). */
export function exactJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    // A bigint inside: JSON.rawJSON prints it without the detour over a double.
    return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? RawJson.rawJSON(String(inner)) : inner))
  }
}

export function errorPage(status: number): string {
  return `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>${status}</h1><p>Something is technically wrong.</p></body></html>\n`
}

// Not yet in the type library of es2024; Node 24 has it.
const RawJson = JSON as unknown as { rawJSON: (text: string) => unknown }
const ADS_HEADERS: Readonly<Record<string, string>> = { 'x-current-api-version': CURRENT_VERSION }
const OLDER_HEADERS: Readonly<Record<string, string>> = {
  ...ADS_HEADERS,
  'x-api-warn': `Version ${OLDER_VERSION} of this interface is deprecated. Version ${CURRENT_VERSION} is current`,
}

function integerCode(error: AdsError): unknown {
  return { ...error, code: ADS_STATUS.get(error.code) ?? 400 }
}
