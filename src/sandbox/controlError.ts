/** Checks the fields of bodies of the control API, and reports errors in them (docs/sandbox.md#the-control-api). */
import { isPlainRecord } from '../unknownValue.ts'

/** Error of a call of the control API, which answers 400 with the message. */
export class ControlError extends Error {}

/** Returns the fields of a body without the `ignored` ones. An absent body has none. @throws {ControlError} for an unknown field */
export function fieldsOf(body: unknown, known: readonly string[], ignored: readonly string[] = []): Readonly<Record<string, unknown>> {
  const given = Object.entries(objectOf(body ?? {}, 'the body'))
  const fields = Object.fromEntries(given.filter(([name]) => !ignored.includes(name)))
  checkFields(fields, known)
  return fields
}

/** Returns the value as an object. `what`: its name in the message. @throws {ControlError} for any other value */
export function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (!isPlainRecord(value)) throw new ControlError(`${what} must be an object`)
  return value
}

/** Requires that an object has only known fields. `prefix`: begins their names in the message. @throws {ControlError} */
export function checkFields(input: object, known: readonly string[], prefix = ''): void {
  const unknown = Object.keys(input).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new ControlError(`${prefix}${unknown} is unknown; there are: ${known.join(', ')}`)
}
