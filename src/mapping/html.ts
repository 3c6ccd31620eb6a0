/** Decodes entities and removes tags of HTML. */
import { htmlEntities } from './htmlEntities.ts'

const namedEntities: ReadonlyMap<string, string> = new Map([
  ...Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", check: '✓', star: '☆' }),
  ...htmlEntities,
])
const entityPattern = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]{1,7}));/g

/** Characters that HTML 5 reads for `&#128;` to `&#159;`: those of windows-1252, which lacks five of these codes. */
const windows1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'

/** Decodes HTML entities once: `&amp;lt;` becomes `&lt;`. Keeps entities with an unknown name or an invalid code point. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(entityPattern, (whole: string, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return namedEntities.get(name) ?? whole
    const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hex ?? '', 16)
    if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return whole
    return code >= 0x80 && code <= 0x9f ? windows1252.charAt(code - 0x80) : String.fromCodePoint(code)
  })
}

// Names of HTML elements, current and obsolete, `path` of SVG, and names with a colon or hyphen. Anything else after `<`, as in `<3` or
// `a < b`, is text (docs/inputs.md, case 66).
const tagNames = [
  'a|abbr|acronym|address|applet|area|article|aside|audio|b|base|basefont|bdi|bdo|big|blockquote|body|br|button|canvas|caption|center|cite|code|col|colgroup',
  'data|datalist|dd|del|details|dfn|dialog|dir|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame|frameset|h[1-6]|head|header|hgroup|hr|html',
  'i|iframe|img|input|ins|kbd|label|legend|li|link|main|map|mark|marquee|menu|meta|meter|nav|nobr|noframes|noscript|object|ol|optgroup|option|output|p|param',
  'picture|pre|progress|q|rp|rt|ruby|s|samp|script|search|section|select|slot|small|source|span|strike|strong|style|sub|summary|sup|svg|path|table|tbody|td',
  'template|textarea|tfoot|th|thead|time|title|tr|track|tt|u|ul|var|video|wbr|[a-z]+:[a-z]+|[a-z]+-[a-z-]+',
].join('|')
const tagPattern = new RegExp(`^<(?:/\\s*)?(?:${tagNames})(?:\\s[^<>]*|/)?>$`, 'i')
// Markup besides tags, all of it hidden by browsers except `]]>`. Of scripts, styles and comments, matches only the start.
const hiddenMarkup = /<(script|style)(?:\s[^<>]*)?>|<!--|<!doctype[^<>]*>|<!\[CDATA\[|\]\]>|<\?[a-z][^<>]*\?>/gi
const inlineTagPattern =
  /^<\/?\s*(?:a|abbr|acronym|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup|tt|u|var|wbr)(?=[\s/>])/i

/**
 * Returns HTML without tags, comments, scripts, styles and other markup (`hiddenMarkup`). Keeps entities, and text that only looks like a
 * tag. If anything was removed, each run of white space becomes one space, and none stays at the start and end.
 */
export function stripHtml(text: string): string {
  if (!text.includes('<')) return text
  const plain = withoutTags(mayHaveHiddenMarkup(text) ? withoutHiddenMarkup(text) : text)
  return plain === text ? text : withSingleSpaces(plain).trim()
}

/** Returns true if `hiddenMarkup` may match; false for most descriptions. Takes a tenth of the time of that pattern. */
function mayHaveHiddenMarkup(text: string): boolean {
  if (text.includes(']]>')) return true
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at + 1)) {
    const code = text.charCodeAt(at + 1) | 0x20
    // `!`, `?`, and the `s` of script and style. `<s>` and `<span>` are frequent, so the next letter is compared too.
    if (code === 0x21 || code === 0x3f) return true
    if (code === 0x73 && /[ct]/i.test(text.charAt(at + 2))) return true
  }
  return false
}

/**
 * Replaces `hiddenMarkup` by spaces. A script, style or comment without an end stays. For later starts of its kind, no end is searched
 * again: many starts would take quadratic time.
 */
