/** Error of a call of the control API, which answers 400 with the message. */
export class ControlError extends Error {}

/** Requires that an object has only known fields. `prefix`: begins their names in the message. @throws {ControlError} */
export function checkFields(input: object, known: readonly string[], prefix = ''): void {
  const unknown = Object.keys(input).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new ControlError(`${prefix}${unknown} is unknown; there are: ${known.join(', ')}`)
}
