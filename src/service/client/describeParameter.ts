/** Describes parameters of the contract for hints. */
import { parameterOf, type Endpoint, type Parameter, type Rule } from '../contract/endpoint.ts'

/**
 * Returns type, bounds, source and rules of a parameter, such as `count: a whole number, 1 to 1000, default 200 (spec 8)`. Undefined for an
 * unknown parameter.
 */
export function describeParameter(endpoint: Endpoint, name: string): string | undefined {
  // The service names nested parameters by their path (`params.expires_at`, `products[3].price`).
  const topLevelName = name.split(/[.[]/)[0] ?? name
  const parameter = parameterOf(endpoint, name) ?? parameterOf(endpoint, topLevelName)
  if (parameter === undefined) return undefined
  const rules = (endpoint.rules ?? [])
    .filter((rule) => (rule.kind === 'other' ? isAbout(rule.text, parameter.name) : rule.names.includes(parameter.name)))
    .map((rule) => describeRule(rule))
  const excluded = parameter.name === 'cursor' ? 'with_total_count' : parameter.name === 'with_total_count' ? 'cursor' : undefined
  if (excluded !== undefined && parameterOf(endpoint, excluded) !== undefined) rules.push(`not together with ${excluded}`)
  if (parameter.name === 'cursor') rules.unshift('the next_cursor of an earlier answer, all other parameters as they were')
  const source = parameter.source === undefined ? '' : ` (${parameter.source})`
  return [`${parameter.name}: ${describeType(parameter)}${source}`, ...rules].join('; ')
}

/** Returns true if the text has the name, or the path of a field of that parameter, in backticks. */
function isAbout(text: string, name: string): boolean {
  return text.includes(`\`${name}\``) || text.includes(`\`${name}.`)
}

/** Returns the names of the parameters: `required: account_id, name; optional: user_id`. A bare array is the parameter `body`. */
export function describeParameters(endpoint: Endpoint): string {
  const takesArray = endpoint.bodyIs === 'array'
  const named = endpoint.parameters.filter((parameter) => !takesArray || parameter.in !== 'body')
  const required = named.filter((parameter) => parameter.required === true).map(({ name }) => name)
  if (takesArray) required.push('body')
  const optional = named.filter((parameter) => parameter.required !== true).map(({ name }) => name)
  return [`required: ${required.join(', ') || 'none'}`, `optional: ${optional.join(', ') || 'none'}`].join('; ')
}

const typeWords: Readonly<Record<Parameter['type'], string>> = {
  string: 'text',
  integer: 'a whole number',
  long: 'a whole number',
  boolean: 'true or false',
  enum: 'one of',
  timestamp: 'an ISO 8601 time',
  hour: 'an ISO 8601 time at a whole hour',
  csv: 'a comma-separated list',
  'csv-enum': 'a comma-separated list of',
  url: 'a URL',
  object: 'an object',
  array: 'an array',
}

function describeType(parameter: Parameter): string {
  const { type, values } = parameter
  const parts = [values === undefined ? typeWords[type] : `${typeWords[type === 'integer' ? 'enum' : type]} ${values.join(', ')}`]
  if (parameter.min !== undefined && parameter.max !== undefined) parts.push(`${parameter.min} to ${parameter.max}`)
  else if (parameter.min !== undefined) parts.push(`${parameter.min} or more`)
  else if (parameter.max !== undefined) parts.push(`${parameter.max} at most`)
  const { minLength, maxLength } = parameter
  if (minLength !== undefined && maxLength !== undefined)
    parts.push(minLength === maxLength ? `exactly ${maxLength} characters` : `${minLength} to ${maxLength} characters`)
  else if (minLength !== undefined) parts.push(minLength === 1 ? 'not empty' : `at least ${minLength} characters`)
  else if (maxLength !== undefined) parts.push(`at most ${maxLength} characters`)
  if (parameter.maxItems !== undefined) parts.push(`at most ${parameter.maxItems} entries`)
  if (parameter.required === true) parts.push('required')
  if (parameter.default !== undefined) parts.push(`default ${parameter.default}`)
  return parts.join(', ')
}

/** Returns a rule between parameters in words. */
export function describeRule(rule: Rule): string {
  switch (rule.kind) {
    case 'exclusive':
      return `only one of ${rule.names.join(', ')}`
    case 'at-least-one':
      return `at least one of ${rule.names.join(', ')}`
    case 'exactly-one':
      return `exactly one of ${rule.names.join(', ')}`
    case 'required-if': {
      const { name, is } = rule.when
      return `${rule.names.join(', ')} required when ${name} is ${is === undefined ? 'given' : is.join(' or ')}`
    }
    case 'other':
      return rule.text
  }
}
