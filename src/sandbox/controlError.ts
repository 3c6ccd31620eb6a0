/** Reports and checks errors in the bodies of the control API (docs/sandbox.md#the-control-api). */
import { isPlainRecord } from '../unknownValue.ts'

/** Error of a call of the control API, which answers 400 with the message. */
export class ControlError extends Error {}

/** Returns a body as an object with only known fields, without the `ignored` ones. An absent body is empty. @throws {ControlError} */
export function fieldsOf(body: unknown, known: readonly string[], ignored: readonly string[] = []): Readonly<Record<string, unknown>> {
  const given = Object.entries(objectOf(body ?? {}, 'the body'))
  const fields = Object.fromEntries(given.filter(([name]) => !ignored.includes(name)))
  checkFields(fields, known)
  return fields
}

/** Returns the value if it is an object. `what`: its name in the message. @throws {ControlError} */
export function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (!isPlainRecord(value)) throw new ControlError(`${what} is an object`)
  return value
}

/** Requires that an object has only known fields. `prefix`: begins their names in the message. @throws {ControlError} */
export function checkFields(input: object, known: readonly string[], prefix = ''): void {
  const unknown = Object.keys(input).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new ControlError(`${prefix}${unknown} is unknown; there are: ${known.join(', ')}`)
}
