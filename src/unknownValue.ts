/** Reads parts of values whose shape is not known: caught errors, parsed JSON. */

/** Returns the `code` of an error of Node, Postgres or a library; undefined without one. */
export function errorCode(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Returns the value if it is an object, else an empty one. Arrays are objects. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

/** True for an object; its fields are unknown. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
