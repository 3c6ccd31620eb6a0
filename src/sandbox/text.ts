/** Converts values of requests to text, and counts characters. */

/** Returns the text of a plain value, `''` for undefined, and JSON for anything else. */
export function textOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'undefined':
      return ''
    default:
      return JSON.stringify(value) ?? ''
  }
}

/** Counts code points, not UTF-16 units. */
export function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
