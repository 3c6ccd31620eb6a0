/** Decodes and checks what a request says against its endpoint of the contract; reports every error at once (gaps 4). */
import type { Endpoint, Parameter } from '../../service/contract/endpoint.ts'
import { invalidParameter, missingParameter, type AdsError } from '../refusal.ts'
import { checkConditions } from './conditions.ts'
import { decode } from './decode.ts'
import type { Pair } from './signature.ts'

export interface RequestInput {
  readonly path: Readonly<Record<string, string>>
  /** Query and form pairs, decoded. */
  readonly pairs: readonly Pair[]
  /** Parsed JSON, undefined when there was none. */
  readonly body: unknown
  /** Protocol parameters of the Authorization header. */
  readonly oauth: ReadonlyMap<string, string>
}

export interface Validated {
  readonly params: Record<string, unknown>
  readonly given: Set<string>
  readonly echo: Record<string, unknown>
  readonly errors: AdsError[]
}

export function validate(endpoint: Endpoint, input: RequestInput): Validated {
  const errors: AdsError[] = []
  const params: Record<string, unknown> = { ...input.path }
  const given = new Set(Object.keys(input.path))
  const echo: Record<string, unknown> = {}
  const byName = known(endpoint)
  const seen = new Map<string, string>()
  for (const parameter of endpoint.parameters) {
    if (parameter.in === 'path' && parameter.type !== 'string') take(parameter, input.path[parameter.name] ?? '', params, errors)
    const value = parameter.in === 'oauth' ? input.oauth.get(parameter.name) : undefined
    if (value === undefined) continue
    given.add(parameter.name)
    take(parameter, value, params, errors)
  }
  for (const [name, value] of input.pairs) {
    const parameter = byName.get(name)
    // The signed OAuth endpoints may be sent protocol parameters in the form; elsewhere they are unknown.
    if (parameter === undefined && name.startsWith('oauth_') && takesProtocolParameters(endpoint)) continue
    if (parameter === undefined || parameter.in === 'body') {
      errors.push({
        ...invalidParameter(name, 'a parameter of this endpoint', value, 'unknown parameter'),
        message: `"${name}" is not a parameter of this endpoint`,
      })
      continue
    }
    if (parameter.in === 'path') {
      // The same id again in the query: taken when it agrees (one SDK sends both).
      if (input.path[name] !== value) errors.push(invalidParameter(name, 'the id of the path', value))
      continue
    }
    if (given.has(name) && parameter.in === 'oauth') continue
    // The same in query and form is one parameter; two values for one would be a guess.
    const before = seen.get(name)
    if (before === value) continue
    if (before !== undefined) {
      errors.push(invalidParameter(name, 'one value', value, 'repeated parameter'))
      continue
    }
    seen.set(name, value)
    given.add(name)
    take(parameter, value, params, errors)
  }
  const bareArray = endpoint.bodyIs === 'array'
  takeBody(endpoint, input.body, byName, params, given, errors)
  for (const parameter of endpoint.parameters) {
    if (given.has(parameter.name)) {
      if (params[parameter.name] !== undefined) echo[parameter.name] = echoed(parameter, params[parameter.name])
    } else if (parameter.default !== undefined) params[parameter.name] = defaultOf(parameter)
    else if (parameter.required === true && parameter.in !== 'path' && !(parameter.in === 'body' && bareArray))
      errors.push(missingParameter(parameter.name))
  }
  checkConditions(endpoint, params, given, errors)
  return { params, given, echo, errors }
}

function takesProtocolParameters({ path, auth }: Endpoint): boolean {
  return auth !== 'browser' && /^\/(?:1\.1\/)?oauth2?\//.test(path)
}

