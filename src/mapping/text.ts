/** Cleans, checks, compares and cuts text of any field: spaces, invisible characters, control characters. */

// Unicode spaces, zero-width characters and the byte order mark (docs/inputs.md, case 103). `trim()` leaves U+0085, U+180E, U+200B to
// U+200D and U+2060.
const edges = /^[\s\u0085\u180e\u200b-\u200d\u2060\ufeff]+|[\s\u0085\u180e\u200b-\u200d\u2060\ufeff]+$/g
// Control characters (C0, DEL, C1) except tab, LF and CR; direction marks and overrides; zero-width characters except the joiners U+200C
// and U+200D (docs/inputs.md, case 15).
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g
// As `controls`, but with tab, LF, CR, the joiners and the soft hyphen.
const controlsOrInvisible = /[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/

/** Removes Unicode spaces and zero-width characters at both ends. Returns the same string if there are none. */
export function trimText(text: string): string {
  const length = text.length
  if (length === 0) return text
  const first = text.charCodeAt(0)
  const last = text.charCodeAt(length - 1)
  if (first > 0x20 && first < 0x7f && last > 0x20 && last < 0x7f) return text
  return text.replace(edges, '')
}

/**
 * Returns the form in which a cell and a value of the pipeline file are compared: trimmed, in lower case, and `1.0` as `1`. pandas 2 writes
 * all integers of a column with decimals if one cell of the column is empty.
 */
export function comparableText(text: string): string {
  const lower = trimText(text).toLowerCase()
  return lower.endsWith('0') ? lower.replace(/^([+-]?\d+)\.0+$/, '$1') : lower
}

/**
 * Returns the text without invisible characters, in usual instead of full-width letters, with single spaces and trimmed. Two texts that
 * look alike to a reader are mostly the same then.
 */
export function foldedText(text: string): string {
  if (!/[^ -~]|^ | $| {2}/.test(text)) return text
  return text
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]+/gu, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
}

/** Returns true if at least one character is visible: not a space, joiner, filler, empty Braille cell (U+2800) or control character. */
export function isVisible(text: string): boolean {
  return /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\u2800]/u.test(text)
}

/** Returns true for text with NUL, which Postgres cannot store, or half of a surrogate pair, which UTF-8 cannot encode. */
export function isBroken(text: string): boolean {
  return text.includes('\u0000') || !text.isWellFormed()
}

/** Replaces U+0000 and lone surrogates, which Postgres cannot store. */
export function storable(text: string): string {
  return text.replaceAll('\0', '␀').toWellFormed()
}

/**
 * Returns true for text that is only printable ASCII without `&`. Such text is not broken, escaped or wrongly decoded, and has no invisible
 * characters, so the caller need not search for each of these.
 */
export function isPlainText(text: string): boolean {
  return !beyondPlain.test(text)
}
const beyondPlain = /[^ -%'-~]/

/** Removes control, direction and zero-width characters. Keeps tabs, line ends and joiners. */
export function stripControls(text: string): string {
  controls.lastIndex = 0
  return controls.test(text) ? text.replace(controls, '') : text
}

/** Returns true for text with control, direction or invisible characters anywhere, also tabs, line ends and joiners. */
export function hasInvisible(text: string): boolean {
  return controlsOrInvisible.test(text)
}

/**
 * Cuts a text to at most `units` UTF-16 units, between two graphemes, and trims the cut end. If already the first grapheme is longer, cuts
 * it between two code points. The result also has at most `units` code points, because a code point takes one or two units
 * (docs/inputs.md, case 61). Returns a text that is short enough unchanged.
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
