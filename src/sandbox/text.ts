/** Text of values that came from outside. */

/** As itself where it is plain, else as JSON; never `[object Object]`. */
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

/** Characters as a person counts them: code points, not UTF-16 units. */
export function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
