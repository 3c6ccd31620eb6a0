/**
 * Matches CDATA, comments, instructions, end tags, start tags and text, with the same ends as in `XmlSplitter`. Only start tags and text
 * are repaired.
 */
const token =
  /<!\[[\s\S]{6,}?(?:\]\]>|$)|<!-[\s\S]+?(?:-->|$)|<\?[\s\S]*?(?:\?>|$)|<\/[^<>]*>|<[^!/?<](?:[^<>"']|"[^"<]*"|'[^'<]*')*>|[^<]+/g
const quoted = /"[^"]*"|'[^']*'/g
const addressText = /^\s*https?:\/\//i
const addressValue = /^["']https?:\/\//i
/** Matches an ampersand that does not start a reference. An ampersand before white space is not matched: it is not part of an address. */
const rawAmpersand = /&(?!\s|#\d+;|#x[\da-f]+;|[a-z][a-z\d]*;)/gi

/**
 * Replaces a raw `&` by `&amp;` in the addresses of an XML item (texts and attributes that start with `http://` or `https://`).
 * `elements` has the local name of each repaired element. All other text is unchanged, line breaks included.
 * Source: docs/inputs.md, case 146.
 */
export function escapeAmpersands(item: string): { readonly text: string; readonly elements: readonly string[] } {
  if (!item.includes('&')) return { text: item, elements: [] }
  const elements = new Set<string>()
  let element = ''
  const text = item.replace(token, (part) => {
    if (/^<[!/?]/.test(part)) return part
    if (part.startsWith('<')) element = /^<(?:[^\s/>:]*:)?([^\s/>]+)/.exec(part)?.[1] ?? ''
    else if (!addressText.test(part)) return part
    const repaired = part.startsWith('<')
      ? part.replace(quoted, (value) => (addressValue.test(value) ? value.replace(rawAmpersand, '&amp;') : value))
      : part.replace(rawAmpersand, '&amp;')
    if (repaired !== part) elements.add(element)
    return repaired
  })
  return { text, elements: [...elements] }
}

/**
 * Replaces raw `&` by `&amp;` in addresses outside the items of a feed. The text outside the items arrives in pieces. A piece may end
 * within a text. Therefore its last tag and the text after this tag are kept until the next `write` or `end`. If more than `maxKept`
 * characters would be kept, `write` returns the whole text unchanged, because no address is so long.
 */
export class AmpersandEscaper {
  #kept = ''
  /** Local names of the repaired elements. */
  readonly elements = new Set<string>()

  /** Takes a piece, and returns the repaired text that is complete so far. */
  write(piece: string): string {
    const text = this.#kept + piece
    const keptFrom = lastTagStart(text)
    this.#kept = text.slice(keptFrom)
    if (this.#kept.length <= maxKept) return this.#escape(text.slice(0, keptFrom))
    this.#kept = ''
    return text
  }

  /** Returns the kept text, repaired. */
  end(): string {
    const text = this.#kept
    this.#kept = ''
    return this.#escape(text)
  }

  #escape(text: string): string {
    const repaired = escapeAmpersands(text)
    for (const element of repaired.elements) this.elements.add(element)
    return repaired.text
  }
}

/** Maximum number of kept characters: as large as an item may be (`recordBytes` in limits.ts). */
const maxKept = 1_048_576

/** Returns the start of the last tag or other markup; 0 if there is only text. */
function lastTagStart(text: string): number {
  let at = 0
  for (const { 0: part, index } of text.matchAll(token)) if (part.startsWith('<')) at = index
  return at
}
