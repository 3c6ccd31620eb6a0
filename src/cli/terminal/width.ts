/** Computes the width of texts in columns of a terminal: 漢 has two, a combining accent none. */
import { createRequire } from 'node:module'
import type * as stringWidth from 'string-width'

let library: typeof stringWidth | undefined
let letters: Intl.Segmenter | undefined

const ascii = /^[ -~]*$/

/** Returns the width of a text, which must have no control characters or colour codes. An emoji of several code points has two columns. */
export function width(text: string): number {
  if (ascii.test(text)) return text.length
  // Loaded by the first text that is not ASCII, because loading takes 10 ms.
  library ??= createRequire(import.meta.url)('string-width') as typeof stringWidth // require has no types
  return library.default(text, { countAnsiEscapeCodes: true })
}

/** Returns the longest beginning of a text that fits into `columns`. A letter is not separated from its accents. */
export function fitting(text: string, columns: number): string {
  if (width(text) <= columns) return text
  letters ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  let used = 0
  let end = 0
  for (const { segment } of letters.segment(text)) {
    used += width(segment)
    if (used > columns) break
    end += segment.length
  }
  return text.slice(0, end)
}

/** Adds spaces to a text up to `columns`. A wider text is unchanged. */
export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - width(text)))
}
