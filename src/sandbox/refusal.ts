/** Creates refusals, and replies of the advertising host. Any layer may throw a refusal; the request handler converts it to an answer. */
import type { Reply, World } from './area.ts'
import type { Endpoint } from '../service/contract/endpoint.ts'
import { STATUS_BY_ADS_CODE } from './adsCodes.ts'
import type { SwitchValue } from './state/switches.ts'
import { textOf } from './text.ts'

/** Beginning of the `type` of v2 problems (docs/spec-notes.md#posts). One more segment follows, such as `/invalid-request`. */
export const PROBLEMS = 'https://api.example.com/2/problems'

/** Entry of `errors` in an answer of the advertising host (docs/spec-notes.md#errors). */
export interface AdsError {
  readonly code: string
  readonly message: string
  readonly parameter?: string
  readonly details?: string
  readonly value?: unknown
}

export type RefusalBody =
  /** `{ errors, request: { params } }` of the advertising host. */
  | { readonly kind: 'ads'; readonly errors: readonly AdsError[] }
  /** `{ errors: [{ code, message }] }` of /oauth, /oauth2 and /1.1, and of some refusals of other paths. */
  | { readonly kind: 'core'; readonly errors: readonly { readonly code: number; readonly message: string; readonly label?: string }[] }
  /** Any other JSON body: v2 problems, `operation_errors`. */
  | { readonly kind: 'json'; readonly body: unknown }

/** Refusal of a request. `headers`: headers of the answer besides those of every answer. */
export class Refusal extends Error {
  readonly status: number
  readonly body: RefusalBody
  readonly headers: Readonly<Record<string, string>>
  /**
   * True if correct operations of the refused request were applied (the switch `partial_apply`). `StateWriter` sets it to false if a fault
   * omitted all of them.
   */
  isPartlyApplied = false
  constructor(status: number, body: RefusalBody, headers: Readonly<Record<string, string>> = {}) {
    super(`refused with ${status}`)
    this.status = status
    this.body = body
    this.headers = headers
  }
}

/** Returns a refusal of the advertising host with one error. Default of `status`: that of the code in `STATUS_BY_ADS_CODE`, or else 400. */
export function adsRefusal(
  code: string,
  message: string,
  options: { parameter?: string; details?: string; value?: unknown; status?: number } = {},
): Refusal {
  const { status, ...rest } = options
  return adsRefusals([{ code, message, ...rest }], status)
}

/** Returns a refusal of the advertising host with several errors. Default of `status`: as for `adsRefusal` with the first error. */
export function adsRefusals(errors: readonly AdsError[], status?: number): Refusal {
  return new Refusal(status ?? STATUS_BY_ADS_CODE.get(errors[0]?.code ?? '') ?? 400, { kind: 'ads', errors })
}

/** Returns the errors in a form of the switch `ads_error_codes`. With `integer`, the HTTP status of each code replaces the code. */
export function withCodes(
  form: SwitchValue<'ads_error_codes'>,
  errors: readonly AdsError[],
): readonly (Omit<AdsError, 'code'> & { readonly code: string | number })[] {
  return form === 'string' ? errors : errors.map((error) => ({ ...error, code: STATUS_BY_ADS_CODE.get(error.code) ?? 400 }))
}

export function missingParameter(name: string): AdsError {
  return { code: 'MISSING_PARAMETER', message: `"${name}" is a required parameter`, parameter: name }
}

/**
 * Returns the error for a wrong value: `Expected EXPECTED, got "VALUE" for NAME`. Shows at most 200 characters of the value. Default of
 * `details`: `invalid NAME`.
 */
export function invalidParameter(name: string, expected: string, value: unknown, details?: string): AdsError {
  const text =
    typeof value === 'string' || typeof value === 'bigint'
      ? String(value)
      : (JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v)) ?? '')
  const shown = text.slice(0, 200)
  return {
    parameter: name,
    details: details ?? `invalid ${name}`,
    code: 'INVALID_PARAMETER',
    value: shown,
    message: `Expected ${expected}, got "${shown}" for ${name}`,
  }
}

export function exclusiveParameters(names: readonly string[]): AdsError {
  return {
    code: 'EXCLUSIVE_PARAMETERS',
    message: `${names.map((name) => `"${name}"`).join(' and ')} are mutually exclusive`,
    parameter: names[0] ?? '',
  }
}

/**
 * Returns the 404 for an unknown record: `notFound('LINE_ITEM_NOT_FOUND', 'line_item_id', id)`. The message has the name of the resource
 * from the code. The code `NOT_FOUND` has no name, so the message takes it from the parameter.
 */
export function notFound(code: string, parameter: string, id: string): Refusal {
  const resource = code === 'NOT_FOUND' ? parameter.replace(/_ids?$/, '') : code.replace(/_NOT_FOUND$/, '').toLowerCase()
  return adsRefusal(code, `${resource.replaceAll('_', ' ')} ${id} was not found`, { parameter, status: 404 })
}

