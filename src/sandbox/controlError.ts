/** Checks the fields in bodies of the control API (docs/sandbox.md#the-control-api). */
import { isPlainRecord } from '../unknownValue.ts'

/** Error in a call of the control API. The answer is a 400 with the message. */
export class ControlError extends Error {}

/**
 * Returns the fields of a body, without the `ignored` fields. Treats a body that is undefined or null as `{}`.
 *
 * @throws {ControlError} if the body is not an object, or has a field that is neither `known` nor `ignored`
 */
export function readFields(body: unknown, known: readonly string[], ignored: readonly string[] = []): Readonly<Record<string, unknown>> {
  const entries = Object.entries(requireObject(body ?? {}, 'the body'))
  const fields = Object.fromEntries(entries.filter(([name]) => !ignored.includes(name)))
  checkFields(fields, known)
  return fields
}

/** Returns a value that must be an object. `valueName`: its name in the message. @throws {ControlError} for any other value */
export function requireObject(value: unknown, valueName: string): Readonly<Record<string, unknown>> {
  if (!isPlainRecord(value)) throw new ControlError(`${valueName} must be an object`)
  return value
}

/** Requires that an object has only known fields. `prefix`: text before the name of the field in the message. @throws {ControlError} */
export function checkFields(input: object, known: readonly string[], prefix = ''): void {
  const unknown = Object.keys(input).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new ControlError(`${prefix}${unknown} is unknown; there are: ${known.join(', ')}`)
}
