/** Errors of lookups in v2: entries of `errors` in a 200, and the refusal of a wrong id (docs/spec-notes.md#posts). */
import { PROBLEMS, v2ParameterRefusal } from '../refusal.ts'

/** Entry of `errors` in a 200, beside the `data` that was found, if any. */
export interface PartialError {
  readonly resource_id: string
  readonly resource_type: string
  readonly parameter: string
  readonly value: string
  readonly title: string
  readonly detail: string
  readonly type: string
}

/** Returns the error for an unknown post (`tweet`) or user. The request named it by the `value` of `parameter`. */
export function notFoundError(type: 'tweet' | 'user', parameter: string, value: string): PartialError {
  return {
    resource_id: value,
    resource_type: type,
    parameter,
    value,
    title: 'Not Found Error',
    detail: `Could not find ${type} with ${parameter}: [${value}].`,
    type: `${PROBLEMS}/resource-not-found`,
  }
}

/** Checks the ids of a path (`id`) or query (`ids`). @throws {Refusal} for an id that is not a whole number */
export function checkIds(parameter: 'id' | 'ids', ids: readonly string[]): void {
  const wrong = ids.find((id) => !/^\d{1,19}$/.test(id))
  if (wrong === undefined) return
  const place = parameter === 'ids' ? 'query' : 'path'
  throw v2ParameterRefusal(parameter, wrong, `The \`${parameter}\` ${place} parameter value [${wrong}] is not valid`)
}
