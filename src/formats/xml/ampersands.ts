/**
 * Matches CDATA, comments, instructions, end tags, start tags and text. Each token ends where it ends in the cutter. The first four
 * are skipped.
 */
const token = /<!\[[\s\S]{6,}?\]\]>|<!-[\s\S]+?-->|<\?[\s\S]*?\?>|<\/[^>]*>|<[^!/?](?:[^>"']|"[^"]*"|'[^']*')*>|[^<]+/g
const quoted = /"[^"]*"|'[^']*'/g
const addressText = /^\s*https?:\/\//i
const addressValue = /^["']https?:\/\//i
/** Matches an ampersand that does not start a reference. Not before a space, because there it is not a part of an address. */
const raw = /&(?!\s|#\d+;|#x[\da-f]+;|[a-z][a-z\d]*;)/gi

/**
 * Replaces a raw `&` by `&amp;` in the addresses of an XML item (texts and attributes that start with `http://` or `https://`).
 * `elements` has the local name of each repaired element. Everything else is unchanged, line breaks included.
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
      ? part.replace(quoted, (value) => (addressValue.test(value) ? value.replace(raw, '&amp;') : value))
      : part.replace(raw, '&amp;')
    if (repaired !== part) elements.add(element)
    return repaired
  })
  return { text, elements: [...elements] }
}

/**
 * Does the same for the part of a feed outside its items, which arrives in pieces. A piece may end within a text, so its last tag
 * and the text after it are kept until the next piece or `end`. No address is longer than `maxKept` characters, so longer text is
 * returned unchanged.
 */
export class AmpersandEscaper {
  #kept = ''
  /** Local names of the repaired elements. */
  readonly elements = new Set<string>()

  /** Returns the text that is complete so far. */
  write(piece: string): string {
    const text = this.#kept + piece
    const open = lastTag(text)
    this.#kept = text.slice(open)
    if (this.#kept.length <= maxKept) return this.#hint(text.slice(0, open))
    this.#kept = ''
    return text
  }

  end(): string {
    const text = this.#kept
    this.#kept = ''
    return this.#hint(text)
  }

  #hint(text: string): string {
    const repaired = escapeAmpersands(text)
    for (const element of repaired.elements) this.elements.add(element)
    return repaired.text
  }
}

/** As long as an item may be. */
const maxKept = 1_048_576

/** Returns the start of the last tag or other markup; 0 if there is only text. */
function lastTag(text: string): number {
  let at = 0
  for (const { 0: part, index } of text.matchAll(token)) if (part.startsWith('<')) at = index
  return at
}
