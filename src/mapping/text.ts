/** Cleans, checks, compares and cuts text. */

// Matches a character that `trimText` removes (docs/inputs.md, case 103). `trim()` does not remove U+0085, U+180E, U+200B to U+200D and
// U+2060.
const trimmable = /[\s\u0085\u180e\u200b-\u200d\u2060\ufeff]/
// Matches direction marks, zero-width characters, fillers, and control characters except tab, LF and CR. Joiners (U+200C, U+200D) and
// variation selectors stay, because they change the letter or emoji beside them (docs/inputs.md, case 15).
const controls =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0]/g
// Matches a control or invisible character. Excludes variation selectors, and signs before numbers such as U+0600, which are visible.
const controlsOrInvisible =
  /(?![\p{Variation_Selector}\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u

/** Removes Unicode spaces and zero-width characters at both ends. */
export function trimText(text: string): string {
  const length = text.length
  if (length === 0) return text
  const first = text.charCodeAt(0)
  const last = text.charCodeAt(length - 1)
  if (first > 0x20 && first < 0x7f && last > 0x20 && last < 0x7f) return text
  // A pattern with `+$` would take quadratic time for a long run of spaces inside the text.
  let start = 0
  let end = length
  while (start < end && trimmable.test(text.charAt(start))) start++
  while (end > start && trimmable.test(text.charAt(end - 1))) end--
  return text.slice(start, end)
}

/**
 * Returns the form in which cells and values of the pipeline file are compared: trimmed, in lower case, `1` for `1.0`. pandas 2 writes
 * integers as `1.0` if one cell of the column is empty.
 */
export function comparableText(text: string): string {
  const lower = trimText(text).toLowerCase()
  return lower.endsWith('0') ? lower.replace(/^([+-]?\d+)\.0+$/, '$1') : lower
}

/**
 * Returns the text in NFKC, trimmed and without invisible characters, so that most texts that look alike are equal. Each run of spaces and
 * control characters becomes one space.
 */
export function foldedText(text: string): string {
  if (!/[^ -~]|^ | $| {2}/.test(text)) return text
  return withoutInvisible(text.normalize('NFKC'))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
}

/**
 * Removes signs before numbers (U+0600), and invisible characters: direction marks, soft hyphens, zero-width characters, variation
 * selectors, fillers.
 */
export function withoutInvisible(text: string): string {
  return text.replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]+/gu, '')
}

/** Returns true for text with a visible character. Fillers and the empty Braille cell (U+2800) are not visible. */
export function hasVisible(text: string): boolean {
  return /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\u2800]/u.test(text)
}

/** Returns true for a text with NUL, which Postgres cannot store, or half of a surrogate pair, which UTF-8 cannot encode. */
export function isBroken(text: string): boolean {
  return text.includes('\u0000') || !text.isWellFormed()
}

/** Matches `&` and any character but printable ASCII. */
const notPlain = /[^ -%'-~]/

/** Returns true for printable ASCII without `&`. Such text is not broken, escaped or wrongly decoded, and has no invisible characters. */
export function isPlainText(text: string): boolean {
  return !notPlain.test(text)
}

/**
 * Removes control, direction and zero-width characters and fillers. Keeps tabs, line ends and joiners. A vertical tab, form feed or U+0085
 * becomes `lineEnd`, and an empty Braille cell (U+2800) a space: words stay apart.
 */
export function stripControls(text: string, lineEnd: '\n' | ' '): string {
  return text.replace(controls, (char) => (char === '\u2800' ? ' ' : /[\u000b\u000c\u0085]/.test(char) ? lineEnd : ''))
}

/** Returns true for text with a control or invisible character: also a tab, line end or joiner, but not a variation selector. */
export function hasInvisible(text: string): boolean {
  return controlsOrInvisible.test(text)
}

/**
 * Cuts a text to at most `units` UTF-16 units, between two graphemes (docs/inputs.md, case 61), and trims the cut end. The result also has
 * at most `units` code points. If the first grapheme alone is longer, cuts it between two code points.
 */
export function cutAtGrapheme(text: string, units: number): string {
  if (text.length <= units) return text
  let end = 0
  for (const { index, segment } of new Intl.Segmenter().segment(text)) {
    if (index + segment.length > units) break
    end = index + segment.length
  }
  if (end === 0) end = /[\ud800-\udbff]/.test(text.charAt(units - 1)) ? units - 1 : units
  return text.slice(0, end).trimEnd()
}
