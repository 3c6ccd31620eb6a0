/** Checks the rules of the contract that concern several parameters (`Rule`). */
import type { Endpoint, Rule } from '../../service/contract/endpoint.ts'
import { exclusiveParameters, missingParameter, type AdsError } from '../refusal.ts'
import { textOf } from '../text.ts'

/**
 * Adds an error to `errors` for each rule of the endpoint that the parameters break, and for `with_total_count` with `cursor`. `givenNames`:
 * names of the parameters that count as present: those sent or, for a stored record, those with a value.
 * - Kind `exclusive` adds no second `EXCLUSIVE_PARAMETERS`.
 * - Kind `required-if` adds no second error for a parameter.
 * - Handlers check the rules of kind `other`.
 */
export function checkRules(endpoint: Endpoint, params: Record<string, unknown>, givenNames: ReadonlySet<string>, errors: AdsError[]): void {
  if (params['with_total_count'] === true && givenNames.has('cursor')) errors.push(exclusiveParameters(['with_total_count', 'cursor']))
  const isPresent = (name: string) => givenNames.has(name) && params[name] !== null
  for (const rule of endpoint.rules ?? []) checkRule(rule, params, isPresent, errors)
}

function checkRule(rule: Rule, params: Record<string, unknown>, isPresent: (name: string) => boolean, errors: AdsError[]): void {
  if (rule.kind === 'other') return
  const present = rule.names.filter(isPresent)
  // The answer for a card of slides has `components: []`, which clients send back beside `slides`. So an empty list does not count beside a
  // parameter with a value.
  const withContent = present.filter((name) => !(Array.isArray(params[name]) && params[name].length === 0))
  const countedNames = withContent.length > 0 ? withContent : present
  switch (rule.kind) {
    case 'exclusive':
      if (countedNames.length > 1 && !errors.some((error) => error.code === 'EXCLUSIVE_PARAMETERS'))
        errors.push(exclusiveParameters(countedNames))
      return
    case 'at-least-one':
      if (countedNames.length === 0)
        errors.push({
          ...missingParameter(rule.names[0] ?? ''),
          message: `one of ${rule.names.map((name) => `"${name}"`).join(', ')} is required`,
        })
      return
    case 'exactly-one':
      if (countedNames.length === 0)
        errors.push({
          ...missingParameter(rule.names[0] ?? ''),
          message: `exactly one of ${rule.names.map((name) => `"${name}"`).join(', ')} is required`,
        })
      else if (countedNames.length > 1) errors.push(exclusiveParameters(countedNames))
      return
    case 'required-if': {
      const { when } = rule
      const value = params[when.name]
      const applies =
        when.is === undefined
          ? isPresent(when.name)
          : Array.isArray(value)
            ? value.some((item) => when.is?.includes(String(item)))
            : value !== undefined && when.is.includes(textOf(value))
      if (applies)
        for (const name of rule.names)
          if (!isPresent(name) && !errors.some((error) => error.parameter === name)) errors.push(missingParameter(name))
    }
  }
}
