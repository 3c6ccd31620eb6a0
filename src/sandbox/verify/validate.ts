/** Decodes the parameters of a request and checks them by the contract. Reports every error (docs/spec-notes.md#errors). */
import type { Endpoint, Parameter } from '../../service/contract/endpoint.ts'
import { listOf } from '../../unknownValue.ts'
import { invalidParameter, missingParameter, type AdsError } from '../refusal.ts'
import { acceptedBy, type Accepted } from './accepted.ts'
import { checkRules } from './rules.ts'
import { decode } from './decode.ts'
import type { Pair } from './signature.ts'

/** Parameters of a request, not checked yet. */
export interface RequestInput {
  /** Decoded path parameters, by their names in the called path. The contract may name them differently (`Endpoint.namesOnAliases`). */
  readonly path: Readonly<Record<string, string>>
  /** Query and form pairs, decoded. */
  readonly pairs: readonly Pair[]
  /** Parsed JSON; undefined without a JSON body. */
  readonly body: unknown
  /** OAuth parameters of the Authorization header. */
  readonly oauth: ReadonlyMap<string, string>
  /** True to accept only documented parameters, in documented forms (the switch `unknown_parameters`). Default: false. */
  readonly strict?: boolean
}

/** Result of a validation. If there are errors, the other fields may be incomplete. */
export interface Validated {
  /** As `Call.params`. */
  readonly params: Record<string, unknown>
  /** As `Call.givenNames`. */
  readonly givenNames: Set<string>
  /** `request.params` of the answer. */
  readonly echo: Record<string, unknown>
  readonly errors: AdsError[]
  /**
   * Create-only fields that the client sent back on an update. Texts are decoded; other JSON values are as sent. The caller must compare
   * them with the stored values.
   */
  readonly sentBack: ReadonlyMap<string, unknown>
}

interface Validation {
  readonly endpoint: Endpoint
  readonly accepted: Accepted
  readonly strict: boolean
  readonly params: Record<string, unknown>
  readonly givenNames: Set<string>
  readonly errors: AdsError[]
  readonly sentBack: Map<string, unknown>
  /** Texts of `sentBack` before they were decoded. A name that was sent several times has the texts joined by commas. */
  readonly sentBackTexts: Map<string, string>
  /** Name of a parameter in the contract → its name as sent (`Endpoint.namesOnAliases`). */
  readonly sentNames: Map<string, string>
}

/** Decodes and checks a request. Returns errors in the result. */
export function validate(endpoint: Endpoint, input: RequestInput): Validated {
  const strict = input.strict === true
  const accepted = acceptedBy(endpoint, strict)
  const sentNames = new Map(Object.keys(input.path).map((sent) => [contractNameOf(endpoint, sent), sent]))
  const path = Object.fromEntries(Object.entries(input.path).map(([sent, value]) => [contractNameOf(endpoint, sent), value]))
  const echo: Record<string, unknown> = {}
  const validation: Validation = {
    endpoint,
    accepted,
    strict,
    params: { ...path },
    givenNames: new Set(Object.keys(path)),
    errors: [],
    sentBack: new Map(),
    sentBackTexts: new Map(),
    sentNames,
  }
  const { params, givenNames, errors } = validation
  for (const parameter of accepted.parameters) {
    if (parameter.in === 'path' && parameter.type !== 'string') decodeInto(validation, parameter, path[parameter.name] ?? '')
    const value = parameter.in === 'oauth' ? input.oauth.get(parameter.name) : undefined
    if (value === undefined) continue
    givenNames.add(parameter.name)
    decodeInto(validation, parameter, value)
  }
  readPairs(validation, path, input.pairs)
  const takesOnlyArray = endpoint.bodyIs === 'array'
  readBody(validation, input.body)
  for (const parameter of accepted.parameters) {
    if (givenNames.has(parameter.name)) {
      if (params[parameter.name] !== undefined)
        echo[sentNames.get(parameter.name) ?? parameter.name] = echoValue(parameter, params[parameter.name])
    } else if (parameter.default !== undefined) params[parameter.name] = defaultOf(parameter)
    else if (parameter.required === true && parameter.in !== 'path' && !(parameter.in === 'body' && takesOnlyArray))
      errors.push(missingParameter(parameter.name))
  }
  checkRules(endpoint, params, givenNames, errors)
  return { params, givenNames, echo, errors, sentBack: validation.sentBack }
}

