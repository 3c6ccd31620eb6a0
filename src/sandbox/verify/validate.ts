/** Decodes and checks what a request says against its endpoint of the contract; reports every error at once (gaps 4). */
import type { Endpoint, Parameter, Rule } from '../../service/contract/endpoint.ts'
import { exclusiveParameters, invalidParameter, missingParameter, type AdsError } from '../refusal.ts'
import type { Pair } from './signature.ts'
import { isoSeconds, parseTimestamp } from '../timestamps.ts'
import { codePoints, textOf } from '../text.ts'

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

type Decoded = { readonly value: unknown } | { readonly error: AdsError }

function decode(parameter: Parameter, text: string): Decoded {
  const { name } = parameter
  const wrong = (expected: string, details?: string): Decoded => ({ error: invalidParameter(name, expected, text, details) })
  switch (parameter.type) {
    case 'string':
    case 'url': {
      const length = codePoints(text)
      if (parameter.type === 'url' && !URL.canParse(text)) return wrong('url', 'invalid url')
      if (parameter.required === true && text === '' && (parameter.minLength ?? 1) > 0) return wrong('string')
      if (parameter.maxLength !== undefined && length > parameter.maxLength) return wrong(`at most ${parameter.maxLength} characters`)
      if (parameter.minLength !== undefined && length < parameter.minLength) return wrong(`at least ${parameter.minLength} characters`)
      return { value: text }
    }
    case 'enum':
      return parameter.values === undefined || parameter.values.includes(text)
        ? { value: text }
        : wrong(`one of ${parameter.values.join(', ')}`)
    case 'boolean':
      return text === 'true' || text === '1' || text === 't'
        ? { value: true }
        : text === 'false' || text === '0' || text === 'f'
          ? { value: false }
          : wrong('boolean')
    case 'integer':
    case 'long': {
      if (!/^-?\d{1,19}$/.test(text)) return wrong(parameter.type)
      const value = BigInt(text)
      if (BigInt.asIntN(64, value) !== value) return wrong(parameter.type)
      if ((parameter.min !== undefined && value < BigInt(parameter.min)) || (parameter.max !== undefined && value > BigInt(parameter.max)))
        return wrong(
          `${parameter.type}${parameter.min === undefined ? '' : ` from ${parameter.min}`}${parameter.max === undefined ? '' : ` to ${parameter.max}`}`,
        )
      return { value: parameter.type === 'long' ? value : Number(value) }
    }
    case 'timestamp':
    case 'hour': {
      const at = parseTimestamp(text)
      if (at === undefined) return wrong('time', 'invalid date')
      if (parameter.type === 'hour' && at % 3_600_000 !== 0) return wrong('whole hour', 'minutes and seconds must be zero')
      return { value: isoSeconds(at) }
    }
    case 'csv':
    case 'csv-enum': {
      const items = text.split(',').map((item) => item.trim())
      if (items.some((item) => item === '')) return wrong('comma-separated list')
      if (parameter.maxItems !== undefined && items.length > parameter.maxItems)
        return { error: invalidParameter(name, `at most ${parameter.maxItems} items`, `${items.length} items`) }
      const unknown = items.find(
        (item) => parameter.type === 'csv-enum' && parameter.values !== undefined && !parameter.values.includes(item),
      )
      if (unknown !== undefined) return { error: invalidParameter(name, `any of ${parameter.values?.join(', ') ?? ''}`, unknown) }
      return { value: items }
    }
    case 'object':
    case 'array':
      try {
        const value: unknown = JSON.parse(text)
        return Array.isArray(value) === (parameter.type === 'array') ? { value } : wrong(parameter.type)
      } catch {
        return wrong(parameter.type)
      }
  }
}

function checkConditions(endpoint: Endpoint, params: Record<string, unknown>, given: ReadonlySet<string>, errors: AdsError[]): void {
  if (params['with_total_count'] === true && given.has('cursor')) errors.push(exclusiveParameters(['with_total_count', 'cursor']))
  const present = (name: string) => given.has(name) && params[name] !== null
  for (const rule of endpoint.rules ?? []) checkRule(rule, params, present, errors)
}

function checkRule(rule: Rule, params: Record<string, unknown>, present: (name: string) => boolean, errors: AdsError[]): void {
  if (rule.kind === 'other') return
  const there = rule.names.filter(present)
  const inclusive = (): void => {
    errors.push({
      code: 'INCLUSIVE_PARAMETERS',
      message: `${rule.names.map((name) => `"${name}"`).join(' and ')} go together`,
      parameter: rule.names.find((name) => !present(name)) ?? '',
    })
  }
  switch (rule.kind) {
    case 'exclusive':
      if (there.length > 1 && !errors.some((error) => error.code === 'EXCLUSIVE_PARAMETERS')) errors.push(exclusiveParameters(there))
      return
    case 'together':
      if (there.length > 0 && there.length < rule.names.length) inclusive()
      return
    case 'one-of':
      if (there.length === 0)
        errors.push({
          ...missingParameter(rule.names[0] ?? ''),
          message: `one of ${rule.names.map((name) => `"${name}"`).join(', ')} is required`,
        })
      return
    case 'exactly-one':
      if (there.length === 0)
        errors.push({
          ...missingParameter(rule.names[0] ?? ''),
          message: `exactly one of ${rule.names.map((name) => `"${name}"`).join(', ')} is required`,
        })
      else if (there.length > 1) errors.push(exclusiveParameters(there))
      return
    case 'required-if': {
      const { when } = rule
      const value = params[when.name]
      const is =
        when.is === undefined ||
        (Array.isArray(value)
          ? value.some((item) => when.is?.includes(String(item)))
          : value !== undefined && when.is.includes(textOf(value)))
      const holds = is && (when.absent !== true || !present(when.name)) && (when.present !== true || present(when.name))
      if (holds)
        for (const name of rule.names)
          if (!present(name) && !errors.some((error) => error.parameter === name)) errors.push(missingParameter(name))
    }
  }
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