function withoutHiddenMarkup(text: string): string {
  let plain = ''
  let from = 0
  const unclosed = new Set<string>()
  hiddenMarkup.lastIndex = 0
  for (let match = hiddenMarkup.exec(text); match !== null; match = hiddenMarkup.exec(text)) {
    const { 0: matched, 1: element, index } = match
    let end = index + matched.length
    const name = element?.toLowerCase() ?? matched
    if (element !== undefined || matched === '<!--') {
      const afterEndTag = unclosed.has(name) ? -1 : offsetAfterEnd(text, name, end)
      if (afterEndTag < 0) {
        unclosed.add(name)
        // Resumes within the matched text, because it may end with `]]>`.
        hiddenMarkup.lastIndex = index + 1
        continue
      }
      end = afterEndTag
    }
    plain += `${text.slice(from, index)} `
    from = end
    hiddenMarkup.lastIndex = end
  }
  return from === 0 ? text : plain + text.slice(from)
}

/**
 * Returns the offset after the first end of a script, style or comment from `from` on; -1 without an end. `name`: `script`, `style` or
 * `<!--`.
 */
function offsetAfterEnd(text: string, name: string, from: number): number {
  if (name === '<!--') {
    const at = text.indexOf('-->', from)
    return at < 0 ? -1 : at + 3
  }
  const close = name === 'script' ? /<\/script\s*>/gi : /<\/style\s*>/gi
  close.lastIndex = from
  return close.test(text) ? close.lastIndex : -1
}

function withSingleSpaces(text: string): string {
  // Most ASCII texts have nothing to replace. These tests are faster than the replacement.
  return / {2}/.test(text) || mayBeOtherSpace.test(text) ? text.replace(/\s{2,}|[^\S ]/g, ' ') : text
}
/** Matches ASCII white space except U+0020, and every character from U+00A0 on, white space or not. */
const mayBeOtherSpace = /[\t-\r\u00a0-\uffff]/

/**
 * Replaces every tag by the result of `textOfTag`. A tag ends at the next `>` and contains no `<`. A regular expression took twice as long.
 */
function withoutTags(text: string): string {
  let plain = ''
  let from = 0
  let start = text.indexOf('<')
  while (start >= 0) {
    const end = text.indexOf('>', start)
    if (end < 0) break
    // The tag begins at the last `<` before its end.
    let at = start
    let next = text.indexOf('<', at + 1)
    while (next >= 0 && next < end) {
      at = next
      next = text.indexOf('<', at + 1)
    }
    const replaced = textOfTag(text, at, end + 1)
    if (replaced !== undefined) {
      plain += text.slice(from, at) + replaced
      from = end + 1
    }
    start = next
  }
  return from === 0 ? text : plain + text.slice(from)
}

// Caches of `textOfTag`, because descriptions repeat few different tags.
/** Tag of at most `maxCachedLength` characters → the text that replaces it. */
const tagTexts = new Map<string, string>()
/** `shortKey` of a tag with at most three ASCII characters between `<` and `>` → the text that replaces it. */
const shortTagTexts = new Map<number, string>()
const maxCachedTags = 500
const maxCachedLength = 16

/** Returns the text that replaces the tag `text[start, end)`: `''` for an inline tag, else a space. Undefined if it is not an HTML tag. */
function textOfTag(text: string, start: number, end: number): string | undefined {
  const key = end - start <= 5 ? shortKey(text, start + 1, end - 1) : -1
  const cachedShort = key >= 0 ? shortTagTexts.get(key) : undefined
  if (cachedShort !== undefined) return cachedShort
  const tagText = text.slice(start, end)
  const cached = tagTexts.get(tagText)
  if (cached !== undefined) return cached
  if (!tagPattern.test(tagText)) return undefined
  const replaced = inlineTagPattern.test(tagText) ? '' : ' '
  if (key >= 0) shortTagTexts.set(key, replaced)
  else if (tagText.length <= maxCachedLength && tagTexts.size < maxCachedTags) tagTexts.set(tagText, replaced)
  return replaced
}

/** Returns a number that identifies `text[start, end)`, at most three characters; -1 if one of them is not ASCII. */
function shortKey(text: string, start: number, end: number): number {
  let key = 1
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7f) return -1
    key = key * 128 + code
  }
  return key
}