function readPairs(validation: Validation, path: Readonly<Record<string, string>>, pairs: readonly Pair[]): void {
  const { endpoint, accepted, strict, givenNames, errors, sentNames } = validation
  const seen = new Map<string, string>()
  for (const [sent, value] of pairs) {
    const name = contractNameOf(endpoint, sent)
    const parameter = accepted.byName.get(name)
    if (parameter === undefined && acceptsOauthParameter(endpoint, name, strict)) continue
    if (parameter === undefined || parameter.in === 'body') {
      if (acceptSentBack(validation, name, value)) continue
      errors.push({
        ...invalidParameter(sent, 'a parameter of this endpoint', value, 'unknown parameter'),
        message: `"${sent}" is not a parameter of this endpoint`,
      })
      continue
    }
    if (parameter.in === 'path') {
      // One official SDK sends the id of the path in the query too.
      if (path[name] !== value) errors.push(invalidParameter(sent, 'the id of the path', value))
      continue
    }
    // The header has precedence. Without it, the first of several pairs counts.
    if (givenNames.has(name) && parameter.in === 'oauth') continue
    // A parameter may be in the query and the form with the same value. Two different values are refused: it is unclear which one counts.
    const earlierText = seen.get(name)
    if (earlierText === value) continue
    const isList = parameter.type === 'csv' || parameter.type === 'csv-enum'
    if (earlierText !== undefined && (strict || !isList)) {
      errors.push(invalidParameter(sent, 'one value', value, 'repeated parameter'))
      continue
    }
    // Some clients repeat the name for each item of a list.
    const text = earlierText === undefined ? value : `${earlierText},${value}`
    seen.set(name, text)
    sentNames.set(name, sent)
    givenNames.add(name)
    decodeInto(validation, parameter, text)
  }
}

/** Drops a read-only field that the client sent back, and adds a create-only one to `sentBack`. Returns false for any other name. */
function acceptSentBack(validation: Validation, name: string, value: unknown): boolean {
  const { accepted, errors, sentBack, sentBackTexts, strict } = validation
  if (accepted.ignored.has(name)) return true
  const creation = accepted.createOnly.get(name)
  if (creation === undefined) return false
  const earlierText = sentBackTexts.get(name)
  if (earlierText === value) return true
  const text = typeof value === 'string' && earlierText !== undefined ? `${earlierText},${value}` : value
  if (typeof text === 'string') sentBackTexts.set(name, text)
  if (typeof text !== 'string' || text === '') sentBack.set(name, text)
  else {
    const decoded = decode(creation, text, strict)
    if ('error' in decoded) errors.push(decoded.error)
    else sentBack.set(name, decoded.value)
  }
  return true
}

/** Returns the name that a parameter has in the contract. `sent`: its name on the called path. */
function contractNameOf({ namesOnAliases }: Endpoint, sent: string): string {
  return namesOnAliases?.[sent] ?? sent
}

/** OAuth parameters that only a signature needs. */
const SIGNATURE_PARAMETERS = /^oauth_(?:consumer_key|nonce|signature|signature_method|timestamp|version)$/

/**
 * Returns true for an OAuth parameter that this endpoint accepts in the query or form, although the contract lacks it. Some clients sign
 * even the address of the authorization page.
 */
