/**
 * Calls that each break one rule of the contract, with the parameter that the refusal must name. They cover presence, type, bounds and
 * values of every parameter. They also cover every condition between parameters that is data.
 */
import type { Endpoint, Parameter, Rule } from '../../src/service/contract/endpoint.ts'
import { fieldsOf } from '../../src/service/contract/fieldAccess.ts'
import { FIRST } from './firstState.ts'

export interface BrokenCall {
  readonly what: string
  readonly query: Readonly<Record<string, string>>
  readonly json: Readonly<Record<string, unknown>> | undefined
  /** Expected refusal; the code is checked on the advertising host only. */
  readonly code: string
  readonly parameter: string
}

/** Values that satisfy rules outside the data: country codes, an end after its start. */
const FITTING: Readonly<Record<string, string>> = { ...FIRST, country_codes: 'US', end_time: '2027-02-01T00:00:00Z' }

export function brokenCalls(endpoint: Endpoint): readonly BrokenCall[] {
  const parameters = endpoint.parameters.filter(
    (one) => (one.in === 'query' || one.in === 'body') && !(one.in === 'body' && endpoint.bodyIs === 'array'),
  )
  const sample = sampleOf(endpoint, parameters)
  const calls: BrokenCall[] = []
  const add = (what: string, code: string, parameter: string, changes: Readonly<Record<string, unknown>>): void => {
    calls.push({ what, code, parameter, ...split(endpoint, { ...sample, ...changes }) })
  }
  const invalid = (parameter: Parameter, what: string, value: unknown): void =>
    add(`${parameter.name} ${what}`, 'INVALID_PARAMETER', parameter.name, { [parameter.name]: value })

  calls.push(unknownParameter(endpoint, sample))
  if (endpoint.body === 'json' && endpoint.bodyIs !== 'array')
    add('an unknown field', 'INVALID_PARAMETER', 'no_such_field', { no_such_field: '1' })
  for (const parameter of parameters) {
    if (parameter.required === true) add(`without ${parameter.name}`, 'MISSING_PARAMETER', parameter.name, { [parameter.name]: undefined })
    for (const [what, value] of wrongValues(parameter)) invalid(parameter, what, value)
  }
  const names = new Set(parameters.map(({ name }) => name))
  if (names.has('cursor')) add('a cursor that was never given out', 'INVALID_PARAMETER', 'cursor', { cursor: 'no cursor!' })
  if (names.has('sort_by'))
    for (const attribute of ['no_such_attribute', 'name', 'scheduled_at'].filter(
      (name) => !fieldsOf(endpoint).some((field) => field.name === name),
    ))
      add(`sort_by ${attribute}, which the records do not have`, 'INVALID_PARAMETER', 'sort_by', { sort_by: `${attribute}-asc` })
  if (names.has('with_total_count') && names.has('cursor'))
    add('with_total_count and cursor', 'EXCLUSIVE_PARAMETERS', 'with_total_count', { with_total_count: 'true', cursor: 'x' })
  for (const rule of endpoint.rules ?? [])
    for (const [what, code, parameter, changes] of brokenRule(rule, parameters)) add(what, code, parameter, changes)
  return calls
}

type Broken = readonly [what: string, code: string, parameter: string, changes: Readonly<Record<string, unknown>>]

function brokenRule(rule: Rule, parameters: readonly Parameter[]): readonly Broken[] {
  if (rule.kind === 'other') return []
  const given = (names: readonly string[]): Record<string, unknown> =>
    Object.fromEntries(names.map((name) => [name, valueOf(parameters.find((one) => one.name === name))]))
  const absent = (names: readonly string[]): Record<string, unknown> => Object.fromEntries(names.map((name) => [name, undefined]))
  const [first = ''] = rule.names
  const all = rule.names.join(', ')
  switch (rule.kind) {
    case 'exclusive':
      return [[`${all} together`, 'EXCLUSIVE_PARAMETERS', first, given(rule.names)]]
    case 'exactly-one':
      return [
        [`${all} together`, 'EXCLUSIVE_PARAMETERS', first, given(rule.names)],
        [`none of ${all}`, 'MISSING_PARAMETER', first, absent(rule.names)],
      ]
    case 'at-least-one':
      return [[`none of ${all}`, 'MISSING_PARAMETER', first, absent(rule.names)]]
    case 'required-if': {
      const { when } = rule
      const parameter = parameters.find((one) => one.name === when.name)
      const condition = { [when.name]: parameter?.type === 'boolean' ? valueOf(parameter) : (when.is?.[0] ?? valueOf(parameter)) }
      return rule.names.map((name) => [
        `without ${name} where ${when.name} asks for it`,
        'MISSING_PARAMETER',
        name,
        { ...condition, [name]: undefined },
      ])
    }
  }
}

