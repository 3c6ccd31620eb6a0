/** Width of texts in columns of a terminal: 漢 takes two, a combining accent none. */

/**
 * Two columns (East_Asian_Width W and F, Unicode 17), as scripts and blocks, because regular expressions know no widths.
 * Node's own table, which it keeps to itself, says the same of every assigned letter but some of music and of Tangut.
 */
const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Yi}\p{Script=Tangut}\p{Script=Nushu}\p{Script=Khitan_Small_Script}\p{Emoji_Presentation}\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2ff0-\u303e\u3041-\u3247\u3250-\u33ff\u4dc0-\u4dff\ua960-\ua97c\uac00-\ud7a3\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}]/u
/** No column: combining marks, joiners, the vowels and finals that Hangul is composed of. */
const none = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff\ud7b0-\ud7fb]/u
/** Half-width forms belong to those scripts and take one column. */
const half = /[\uff61-\uffdc]/u
/** Nothing in these has a width of its own to look up: the width of most texts is their length. */
const plain = /^[\u0020-\u007e\u00a1-\u00ac\u00ae-\u02ff]*$/

/**
 * Columns of a text without control characters and colours. Counts as `wcwidth` does, letter by letter: a family emoji is as
 * wide as its members, which is the most that a terminal gives it.
 */
export function width(text: string): number {
  if (plain.test(text)) return text.length
  let columns = 0
  for (const letter of text) columns += none.test(letter) ? 0 : wide.test(letter) && !half.test(letter) ? 2 : 1
  return columns
}

const letters = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** The beginning of a text that fits into so many columns; a letter stays with its accents. */
export function fitting(text: string, columns: number): string {
  if (plain.test(text)) return text.slice(0, Math.max(0, columns))
  let used = 0
  let end = 0
  for (const { segment } of letters.segment(text)) {
    used += width(segment)
    if (used > columns) break
    end += segment.length
  }
  return text.slice(0, end)
}

/** Filled up with blanks to so many columns; wider ones stay as they are. */
export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - width(text)))
}
