/** Converts values of requests to text, counts characters, and joins lines. */

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
export function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** Joins lines to pieces of about 65,536 characters. All lines together may exceed the maximum length of a string. */
export function* joinLines(lines: Iterable<string>): Generator<string> {
  let piece = ''
  for (const line of lines) {
    piece += line
    if (piece.length < 65_536) continue
    yield piece
    piece = ''
  }
  yield piece
}