function* wrongValues({
  type,
  values,
  min,
  max,
  minLength,
  maxLength,
  maxItems,
  in: place,
  unsettable,
}: Parameter): Generator<readonly [what: string, value: unknown]> {
  const inBody = place === 'body'
  switch (type) {
    case 'enum':
      if (values !== undefined) yield ['outside its values', 'NO_SUCH_VALUE']
      break
    case 'csv-enum':
      if (values !== undefined) yield ['with one value outside', `${values[0] ?? ''},NO_SUCH_VALUE`]
      break
    case 'boolean':
      yield ['neither true nor false', 'maybe']
      break
    case 'integer':
    case 'long':
      yield ['no number', 'many']
      yield ['a fraction', '1.5']
      yield ['beyond 64 bits', '9223372036854775808']
      if (min !== undefined) yield [`below ${min}`, String(min - 1)]
      if (max !== undefined) yield [`above ${max}`, String(max + 1)]
      break
    case 'timestamp':
    case 'hour':
      yield ['no time', 'soon']
      if (type === 'hour') yield ['not a whole hour', '2026-03-01T10:30:00Z']
      break
    case 'csv':
      if (unsettable !== true) yield ['an empty item', 'a,,b']
      break
    case 'url':
      yield ['no URL', 'not a url']
      break
    case 'object':
      yield ['no object', inBody ? [1] : 'x']
      break
    case 'array':
      yield ['no array', inBody ? { a: 1 } : 'x']
      break
    case 'string':
      if (inBody) yield ['no string', 5]
  }
  if (maxLength !== undefined && type === 'string') yield [`over ${maxLength} characters`, 'é'.repeat(maxLength + 1)]
  if (minLength !== undefined && minLength > 1 && type === 'string') yield [`under ${minLength} characters`, 'é'.repeat(minLength - 1)]
  if (maxItems !== undefined)
    yield [
      `over ${maxItems} items`,
      type === 'array'
        ? Array.from({ length: maxItems + 1 }, () => ({}))
        : Array.from({ length: maxItems + 1 }, (_, index) => values?.[0] ?? String(index + 1)).join(','),
    ]
}

/** Returns all required parameters. If one of several is required, returns one of them. */
function sampleOf(endpoint: Endpoint, parameters: readonly Parameter[]): Record<string, unknown> {
  const sample: Record<string, unknown> = {}
  for (const parameter of parameters) if (parameter.required === true) sample[parameter.name] = valueOf(parameter)
  for (const rule of endpoint.rules ?? []) {
    if (rule.kind !== 'at-least-one' && rule.kind !== 'exactly-one') continue
    const name = rule.names[0] ?? ''
    if (!rule.names.some((one) => one in sample)) sample[name] = valueOf(parameters.find((one) => one.name === name))
  }
  return sample
}

function valueOf(parameter: Parameter | undefined): unknown {
  if (parameter === undefined) return 'x'
  const { type, values, min, minLength, in: place } = parameter
  const fitting = FITTING[parameter.name]
  if (fitting !== undefined) return fitting
  switch (type) {
    case 'enum':
    case 'csv-enum':
      return values?.[0] ?? 'x'
    case 'integer':
    case 'long':
      return place === 'body' ? (min ?? 1) : String(min ?? 1)
    case 'boolean':
      return place === 'body' ? true : 'true'
    case 'timestamp':
    case 'hour':
      return '2027-01-01T00:00:00Z'
    case 'url':
      return 'https://shop.example.com/'
    case 'object':
      return place === 'body' ? {} : '{}'
    case 'array':
      return place === 'body' ? [] : '[]'
    case 'csv':
      return '1'
    case 'string':
      return 'x'.repeat(Math.max(1, minLength ?? 1))
  }
}

function unknownParameter(endpoint: Endpoint, sample: Readonly<Record<string, unknown>>): BrokenCall {
  const { query, json } = split(endpoint, sample)
  return {
    what: 'an unknown parameter',
    code: 'INVALID_PARAMETER',
    parameter: 'no_such_parameter',
    query: { ...query, no_such_parameter: '1' },
    json,
  }
}

function split(endpoint: Endpoint, values: Readonly<Record<string, unknown>>): Pick<BrokenCall, 'query' | 'json'> {
  const query: Record<string, string> = {}
  const json: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue
    const place = endpoint.parameters.find((one) => one.name === name)?.in
    if (place === 'body' || (place === undefined && endpoint.body === 'json')) json[name] = value
    else query[name] = typeof value === 'string' ? value : JSON.stringify(value)
  }
  return { query, json: endpoint.body === 'json' && endpoint.bodyIs !== 'array' ? json : undefined }
}