/** Returns a refusal of the core host: `{ errors: [{ code, message }] }`. */
export function coreRefusal(status: number, code: number, message: string, label?: string): Refusal {
  return new Refusal(status, { kind: 'core', errors: [label === undefined ? { code, message } : { code, label, message }] })
}

/** Returns the 403 code 415 for a callback URL that the app has not approved. */
export function callbackRefusal(): Refusal {
  const message =
    'Callback URL not approved for this client application. Approved callback URLs can be adjusted in your application settings'
  return coreRefusal(403, 415, message)
}

/** Returns the 403 code 99 of `/oauth2`, for wrong credentials, wrong parameters and too many requests (docs/spec-notes.md#tokens). */
export function oauth2Refusal(): Refusal {
  return coreRefusal(403, 99, 'Unable to verify your credentials', 'authenticity_token_error')
}

/** Returns the 401 code 89 for an invalid token. Only the message for access tokens ends with a full stop. */
export function invalidTokenRefusal(token: 'access' | 'bearer'): Refusal {
  return coreRefusal(401, 89, token === 'access' ? 'Invalid or expired token.' : 'Invalid or expired token')
}

export function jsonRefusal(status: number, body: unknown): Refusal {
  return new Refusal(status, { kind: 'json', body })
}

/**
 * Returns the 400 of a request with several operations. The field `operation_errors` has a list of errors for each operation. With the
 * switch `operation_errors: flat`, the field has only the first error of each operation, or null.
 */
export function operationRefusal(world: World, errors: readonly (readonly AdsError[])[], request: unknown): Refusal {
  const coded = errors.map((one) => withCodes(world.switchValue('ads_error_codes'), one))
  const shown = world.switchValue('operation_errors') === 'flat' ? coded.map((one) => one[0] ?? null) : coded
  return jsonRefusal(400, { operation_errors: shown, request })
}

/** Returns a refusal of v2 as a problem (docs/spec-notes.md#posts). `slug`: last segment of its type, or `about:blank`. */
export function v2Problem(status: number, title: string, detail: string, slug: string): Refusal {
  const type = slug === 'about:blank' ? slug : `${PROBLEMS}/${slug}`
  return jsonRefusal(status, { title, detail, type, status })
}

/** Returns the 400 of v2 with each wrong parameter and its value. */
export function v2ParameterRefusals(
  wrong: readonly { readonly name: string; readonly value: string; readonly message: string }[],
): Refusal {
  return jsonRefusal(400, {
    errors: wrong.map(({ name, value, message }) => ({ parameters: { [name]: [value] }, message })),
    title: 'Invalid Request',
    detail: 'One or more parameters to your request was invalid.',
    type: `${PROBLEMS}/invalid-request`,
  })
}

/** Returns the 400 of v2 with one wrong parameter. */
export function v2ParameterRefusal(name: string, value: string, message: string): Refusal {
  return v2ParameterRefusals([{ name, value, message }])
}

/** Returns the refusal for wrong parameters in the form of the endpoint's host (docs/spec-notes.md#errors). */
export function parameterRefusal(endpoint: Endpoint, errors: readonly AdsError[]): Refusal {
  // One error has the status of its code. Several errors have 400.
  if (endpoint.host !== 'core') return adsRefusals(errors, errors.length > 1 ? 400 : undefined)
  if (endpoint.path.startsWith('/2/'))
    return v2ParameterRefusals(errors.map(({ parameter, value, message }) => ({ name: parameter ?? '', value: textOf(value), message })))
  if (endpoint.name.startsWith('oauth2.')) return oauth2Refusal()
  if (endpoint.name === 'oauth.requestToken' && errors[0]?.parameter === 'oauth_callback') return callbackRefusal()
  if (endpoint.name === 'oauth.accessToken' && errors[0]?.code === 'MISSING_PARAMETER')
    return coreRefusal(401, 32, 'Could not authenticate you.')
  return coreRefusal(400, 214, `Bad request parameters: ${errors.map((error) => error.message).join('; ')}`)
}

/** Returns the 429 in the form of the host; without a host, of the core host. The texts are assumed (docs/spec-notes.md#unknown). */
export function rateLimitRefusal(host: string | undefined, headers: Readonly<Record<string, string>>): Refusal {
  if (host !== undefined && host !== 'core')
    return new Refusal(429, { kind: 'ads', errors: [{ code: 'TOO_MANY_REQUESTS', message: 'Too many requests' }] }, headers)
  return new Refusal(429, { kind: 'core', errors: [{ code: 88, message: 'Rate limit exceeded' }] }, headers)
}

/** Returns the reply of the advertising host with `data`. */
export const ok = (data: unknown): Reply => ({ kind: 'ads', data })

/** Returns the reply for a deleted record that later reads do not show, even with `with_deleted` (spec 3.3). */
export const okDeleted = (record: object): Reply => ok({ ...record, deleted: true })

/** Returns the reply for a list without further pages: `next_cursor` is null (spec Conventions). */
export const okWholeList = (data: readonly unknown[]): Reply => ({ kind: 'ads', data, nextCursor: null })
