/** Builds the request of a call: path, query, form or JSON body from the parameters, as the contract describes them. */
import type { Endpoint } from '../contract/endpoint.ts'
import { stringifyExact } from './decode.ts'
import { describeParameter, describeParameters } from './describeParameter.ts'
import { percentEncode } from './encode.ts'
import { CallError } from './serviceErrors.ts'

/** Parameters of a call by name. An undefined value counts as missing. */
export type Params = Readonly<Record<string, unknown>>

/** Request of a call without its credentials. */
export interface BuiltRequest {
  /** Path with the version and encoded parameters. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** Parameters of a form body. Only on the core host, and not below `/oauth/`. */
  readonly form?: Readonly<Record<string, string>>
  /** JSON as UTF-8. */
  readonly body?: Uint8Array
  /** Additional OAuth parameters of the signature (`oauth_callback`, `oauth_verifier`, `oauth_token`). */
  readonly oauth: Readonly<Record<string, string>>
}

/**
 * Builds the request of a call. In path, query and form, lists are joined by commas, and null is an empty value; JSON bodies keep both.
 * Times are in UTC without milliseconds. Does not check bounds and rules of values: the service does. `version`: replaces the `12` of
 * advertising paths.
 *
 * @throws {CallError} in these cases:
 * - A parameter is unknown or missing.
 * - `body` is not an array, although the endpoint takes one.
 * - A time or number is invalid.
 * - A list entry has a comma.
 */
export function buildRequest(endpoint: Endpoint, params: Params, version: string): BuiltRequest {
  throwIfUnknown(endpoint, params)
  const query: Record<string, string> = {}
  const fields: Record<string, unknown> = {}
  const oauth: Record<string, string> = {}
  let path = endpoint.path

  for (const parameter of endpoint.parameters) {
    const { name } = parameter
    if (endpoint.bodyIs === 'array' && parameter.in === 'body') continue
    const value = Object.hasOwn(params, name) ? params[name] : undefined
    if (value === undefined) {
      if (
        parameter.required === true &&
        !(endpoint.bodyIs === 'object-or-array' && parameter.in === 'body' && params['body'] !== undefined)
      )
        throwMissing(endpoint, name)
      continue
    }
    if (parameter.in === 'body') fields[name] = value
    else {
      const text = toText(endpoint, name, value)
      // The service would read one entry with a comma as two, such as the keyword `fish, chips`.
      if (parameter.type === 'csv' && Array.isArray(value) && value.some((item) => typeof item === 'string' && item.includes(',')))
        throw callError(endpoint, name, 'has an entry with a comma, which the service cannot take')
      if (parameter.in === 'path') {
        // An empty segment, `.` and `..` would lead to another path.
        if (text === '') throwMissing(endpoint, name)
        if (text === '.' || text === '..') throw callError(endpoint, name, `must not be "${text}"`)
        path = path.replace(new RegExp(`:${name}(?![a-z_])`), () => percentEncode(text))
      } else if (parameter.in === 'oauth') oauth[name] = text
      else query[name] = text
    }
  }
  const isFormBody = endpoint.host === 'core' && endpoint.body === 'form' && !endpoint.path.startsWith('/oauth/')
  const body = endpoint.body === 'json' ? toBody(endpoint, params, fields) : undefined
  return {
    path: path.replace(/^\/12\//, `/${version}/`),
    query: isFormBody ? {} : query,
    ...(isFormBody ? { form: query } : {}),
    ...(body === undefined ? {} : { body }),
    oauth,
  }
}

/** Returns the JSON body: the parameter `body` if it is given and the endpoint takes it, else an object of the fields. */
function toBody(endpoint: Endpoint, params: Params, fields: Readonly<Record<string, unknown>>): Uint8Array {
  const wholeBody = params['body']
  if (endpoint.bodyIs === 'array' && !Array.isArray(wholeBody))
    throw new CallError(`${endpoint.name} takes an array`, {
      where: 'body',
      hint: `Give it as body: [ … ], each entry with ${bodyFields(endpoint)}.`,
    })
  return Buffer.from(toJson(endpoint, 'body', takesWholeBody(endpoint) && wholeBody !== undefined ? wholeBody : fields))
}

/** Returns true if the endpoint takes the JSON body as the parameter `body`. */
function takesWholeBody({ bodyIs }: Endpoint): boolean {
  return bodyIs === 'array' || bodyIs === 'object-or-array'
}

function bodyFields(endpoint: Endpoint): string {
  return endpoint.parameters
    .filter((one) => one.in === 'body')
    .map(({ name }) => name)
    .join(', ')
}

/** Returns the value of a parameter as text. `name`: the parameter, for errors. */
function toText(endpoint: Endpoint, name: string, given: unknown): string {
  const value = toPlain(endpoint, name, given)
  if (value === null) return ''
  if (Array.isArray(value)) return value.map((item: unknown) => toText(endpoint, name, item)).join(',')
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return String(value)
  return toJson(endpoint, name, value)
}

/** Returns the value as JSON. `name`: the parameter, for errors about a value without a key. */
function toJson(endpoint: Endpoint, name: string, value: unknown): string {
  // JSON.stringify passes a date to the replacer as text with milliseconds, or as null, so the given value is read.
  return stringifyExact(value, (key, given, plain) =>
    toPlain(endpoint, /^\d*$/.test(key) ? name : key, given instanceof Date ? given : plain),
  )
}

/** Returns the value, or the text of a time. @throws {CallError} for an invalid time or number, a function, and a symbol */
function toPlain(endpoint: Endpoint, name: string, value: unknown): unknown {
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw callError(endpoint, name, 'is not a time')
    return value.toISOString().replace(/\.\d{3}Z$/, 'Z')
  }
  if (typeof value === 'number' && !Number.isFinite(value)) throw callError(endpoint, name, 'is not a number')
  // JSON.stringify omits a function or symbol.
  if (typeof value === 'function' || typeof value === 'symbol') throw callError(endpoint, name, `is a ${typeof value}`)
  // An id beyond 2^53 is rounded when it becomes a number, and would then name another record.
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw callError(endpoint, name, 'is too large for a number; give it as text or bigint')
  return value
}

function throwIfUnknown(endpoint: Endpoint, params: Params): void {
  const known = new Set<string>(
    endpoint.parameters.filter((one) => endpoint.bodyIs !== 'array' || one.in !== 'body').map(({ name }) => name),
  )
  if (takesWholeBody(endpoint)) known.add('body')
  const unknown = Object.keys(params).filter((name) => !known.has(name) && params[name] !== undefined)
  if (unknown.length > 0) {
    throw new CallError(`${endpoint.name} has no parameter ${unknown.join(', ')}`, {
      where: `${endpoint.method} ${endpoint.path}`,
      hint: `Its parameters: ${describeParameters(endpoint)}.`,
    })
  }
}

function throwMissing(endpoint: Endpoint, name: string): never {
  throw callError(endpoint, name, 'is required')
}

/** Returns the error of a parameter. `problem`: the predicate of the message, such as `is required`. */
function callError(endpoint: Endpoint, name: string, problem: string): CallError {
  return new CallError(`${endpoint.name}: ${name} ${problem}`, {
    where: `${endpoint.method} ${endpoint.path}`,
    hint: describeParameter(endpoint, name) ?? describeParameters(endpoint),
  })
}
