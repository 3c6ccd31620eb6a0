/** Computes the width of texts in columns of a terminal: 漢 has two, a combining accent none. */
import stringWidth from 'string-width'

/** Returns the columns of a text without control characters and colours. An emoji of several code points has two. */
export function width(text: string): number {
  return stringWidth(text, { countAnsiEscapeCodes: true })
}

const letters = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Returns the beginning of a text that fits into `columns`; a letter stays with its accents. */
export function fitting(text: string, columns: number): string {
  if (width(text) <= columns) return text
  let used = 0
  let end = 0
  for (const { segment } of letters.segment(text)) {
    used += width(segment)
    if (used > columns) break
    end += segment.length
  }
  return text.slice(0, end)
}

/** Fills a text up with spaces to `columns`; wider ones are unchanged. */
export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - width(text)))
}
