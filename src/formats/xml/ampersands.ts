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
 * Source: bad-inputs 146.
 */
export function mendAmpersands(item: string): { readonly text: string; readonly elements: readonly string[] } {
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
