/**
 * CDATA, comments, instructions, end tags, start tags, text. Each ends where the cutter saw it end, so that nothing is
 * looked for inside the first four, and no part of an item is tried twice.
 */
const token = /<!\[[\s\S]{6,}?\]\]>|<!-[\s\S]+?-->|<\?[\s\S]*?\?>|<\/[^>]*>|<[^!/?](?:[^>"']|"[^"]*"|'[^']*')*>|[^<]+/g
const quoted = /"[^"]*"|'[^']*'/g
const addressText = /^\s*https?:\/\//i
const addressValue = /^["']https?:\/\//i
/** An ampersand that begins no reference. Before a blank it is a word of a sentence, not a part of an address. */
const raw = /&(?!\s|#\d+;|#x[\da-f]+;|[a-z][a-z\d]*;)/gi

/**
 * An XML item whose addresses (texts and attributes that begin with `http://` or `https://`) hold `&amp;` where they held
 * a raw `&`; `elements` has the local name of each element that was mended. Anything else stays as it is, lines too.
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
    const mended = part.startsWith('<')
      ? part.replace(quoted, (value) => (addressValue.test(value) ? value.replace(raw, '&amp;') : value))
      : part.replace(raw, '&amp;')
    if (mended !== part) elements.add(element)
    return mended
  })
  return { text, elements: [...elements] }
}

/**
 * The same for the part of a feed outside its items, which comes in pieces: a piece ends before a `<`, or anywhere in a
 * text. So its last tag and what follows it wait for the next piece, or for `end` where the text is over; beyond `mostHeld`
 * characters, which no address has, it goes as it is.
 */
export class AmpersandEscaper {
  #held = ''
  /** Local names of the elements that were mended. */
  readonly elements = new Set<string>()

  /** What can be read on by now. */
  write(piece: string): string {
    const text = this.#held + piece
    const open = lastTag(text)
    this.#held = text.slice(open)
    if (this.#held.length <= mostHeld) return this.#hint(text.slice(0, open))
    this.#held = ''
    return text
  }

  end(): string {
    const text = this.#held
    this.#held = ''
    return this.#hint(text)
  }

  #hint(text: string): string {
    const mended = escapeAmpersands(text)
    for (const element of mended.elements) this.elements.add(element)
    return mended.text
  }
}

/** As long as an item may be. */
const mostHeld = 1_048_576

/** Where the last tag begins, or another markup; 0 where there is text alone. */
function lastTag(text: string): number {
  let at = 0
  for (const { 0: part, index } of text.matchAll(token)) if (part.startsWith('<')) at = index
  return at
}