function acceptsOauthParameter({ path, auth }: Endpoint, name: string, strict: boolean): boolean {
  if (!/^\/(?:1\.1\/)?oauth2?\//.test(path)) return false
  return auth === 'browser' ? !strict && SIGNATURE_PARAMETERS.test(name) : name.startsWith('oauth_')
}

/**
 * Reads the fields of a JSON body. If the endpoint takes an object or an array, a bare array is the value of its only body parameter. If
 * the endpoint takes only an array, its handler reads the entries.
 */
function readBody(validation: Validation, sent: unknown): void {
  const { endpoint, accepted, strict, params, givenNames, errors } = validation
  const body = strict ? sent : unwrapped(endpoint, sent)
  if (endpoint.body !== 'json') return
  if (endpoint.bodyIs === 'array') {
    if (!Array.isArray(body)) errors.push(invalidParameter('body', 'array', ''))
    return
  }
  if (body === undefined) return
  if (Array.isArray(body) && endpoint.bodyIs === 'object-or-array') {
    const only = endpoint.parameters.find((parameter) => parameter.in === 'body')
    if (only !== undefined) {
      givenNames.add(only.name)
      decodeJsonInto(validation, only, body)
    }
    return
  }
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return void errors.push(invalidParameter('body', 'object', ''))
  for (const [name, value] of Object.entries(body)) {
    const parameter = accepted.byName.get(name)
    if (parameter === undefined || parameter.in !== 'body') {
      if (acceptSentBack(validation, name, value ?? '')) continue
      errors.push({
        ...invalidParameter(name, 'a field of this body', '', 'unknown field'),
        message: `"${name}" is not a field of this body`,
      })
      continue
    }
    givenNames.add(name)
    if (value === null) {
      params[name] = null
      if (parameter.required === true) errors.push(missingParameter(name))
    } else decodeJsonInto(validation, parameter, value)
  }
}

/**
 * Returns the content of `params` for a body `{ "params": … }`, and any other body unchanged. One official SDK sends such bodies to
 * endpoints that take an object or an array.
 */
function unwrapped(endpoint: Endpoint, body: unknown): unknown {
  if (endpoint.bodyIs !== 'object-or-array' || typeof body !== 'object' || body === null || Array.isArray(body)) return body
  const [only, ...others] = Object.entries(body)
  return only?.[0] === 'params' && others.length === 0 ? only[1] : body
}

/** Checks one value of a JSON body, and decodes it into `params`. */
function decodeJsonInto(validation: Validation, parameter: Parameter, value: unknown): void {
  const { params, errors } = validation
  const { name, type } = parameter
  if (type === 'array' || type === 'object') {
    const fits = type === 'array' ? Array.isArray(value) : typeof value === 'object' && !Array.isArray(value)
    if (!fits) errors.push(invalidParameter(name, type, value))
    else if (type === 'array' && parameter.maxItems !== undefined && listOf(value).length > parameter.maxItems)
      errors.push(invalidParameter(name, `at most ${parameter.maxItems} items`, `${listOf(value).length} items`))
    else params[name] = value
    return
  }
  if (type === 'csv' || type === 'csv-enum') {
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return decodeInto(validation, parameter, value.join(','))
    if (typeof value !== 'string') return void errors.push(invalidParameter(name, 'list of strings', value))
  }
  const typeName = type === 'boolean' ? 'boolean' : type === 'integer' || type === 'long' ? 'number' : 'string'
  // A number may be sent as text, because a long may exceed 2^53.
  if (typeof value === typeName || (typeName === 'number' && typeof value === 'string')) decodeInto(validation, parameter, String(value))
  else errors.push(invalidParameter(name, typeName, value))
}

/** Decodes one value into `params`. Stores null for an empty value of an unsettable parameter. Adds an error for a wrong value. */
function decodeInto({ params, errors, strict }: Validation, parameter: Parameter, text: string): void {
  const { name } = parameter
  if (text === '' && parameter.unsettable === true) {
    params[name] = null
    return
  }
  const decoded = decode(parameter, text, strict)
  if ('error' in decoded) errors.push(decoded.error)
  else params[name] = decoded.value
}

function echoValue(parameter: Parameter, value: unknown): unknown {
  // The echo has ids as strings, but `tweet_id` and `as_user_id` as numbers (docs/spec-notes.md#echoes-and-cursors).
  if (parameter.type !== 'long' || typeof value !== 'bigint') return value
  return parameter.name.endsWith('_id') && parameter.name !== 'tweet_id' && parameter.name !== 'as_user_id' ? String(value) : value
}

function defaultOf(parameter: Parameter): unknown {
  if (typeof parameter.default === 'string' && (parameter.type === 'csv' || parameter.type === 'csv-enum'))
    return parameter.default.split(',')
  if (typeof parameter.default === 'number' && parameter.type === 'long') return BigInt(parameter.default)
  return parameter.default
}