function takeBody(
  endpoint: Endpoint,
  body: unknown,
  byName: ReadonlyMap<string, Parameter>,
  params: Record<string, unknown>,
  given: Set<string>,
  errors: AdsError[],
): void {
  if (endpoint.body !== 'json' || body === undefined) return
  if (endpoint.bodyIs === 'array') {
    if (!Array.isArray(body)) errors.push(invalidParameter('body', 'array', ''))
    return
  }
  if (Array.isArray(body) && endpoint.bodyIs === 'object-or-array') {
    const only = endpoint.parameters.find((parameter) => parameter.in === 'body')
    if (only !== undefined) {
      given.add(only.name)
      takeJson(only, body, params, errors)
    }
    return
  }
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return void errors.push(invalidParameter('body', 'object', ''))
  for (const [name, value] of Object.entries(body)) {
    const parameter = byName.get(name)
    if (parameter === undefined || parameter.in !== 'body') {
      errors.push({
        ...invalidParameter(name, 'a field of this body', '', 'unknown field'),
        message: `"${name}" is not a field of this body`,
      })
      continue
    }
    given.add(name)
    if (value === null) params[name] = null
    else takeJson(parameter, value, params, errors)
  }
}

function takeJson(parameter: Parameter, value: unknown, params: Record<string, unknown>, errors: AdsError[]): void {
  const { name, type } = parameter
  if (type === 'array' || type === 'object') {
    const fits = type === 'array' ? Array.isArray(value) : typeof value === 'object' && !Array.isArray(value)
    if (!fits) errors.push(invalidParameter(name, type, value))
    else if (type === 'array' && parameter.maxItems !== undefined && (value as readonly unknown[]).length > parameter.maxItems)
      errors.push(invalidParameter(name, `at most ${parameter.maxItems} items`, `${(value as readonly unknown[]).length} items`))
    else params[name] = value
    return
  }
  if (type === 'csv' || type === 'csv-enum') {
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return take(parameter, value.join(','), params, errors)
    if (typeof value !== 'string') return void errors.push(invalidParameter(name, 'list of strings', value))
  }
  const wanted = type === 'boolean' ? 'boolean' : type === 'integer' || type === 'long' ? 'number' : 'string'
  const text = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
  if (text === undefined || (wanted === 'string' && typeof value !== 'string')) errors.push(invalidParameter(name, wanted, value))
  else take(parameter, text, params, errors)
}

/** Decodes one value; on an error the parameter stays absent. */
function take(parameter: Parameter, text: string, params: Record<string, unknown>, errors: AdsError[]): void {
  const { name } = parameter
  if (text === '' && parameter.unsettable === true) {
    params[name] = null
    return
  }
  const decoded = decode(parameter, text)
  if ('error' in decoded) errors.push(decoded.error)
  else params[name] = decoded.value
}

function echoed(parameter: Parameter, value: unknown): unknown {
  // Ids are strings in the echo, all but these two (gaps 7 'Echo').
  if (parameter.type !== 'long' || typeof value !== 'bigint') return value
  return parameter.name.endsWith('_id') && parameter.name !== 'tweet_id' && parameter.name !== 'as_user_id' ? String(value) : value
}

function defaultOf(parameter: Parameter): unknown {
  if (typeof parameter.default === 'string' && (parameter.type === 'csv' || parameter.type === 'csv-enum'))
    return parameter.default.split(',')
  if (typeof parameter.default === 'number' && parameter.type === 'long') return BigInt(parameter.default)
  return parameter.default
}

const KNOWN = new WeakMap<Endpoint, ReadonlyMap<string, Parameter>>()

function known(endpoint: Endpoint): ReadonlyMap<string, Parameter> {
  let found = KNOWN.get(endpoint)
  if (found === undefined) {
    const byName = new Map(endpoint.parameters.map((parameter) => [parameter.name, parameter]))
    for (const [, name = ''] of endpoint.path.matchAll(/:(\w+)/g))
      if (!byName.has(name)) byName.set(name, { name, in: 'path', type: 'string' })
    found = byName
    KNOWN.set(endpoint, found)
  }
  return found
}
