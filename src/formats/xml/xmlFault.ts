/**
 * Finds the place of a fault in XML. A strict parser often reports a place that is several lines after the fault. It reads a raw `&` up to
 * the next `;`, and an unclosed CDATA section up to the next `]]>`.
 */
import { redactPersonalData } from '../../mapping/redactPersonalData.ts'

export interface XmlFault {
  /** Offset in the text, in characters. */
  readonly at: number
  /** Number of lines before the fault. */
  readonly line: number
  readonly message: string
}

const token =
  /<!\[CDATA\[(?<cdata>[\s\S]*?)(?:\]\]>|$)|<!--[\s\S]*?(?:-->|$)|<\?[\s\S]*?(?:\?>|$)|<\/(?<close>[^\s<>]+)(?:\s[^<>]*)?>|<(?<open>[^\s<!/?>]+)(?![^\s<!/?>])(?:[^<>"']|"[^"<]*"|'[^'<]*')*>|[^<]+|</g
const rawMessage = 'a raw & instead of &amp;'
const rawAmpersand = /&(?!#\d+;|#x[\da-f]+;|[a-z_][\w.-]*;)/i

/** Returns the first fault of an item: an unclosed CDATA section or element, or a raw `&`. Undefined if none of these is found. */
export function findXmlFault(text: string): XmlFault | undefined {
  const open: { readonly name: string; readonly at: number }[] = []
  for (const { 0: part, index, groups = {} } of text.matchAll(token)) {
    const { cdata, close, open: opened } = groups
    const parent = open.at(-1)
    if (cdata !== undefined) {
      const end = parent === undefined ? -1 : cdata.indexOf(`</${parent.name}>`)
      if (end >= 0) return fault(text, index + '<![CDATA['.length + end, `the CDATA section in <${parent?.name}> is not closed by ]]>`)
    } else if (close !== undefined) {
      if (parent?.name === close) open.pop()
      else if (parent !== undefined) return fault(text, parent.at, `the element <${parent.name}> is not closed`)
    } else if (!part.startsWith('<!') && !part.startsWith('<?')) {
      const at = part.search(rawAmpersand)
      if (at >= 0) return fault(text, index + at, rawMessage)
      if (opened !== undefined && !part.endsWith('/>')) open.push({ name: opened, at: index })
    }
  }
  return undefined
}

/**
 * Returns the first raw `&` of a piece of XML; undefined if there is none. Ignores an unfinished reference at the end of the piece. The
 * next piece may complete it.
 */
export function findRawAmpersand(text: string): XmlFault | undefined {
  if (!text.includes('&')) return undefined
  for (const { 0: part, index } of text.matchAll(token)) {
    if (part.startsWith('<!') || part.startsWith('<?')) continue
    const at = part.search(rawAmpersand)
    if (at >= 0 && !/^&[\w#.-]*$/.test(text.slice(index + at))) return fault(text, index + at, rawMessage)
  }
  return undefined
}

/**
 * Returns a function that finds a CDATA section or comment of an item that was not closed in time. Such a section includes the start of
 * another item, or the end of the feed. A parser would accept the XML, with one item less.
 *
 * `name`: name of the item element. `isConfigured`: true if the pipeline file names the element. A start tag of such an element may occur
 * in ordinary text. So an end tag counts only with a start tag after it.
 */
export function swallowedItemFinder(name: string, isConfigured: boolean): (item: string) => XmlFault | undefined {
  const local = name.replaceAll(/[.\\]/g, '\\$&')
  const start = `<(?:[\\w.-]+:)?${local}[\\s>]`
  const endTag = new RegExp(`</(?:[\\w.-]+:)?${local}\\s*>`)
  const swallowed = new RegExp(isConfigured ? start : `${start}|</(?:channel|rss|feed)\\s*>`)
  // One pattern for end and start would search for a start after each end: thousands of ends took minutes.
  const includesNext = (section: string) => swallowed.test(isConfigured ? section.slice(firstEnd(section, endTag)) : section)
  return (item) => {
    // A mark that is not found is not searched again: thousands of `<!--` without an end took seconds.
    const mayOccur = { ']]>': true, '-->': true }
    // `indexOf` finds the sections in half the time of a pattern.
    for (let at = item.indexOf('<!'); at >= 0; at = item.indexOf('<!', at)) {
      const isCdata = item.startsWith('<![CDATA[', at)
      const isSection = isCdata || item.startsWith('<!--', at)
      const mark = isCdata ? ']]>' : '-->'
      const end = isSection && mayOccur[mark] ? item.indexOf(mark, at + (isCdata ? 9 : 4)) : -1
      if (end < 0) {
        if (isSection) mayOccur[mark] = false
        at += 2
        continue
      }
      if (includesNext(item.slice(at, end + 3))) {
        const unclosed = isCdata ? findXmlFault(item) : undefined
        return unclosed ?? fault(item, at, `a ${isCdata ? 'CDATA section' : 'comment'} that is not closed includes the next item`)
      }
      at = end + 3
    }
    return undefined
  }
}

/** Returns the offset of the first match; the length of the text without a match. */
function firstEnd(text: string, endTag: RegExp): number {
  const at = text.search(endTag)
  return at < 0 ? text.length : at
}

/** Returns the text around a fault for a message: 30 characters to both sides on the same line, without emails and phone numbers. */
export function excerptAt(text: string, at: number): string {
  const start = text.lastIndexOf('\n', at - 1) + 1
  const end = text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at)
  const shown = text.slice(Math.max(start, at - 30), Math.min(end, at + 30)).trim()
  // 30 characters may end inside a surrogate pair. Postgres rejects half of a pair in JSON.
  return redactPersonalData(`${start < at - 30 ? '…' : ''}${shown}${end > at + 30 ? '…' : ''}`).toWellFormed()
}

function fault(text: string, at: number, message: string): XmlFault {
  return { at, line: linesIn(text.slice(0, at)), message }
}

/** Counts line ends: LF, CRLF, CR. */
export function linesIn(text: string): number {
  return text.match(/\r\n?|\n/g)?.length ?? 0
}
