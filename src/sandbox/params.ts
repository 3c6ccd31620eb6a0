/** Reads the parameters of a call by type. `verify/validate.ts` has checked the types. */
import type { Call } from './area.ts'
import { listOf } from '../unknownValue.ts'
import { notFound } from './refusal.ts'

/** Returns a text parameter; null if it is absent or unset. */
export function textParam(call: Call<unknown>, name: string): string | null {
  const value = call.params[name]
  return typeof value === 'string' ? value : null
}

/** Returns a 64-bit parameter; null if it is absent or unset. */
export function longParam(call: Call<unknown>, name: string): bigint | null {
  const value = call.params[name]
  return typeof value === 'bigint' ? value : null
}

/** Returns a list parameter; undefined if it is absent or unset. Omits elements that are not texts. */
export function listParam(call: Call<unknown>, name: string): readonly string[] | undefined {
  const value = call.params[name]
  return Array.isArray(value) ? listOf(value).filter((one) => typeof one === 'string') : undefined
}

/**
 * Returns the record of `table` whose id is in the parameter `parameter`.
 *
 * @throws {Refusal} 404 with `code` for an unknown record, and for a record that `isAccessible` rejects
 */
export function recordOfParam<T>(
  call: Call<unknown>,
  parameter: string,
  table: ReadonlyMap<string, T>,
  code = 'NOT_FOUND',
  isAccessible: (record: T) => boolean = () => true,
): T {
  const id = String(call.params[parameter])
  const record = table.get(id)
  if (record === undefined || !isAccessible(record)) throw notFound(code, parameter, id)
  return record
}

/** Returns the query and form parameters that the caller sent, by name. A value of null unsets the field. */
export function givenFields({ endpoint, params, givenNames }: Call<unknown>): Record<string, unknown> {
  const names = endpoint.parameters.filter((one) => one.in === 'query' && givenNames.has(one.name)).map(({ name }) => name)
  return Object.fromEntries(names.map((name) => [name, params[name]]))
}

/** Returns true if only documented fields are accepted (the switch `unknown_parameters`). */
export function isStrict({ world }: Call<unknown>): boolean {
  return world.switchValue('unknown_parameters') === 'strict'
}

export function passesFilter(filter: readonly string[] | undefined, id: string): boolean {
  return filter === undefined || filter.includes(id)
}
