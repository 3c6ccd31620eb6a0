/** Reads parts of values whose shape is not known: caught errors, parsed JSON. */

/** Returns the `code` of an error of Node, Postgres or a library; undefined without one. */
export function errorCode(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Returns the code or name of an error for a log. Its message is left out, because a text of Postgres may contain personal data. */
export function codeOrName(error: unknown): string {
  return errorCode(error) ?? (error instanceof Error ? error.name : 'error')
}

/** Returns the value if it is an object, else an empty one. Arrays are objects. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

/** Returns true for an object, arrays included. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** Returns true for an object that is not an array. */
export function isPlainRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && !Array.isArray(value)
}

/** Returns the value if it is an array, else an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Parses JSON; returns undefined for any other text. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns a chunk of a byte stream as a buffer. @throws {TypeError} if the stream yields other values, which is a mistake in the code */
export function bufferOf(chunk: unknown): Buffer {
  if (Buffer.isBuffer(chunk)) return chunk
  throw new TypeError('a stream of bytes yielded something else')
}
